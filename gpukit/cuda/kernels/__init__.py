"""`numba.cuda.kernels`: the kernels that numba.cuda itself offers."""
