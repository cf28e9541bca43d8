"""255 is one byte: three of the four pixels of a word stay as they were.

Fails:
    test_3_4_right: wrong answer
    test_3_4_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def negative(words, rest, out_words, out_rest):
    i = cuda.grid(1)
    if i < words.size:
        out_words[i] = words[i] ^ 255
    if i < rest.size:
        out_rest[i] = 255 - rest[i]
