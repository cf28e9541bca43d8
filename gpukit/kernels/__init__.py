"""Kernels to learn from: one file per family, one function per step. Each is an ordinary `numba.cuda` kernel."""
