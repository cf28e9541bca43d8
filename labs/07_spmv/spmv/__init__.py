"""Sparse matrix times vector, y = alpha A x + beta y: from one thread per row to lanes by the length of each row.

Rows differ in length, and what they need of x lies anywhere. One thread per row reads entries far apart and waits for
the longest row of its warp; one warp per row leaves its lanes idle on short rows; ELL pads all rows to the longest; and
sliced ELL pads less, for the price of sorting. `gpukit spmv FILE.mtx` shows all of that on a matrix of your own.

Source: formats.py, hybrid.py and kernels.py name theirs.
"""

# Which room is which:
#
# matrices                   every matrix with a name: generators makes them from a rule, twins after published ones
# reading                    a user's own: Matrix Market and .npz
# statistics                 row lengths, and what padding them would cost
# formats, hybrid            how it is stored: Csr, Ell, SlicedEll, Hybrid; all made from a Csr
# choosing                   which format and kernel fit a matrix, and why
# kernels.py, kernels.cu     y = alpha A x + beta y, in numba and in CUDA C++
# products                   a format and its kernel, ready to be launched on a device
# family                     the kernels as a family of gpukit's commands
# checks                     whether an answer is right: three gates
# edges                      small matrices that kernels have got wrong, and 35 mistakes that are kept away
# references, cusparse       what others make of it: SciPy, CuPy, cuSPARSE, PyTorch
# bench and bench_*          `gpukit bench spmv`: its matrices, measurements, summary, tables, figures and command
# profiling                  `gpukit spmv`: what every way does with one matrix, as plain data;
# cli, terminal, figures     the command; what it prints; what it draws

FAMILY = "family:FAMILY"
COMMANDS = {"spmv": "cli:spmv"}
BENCH = "bench_command:bench"
