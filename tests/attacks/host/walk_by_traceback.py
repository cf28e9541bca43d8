"""Frames through the traceback of an error.

Deserves: refused
Named: __traceback__
"""


def blocks_for(n, threads):
    try:
        return 1 // 0
    except ZeroDivisionError as error:
        return len(error.__traceback__.tb_frame.f_back.f_locals)
