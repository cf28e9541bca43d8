"""The model: one embedding table of all fields, a dense network on top, and the optimizers of both."""
