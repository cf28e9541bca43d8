"""Right and without a branch: every lane evaluates all three curves and throws two away.

Fails:
    test_2_2_cost: warp_instructions
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    i = cuda.grid(1)
    if i < values.size:
        v = values[i]
        out[i] = cuda.selp(i % 3 == 0, red(v), cuda.selp(i % 3 == 1, green(v), blue(v)))
