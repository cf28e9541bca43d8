"""The quiz: bit 0 is taken for the leftmost one.

Fails:
    test_6_1_votes: another number
"""

BALLOT = 0x10101010
