"""One long row is thought to pad only itself, and lanes whose rows have ended to go on.

Fails:
    test_7_5_slots: SLICED_SLOTS
    test_7_5_lanes: BUSY_LANES
"""

SLICED_SLOTS = 736
BUSY_LANES = 32
