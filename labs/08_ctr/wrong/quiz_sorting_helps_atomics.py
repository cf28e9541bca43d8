"""Sorting is taken to help atomics as it helps reading.

Fails:
    test_8_4_repeats: LANES_SORTED = 1
"""

LANES_SORTED = 1
