"""Training: settings, batches, one step, one loop, checkpoints, logs."""
