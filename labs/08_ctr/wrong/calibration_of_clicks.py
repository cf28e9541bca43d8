"""The mean probability of clicked samples.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""


def calibration(labels, p):
    return float(p[labels == 1].sum() / labels.sum())
