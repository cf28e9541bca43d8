"""All strides but 1 are taken for conflicts as large as they are, and every barrier in a branch for a mistake.

Fails:
    test_4_1_wavefronts: STRIDE_12
    test_4_2_where_barriers_stand: IN_SOME_BLOCKS
"""

STRIDE_12 = 12
STRIDE_33 = 33
IN_SOME_BLOCKS = False
