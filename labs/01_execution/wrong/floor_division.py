"""The grid rounded down: the last elements have no thread.

Fails:
    test_1_2_blocks: blocks_for(33, 32)
    test_1_2_edges: 4503599627370497
"""


def blocks_for(n, threads):
    return max(1, n // threads)
