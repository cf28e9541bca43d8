"""The three times added up, as if the host waited for the GPU after every launch.

Fails:
    test_8_10_roofline: microseconds before
"""


def speed_up(model, gpu):
    choice = 1
    rows, fields, dim, weights, batch, launches = model
    bandwidth, fp32, bf16, launch = gpu

    def step(switch):
        samples = batch * 8 if switch == 4 else batch
        lookups = samples * fields
        table = lookups * (2 * dim * 4 + 8) if switch == 1 else 28 * rows * dim
        moved = 3 * lookups * dim * 4 + table
        flops = 6 * weights * samples
        made = 1 if switch == 3 else launches
        reading, computing, launching = moved / bandwidth, flops / (bf16 if switch == 2 else fp32), made * launch
        term = 2 if launching > reading + computing else int(computing > reading)
        return samples, (moved, flops, made, 1e6 * (reading + computing + launching), term)

    samples, before = step(0)
    more, after = step(choice)
    return choice, before, after, more / after[3] * before[3] / samples
