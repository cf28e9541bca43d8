"""The numbers that a sample gathers, not their bytes.

Fails:
    test_8_1_bytes: GATHERED_BYTES = 192
"""

GATHERED_BYTES = 192
