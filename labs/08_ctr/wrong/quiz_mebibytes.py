"""Millions of bytes taken for mebibytes.

Fails:
    test_8_1_bytes: ADAM_MEGABYTES = 8545
"""

ADAM_MEGABYTES = 8545
