"""Every `if` taken for one that divides all warps; rounds averaged over the lanes of a warp.

Fails:
    test_2_1_warps_in_turn: DIVERGENT_WARPS_IN_TURN = 8
    test_2_1_first_hundred: DIVERGENT_FIRST_HUNDRED = 4
    test_2_1_rounds: ROUNDS_OF_THE_WARP = 12
    test_2_6_apart: ROUNDS_APART = 100
    test_2_6_together: ROUNDS_TOGETHER = 100
"""

DIVERGENT_WARPS_IN_TURN = 8
DIVERGENT_FIRST_HUNDRED = 4
ROUNDS_OF_THE_WARP = 12
ROUNDS_APART = 100
ROUNDS_TOGETHER = 100
