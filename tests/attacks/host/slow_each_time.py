"""Each call is just quick enough, all together are not.

Deserves: 0 points
Named: did not end within
"""


def least_seconds(bytes_moved, flops, gb_s, tflops):
    total = 0
    for i in range(10**8):
        total += i
    return total
