"""The time in milliseconds.

Fails:
    test_8_1_bytes: ADAM_MICROSECONDS = 1.867
"""

ADAM_MICROSECONDS = 1.867
