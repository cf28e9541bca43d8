"""All lanes are taken to add to one address, as the ids repeat.

Fails:
    test_8_4_repeats: LANES_IN_TURN = 32
"""

LANES_IN_TURN = 32
