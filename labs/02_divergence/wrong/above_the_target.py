"""An account that holds exactly the target goes on.

Fails:
    test_2_6_right: there at once
"""

from gpukit import cuda


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i < years.size:
        amount = deposit[i]
        year = 0
        while amount <= target and year < limit:
            amount += amount * percent[i] // 100
            year += 1
        years[i] = year
