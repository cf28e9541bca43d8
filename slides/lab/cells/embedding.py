"""14. Embedding: rows of a table, in the order of the data

A click model looks up a row of 32 floats for each id. `look_up` reads one number for each id, `copy_rows` a whole row
with a warp. The ids come as they come. How many sectors does a load of the table need in each, and does sorting help?

Try:
* Sort the ids: `ids.sort()`. Which kernel gains?
* Let all ids be the same. How many sectors is that?
* Rows of 8 floats, four lookups a warp: write 8 for 32 in `t // 32`, in `t % 32` and in both shapes.

Lab: 08_ctr
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: labs/08_ctr/given.py::look_up


# code: labs/08_ctr/given.py::copy_rows


rng = np.random.default_rng(1)
ids = rng.integers(0, 1000, 64).astype(np.int32)
weights = rng.random(1000, dtype=np.float32)
table = rng.random((1000, 32), dtype=np.float32)
one = np.zeros(64, np.float32)
rows = np.zeros((64, 32), np.float32)

gpukit.profile(look_up, 1, 64, ids, weights, one)
gpukit.profile(copy_rows, 16, 128, ids, table, rows)
print("rows are right:", np.array_equal(rows, table[ids]))
