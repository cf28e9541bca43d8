"""How far the means are apart, not their ratio.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""


def calibration(labels, p):
    return float(p.mean() - labels.mean())
