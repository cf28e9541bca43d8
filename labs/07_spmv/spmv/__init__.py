"""Sparse matrix times vector, y = alpha A x + beta y: from one thread per row to lanes by the length of each row.

Rows differ in length, and what they need of x lies anywhere. One thread per row reads entries far apart and waits for
the longest row of its warp; one warp per row leaves its lanes idle on short rows; ELL pads all rows to the longest; and
sliced ELL pads less, for the price of sorting. `gpukit spmv FILE.mtx` shows all of that on a matrix of your own.

Source: the modules of `formats`, and kernels.py, name theirs.
"""

# Which room is which, each using those above it alone:
#
# errors                     MatrixError
# formats/                   how a matrix is stored: Csr, Ell, SlicedEll, Hybrid; all made from a Csr
# matrices/                  which matrices there are: by name, by a rule, after a published one, from a file, at the
#                            edges; statistics of their rows
# kernels.py, kernels.cu     y = alpha A x + beta y, in numba and in CUDA C++
# products                   a format and its kernel, ready to be launched on a device
# choosing                   which format and kernel fit a matrix, and why
# checks                     whether an answer is right: three gates
# bugs                       35 mistakes that others made, and the tests that keep them away
# family                     the kernels as a family of gpukit's commands
# libraries/                 what others make of it: SciPy, CuPy, cuSPARSE, PyTorch
# profiling/                 `gpukit spmv`: every way on one matrix, which it should be, tables and figures
# bench/                     `gpukit bench spmv`: every way and library on many matrices, tables and figures

FAMILY = "family:FAMILY"
COMMANDS = {"spmv": "profiling.command:spmv"}
BENCH = "bench.command:bench"
