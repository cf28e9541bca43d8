"""Compilers as libraries: CUDA C++ and numba kernels to PTX, on any computer with Linux or Windows, without a GPU."""
