"""A glider on a torus, a hundred launches, with dynamic shared memory for the halo of a block."""

import sys

import numpy as np
from numba import cuda, uint8

BLOCK = 8


@cuda.jit
def step(world, after):
    tile = cuda.shared.array(0, uint8)
    rows, columns = world.shape
    row, column = cuda.grid(2)
    width = BLOCK + 2
    for i in range(cuda.threadIdx.x, width, BLOCK):
        for j in range(cuda.threadIdx.y, width, BLOCK):
            r = (cuda.blockIdx.x * BLOCK + i - 1 + rows) % rows
            c = (cuda.blockIdx.y * BLOCK + j - 1 + columns) % columns
            tile[i * width + j] = world[r, c]
    cuda.syncthreads()
    if row >= rows or column >= columns:
        return
    neighbours = 0
    for i in range(3):
        for j in range(3):
            if i != 1 or j != 1:
                neighbours += tile[(cuda.threadIdx.x + i) * width + cuda.threadIdx.y + j]
    alive = tile[(cuda.threadIdx.x + 1) * width + cuda.threadIdx.y + 1]
    after[row, column] = 1 if neighbours == 3 or (alive == 1 and neighbours == 2) else 0


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    world = np.zeros((16, 16), np.uint8)
    world[1, 2] = world[2, 3] = world[3, 1] = world[3, 2] = world[3, 3] = 1
    now, then = cuda.to_device(world), cuda.device_array_like(world)
    for _ in range(steps):
        step[(2, 2), (BLOCK, BLOCK), 0, (BLOCK + 2) ** 2](now, then)
        now, then = then, now
    host = now.copy_to_host()
    assert (host == np.roll(world, (steps // 4, steps // 4), (0, 1))).all()
    print("alive", host.sum(), "after", steps)


if __name__ == "__main__":
    main()
