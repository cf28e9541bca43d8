"""Arithmetic that NumPy does not have as such, over NumPy scalars and arrays: what every front end may use."""
