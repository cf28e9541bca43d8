"""The row pointer is forgotten in the bytes, and a row of 3 values is thought to keep a warp as busy as 32 rows do.

Fails:
    test_7_1_by_hand: CSR_BYTES
    test_7_1_reading: REQUESTS_BY_WARP
"""

CSR_BYTES = 48
REQUESTS_BY_WARP = 3
