"""What training and metrics look like: the looks of a run, predictors side by side, and calibration."""
