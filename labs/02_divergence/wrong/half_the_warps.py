"""Warps that take one of the two sides taken for those that divide.

Fails:
    test_2_1_odd_and_even: DIVERGENT_ODD_AND_EVEN = 4
"""

DIVERGENT_ODD_AND_EVEN = 4
