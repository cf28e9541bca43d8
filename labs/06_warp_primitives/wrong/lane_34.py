"""The quiz: lane 30 is thought to get something from a lane 34.

Fails:
    test_6_1_shuffles: another number
"""

DOWN = 34
