"""Thirds of the grid for the colours, arithmetic for the choice, branches for min and max, atomics for the warp's sum.

The solution's colours change from warp to warp; it chooses with min and max, and adds up with `warp_sum`.
"""

import math

from gpukit import cuda


@cuda.jit
def curves(values, out):
    t = cuda.grid(1)
    pixels = cuda.gridsize(1) // 3
    colour = t // pixels
    i = 3 * (t - colour * pixels) + colour
    if i < values.size:
        v = values[i]
        if colour == 0:
            v = red(v)
        if colour == 1:
            v = green(v)
        if colour == 2:
            v = blue(v)
        out[i] = v


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    v = x[i]
    y[i] = math.copysign(max(abs(v) - t, x.dtype.type(0)), v)


@cuda.jit
def ranges(first, count, cents, order, out):
    t = cuda.grid(1)
    if t >= order.size:
        return
    c = order[t]
    if count[c] == 0:
        out[c] = 0
        return
    low = high = cents[first[c]]
    k = 1
    while k < count[c]:
        v = cents[first[c] + k]
        if v < low:
            low = v
        if v > high:
            high = v
        k += 1
    out[c] = high - low


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    if customer >= out.size:
        return
    k = first[customer] + cuda.laneid
    end = first[customer] + count[customer]
    dear = 0
    while k < end:
        if cents[k] >= limit:
            dear += 1
        k += 32
    cuda.atomic.add(out, customer, dear)


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i < years.size:
        amount, rate = deposit[i], percent[i]
        found = limit
        for year in range(limit):
            if amount >= target:
                found = year
                break
            amount = amount + amount * rate // 100
        years[i] = found
