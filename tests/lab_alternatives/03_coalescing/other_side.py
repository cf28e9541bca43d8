"""half_turn mirrors the store instead of the load, column_range begins with a row that it loads twice, negative uses ~,
split has a thread a particle's half, and arrange sorts downwards with Python alone.
"""

from gpukit import cuda


@cuda.jit
def half_turn(image, out):
    x, y = cuda.grid(2)
    if x >= image.shape[1] or y >= image.shape[0]:
        return
    out[image.shape[0] - 1 - y, image.shape[1] - 1 - x] = image[y, x]


@cuda.jit
def column_range(x, out):
    c = cuda.grid(1)
    while c < x.shape[1]:
        low = x[0, c]
        high = x[0, c]
        for r in range(x.shape[0]):
            if x[r, c] < low:
                low = x[r, c]
            elif x[r, c] > high:
                high = x[r, c]
        out[c] = high - low
        c += cuda.gridsize(1)


@cuda.jit
def negative(words, rest, out_words, out_rest):
    i = cuda.grid(1)
    if i < words.size:
        out_words[i] = ~words[i]
    if i < rest.size:
        out_rest[i] = ~rest[i]


@cuda.jit
def split(records, fields):
    k = cuda.grid(1)
    i = k // 8
    f = k - 8 * i
    if i < records.shape[0]:
        fields[f, i] = records[i, f]


def arrange(item, amount):
    order = sorted(range(len(item)), key=lambda k: -item[k])
    return item[order], amount[order]
