"""Neighbouring rows in random order are taken for 32 sectors: memory does not see the order.

Fails:
    test_8_4_order: SECTORS_NEIGHBOURS = 32
"""

SECTORS_NEIGHBOURS = 32
