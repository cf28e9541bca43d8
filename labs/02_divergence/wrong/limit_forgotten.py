"""Without the second reason to stop: an account that does not grow never ends.

Fails:
    test_2_6_right: not there after 3 years
"""

from gpukit import cuda


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i < years.size:
        amount = deposit[i]
        year = 0
        while amount < target:
            amount += amount * percent[i] // 100
            year += 1
        years[i] = year
