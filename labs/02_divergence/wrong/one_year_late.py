"""The target is tested after the year is counted: one that is there at once counts one year.

Fails:
    test_2_6_right: wrong answer
"""

from gpukit import cuda


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i < years.size:
        amount = deposit[i]
        year = 0
        while year < limit:
            amount += amount * percent[i] // 100
            year += 1
            if amount >= target:
                break
        years[i] = year
