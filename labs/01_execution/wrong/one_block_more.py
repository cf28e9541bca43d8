"""n // threads + 1: a block too many when n is a multiple of the block.

Fails:
    test_1_2_blocks: they fill the last block exactly
"""


def blocks_for(n, threads):
    return n // threads + 1
