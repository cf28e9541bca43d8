"""Sparse matrix times vector: formats, kernels, matrices, references and benchmarks; a plugin of gpukit's commands.

matrices                   every matrix with a name: generators makes them from a rule, twins after published ones
reading                    a user's own: Matrix Market and .npz
statistics                 row lengths, and what padding them would cost
formats, hybrid            how it is stored: Csr, Ell, SlicedEll, Hybrid; all made from a Csr
choosing                   which format and kernel fit a matrix, and why
kernels.py, kernels.cu     y = alpha A x + beta y, in numba and in CUDA C++
products                   a format and its kernel, ready to be launched on a device
family                     the kernels as a family of gpukit's commands
checks                     whether an answer is right: three gates
references, cusparse       what others make of it: SciPy, CuPy, cuSPARSE, PyTorch
bench and bench_*          `gpukit bench spmv`: its matrices, measurements, summary, tables, figures and command

Source: formats.py and kernels.py name theirs.
"""

FAMILY = "family:FAMILY"
BENCH = "bench_command:bench"
