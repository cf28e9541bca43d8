"""The items are sorted and the amounts are not: every order gets somebody else's amount.

Fails:
    test_3_6_right: the orders (item, amount)
    test_3_6_cost: the orders (item, amount)
"""

import numpy as np


def arrange(item, amount):
    return np.sort(item), amount
