"""The model whose speed is measured, on the columns of `world.FACTS`: 6 fields, 13 numbers, a network 205-256-128-1."""

DIM = 32  # numbers of an embedding
HIDDEN = (256, 128)
