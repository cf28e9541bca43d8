"""The n % 4 pixels that fill no word are left out.

Fails:
    test_3_4_right: wrong answer
    test_3_4_cost: wrong answer
"""

import numpy as np

from gpukit import cuda


@cuda.jit
def negative(words, rest, out_words, out_rest):
    i = cuda.grid(1)
    if i < words.size:
        out_words[i] = words[i] ^ np.uint32(0xFFFFFFFF)
