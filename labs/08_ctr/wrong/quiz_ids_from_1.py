"""Ids counted from 1: the row before.

Fails:
    test_8_1_rows: ROW_OF_ID = 7
"""

ROW_OF_ID = 7
