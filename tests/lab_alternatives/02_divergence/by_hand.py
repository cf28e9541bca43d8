"""Nested selections, an atomic for every purchase that counts, early returns, a `break` for the second condition.

The solution counts in a register and adds a number per warp.
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    warp, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    group, colour = warp // 3, warp % 3
    i = 3 * (32 * group + lane) + colour
    if i >= values.size:
        return
    if colour == 2:
        out[i] = blue(values[i])
    elif colour == 1:
        out[i] = green(values[i])
    else:
        out[i] = red(values[i])


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        y[i] = cuda.selp(v > t, v - t, cuda.selp(v < -t, v + t, x.dtype.type(0)))


@cuda.jit
def ranges(first, count, cents, order, out):
    t = cuda.grid(1)
    if t < out.size:
        c = order[t]
        begin, number = first[c], count[c]
        low, high = 10_001, -1
        for k in range(number):
            v = cents[begin + k]
            low = min(low, v)
            high = max(high, v)
        out[c] = high - low if number > 0 else 0


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size:
        for k in range(lane, count[customer], 32):
            if cents[first[customer] + k] >= limit:
                cuda.atomic.add(out, customer, 1)


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i >= years.size:
        return
    amount = deposit[i]
    year = 0
    while year < limit:
        if amount >= target:
            break
        amount += amount * percent[i] // 100
        year += 1
    years[i] = year
