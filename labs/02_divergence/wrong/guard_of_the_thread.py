"""The thread's number is guarded, not the place of the value it works on.

Fails:
    test_2_2_right: oob_global_read
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    t = cuda.grid(1)
    colour = t // 32 % 3
    i = t // 96 * 96 + t % 32 * 3 + colour
    if t < values.size:
        if colour == 0:
            out[i] = red(values[i])
        elif colour == 1:
            out[i] = green(values[i])
        else:
            out[i] = blue(values[i])
