"""Right, but every lane goes through all years: the warp runs as many as the limit allows.

Fails:
    test_2_6_cost: warp_instructions
"""

from gpukit import cuda


@cuda.jit
def years_until(deposit, percent, target, limit, years):
    i = cuda.grid(1)
    if i < years.size:
        amount = deposit[i]
        year = 0
        for _ in range(limit):
            if amount < target:
                amount += amount * percent[i] // 100
                year += 1
        years[i] = year
