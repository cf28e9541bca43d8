"""The warp chooses the colour, but its lanes read the 32 values at their own numbers.

Fails:
    test_2_2_right: wrong answer
    test_2_2_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    i = cuda.grid(1)
    colour = i // 32 % 3
    if i < values.size:
        if colour == 0:
            out[i] = red(values[i])
        elif colour == 1:
            out[i] = green(values[i])
        else:
            out[i] = blue(values[i])
