"""Clicks over predicted clicks.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""


def calibration(labels, p):
    return float(labels.sum() / p.sum())
