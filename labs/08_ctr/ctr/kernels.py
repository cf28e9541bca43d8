"""Embedding rows and their row-wise Adagrad step in numba.

kernels.cu has the same kernels in CUDA C++ under the same names, where the update has four numbers a lane. Two more are
there alone: `gather_vector`, since numba has no load of 16 bytes from an array of float32, and `batch`, which is that
with the numbers of an impression beside it.

The tables of all fields are one, `table` (rows, dim) float32; ids and keys are int32 places in it. Blocks are whole
warps. Both launches of the update have a warp for each span, and take rows of at most 32 numbers.
"""

from __future__ import annotations

import math

import numpy as np

from gpukit import cuda
from gpukit.warp import warp_sum_everywhere

FULL = 0xFFFFFFFF  # the mask of a whole warp
WARP = 32
SPAN = 16  # sorted places that one warp adds up


# --- the gather ------------------------------------------------------------------------------------------------------


@cuda.jit
def gather_thread(ids, table, out):
    """One thread per id copies its row, number by number: lanes read and write whole rows apart.

    Expect: every request of a warp touches as many sectors as it has different rows, up to 32, and each sector is asked
        for again for every number in it.

    Args:
        ids: (ids,) int32, rows of the table.
        table: (rows, dim) float32.
        out: (ids, dim) float32, set.

    Source: CUDA C++ Best Practices Guide, coalesced access to global memory, of which it is the opposite.
    """
    place = cuda.grid(1)
    if place < ids.size:
        row = ids[place]
        for d in range(table.shape[1]):
            out[place, d] = table[row, d]


@cuda.jit
def gather_lane(ids, table, out):
    """One thread per number: the lanes of a warp read neighbours of one row or a few.

    Versus: gather_thread: neighbouring lanes have neighbouring numbers, where each had a row of its own.

    Expect: load and store sectors fall to what rows hold: a row of 16 numbers is 2 sectors, and is asked for once. Load
        requests rise, since every thread reads its id.

    Args:
        ids, table, out: as in gather_thread.

    Source: FBGEMM's table-batched embedding gives a row to neighbouring lanes.
    """
    place = cuda.grid(1)
    dim = table.shape[1]
    if place < ids.size * dim:
        at = place // dim
        d = place - at * dim
        out[at, d] = table[ids[at], d]


# --- the update ------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def adagrad(table, state, row, gradient, lane, rate, eps):
    """The step of one row, whose whole gradient has its number d in lane d and 0 in lanes past the last."""
    total = state[row] + warp_sum_everywhere(gradient * gradient) / np.float32(table.shape[1])
    cuda.syncwarp()  # every lane has read the state before lane 0 writes it
    if lane == 0:
        state[row] = total
    if lane < table.shape[1]:
        table[row, lane] -= rate * gradient / (math.sqrt(total) + eps)


@cuda.jit
def rowwise_adagrad(keys, order, gradient, table, state, heads, tails, fields, rate, eps):
    """Row-wise Adagrad from sorted keys, part one: a warp adds up 16 neighbours, a lane a number, without atomics.

    A row that lies wholly within a warp's span is stepped at once:

        state[row] += mean of g^2 ;  table[row] -= rate * g / (sqrt(state[row]) + eps)

    What reaches over an edge of the span goes to `heads` or `tails`, for `rowwise_adagrad_finish`. The sums, and so the
    table, are the same bits in every run.

    Expect: no atomics; a row that several ids share is read and written once for each span that it lies in.

    Args:
        keys: (ids,) int32, sorted.
        order: (ids,) int64, the place that each key had before: impression * fields + field.
        gradient: (impressions, width) float32, of the network's input: field f from column f * dim on.
        table: (rows, dim) float32, stepped; dim at most 32.
        state: (rows,) float32, sums of mean squares.
        heads, tails: (spans, dim) float32, spans = ids / 16 rounded up: the sum of a run that began in an earlier span,
            and of one that goes on into the next.
        fields: int32.
        rate, eps: float32.

    Source: segment reduction over sorted indices, as FBGEMM's EXACT optimizers do it; the formula is FBGEMM's
        exact_row_wise_adagrad.
    """
    warp, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    dim, begin = table.shape[1], warp * SPAN
    if begin < keys.size:  # the same for all lanes of a warp
        count = min(SPAN, keys.size - begin)
        key, place = -1, 0
        if lane < count:
            key, place = keys[begin + lane], order[begin + lane]
        first, final = cuda.shfl_sync(FULL, key, 0), cuda.shfl_sync(FULL, key, count - 1)
        begun = begin == 0 or keys[begin - 1] != first  # does the first run begin here?
        goes_on = begin + count < keys.size and keys[begin + count] == final
        total = np.float32(0)
        for j in range(count):
            here, at = cuda.shfl_sync(FULL, key, j), cuda.shfl_sync(FULL, place, j)
            following = cuda.shfl_sync(FULL, key, (j + 1) % WARP)
            if lane < dim:
                total += gradient[at // fields, at % fields * dim + lane]
            ends = following != here
            if j + 1 == count:
                ends = not goes_on
            if ends:
                if begun:
                    adagrad(table, state, here, total, lane, rate, eps)
                elif lane < dim:
                    heads[warp, lane] = total
                total = np.float32(0)
                begun = True
        if goes_on and lane < dim:
            if begun:
                tails[warp, lane] = total
            else:
                heads[warp, lane] = total


@cuda.jit
def rowwise_adagrad_finish(keys, heads, tails, table, state, rate, eps):
    """Row-wise Adagrad from sorted keys, part two: a warp for each span steps the row whose run goes on from there.

    It adds up the heads of the spans that follow, in an order that is always the same. Most warps have nothing to do;
    in C++ a whole block shares the runs that are long.

    Args:
        keys, heads, tails, table, state, rate, eps: as in rowwise_adagrad.

    Source: as rowwise_adagrad.
    """
    span, lane = cuda.grid(1) // WARP, cuda.threadIdx.x % WARP
    dim, following = table.shape[1], (span + 1) * SPAN
    if following < keys.size:  # the same for all lanes of a warp, as is everything but `lane`
        key = keys[following - 1]
        earlier = span > 0 and keys[span * SPAN - 1] == key
        if keys[following] == key and not earlier:
            low, high = following + 1, keys.size  # the first place after the run, by bisection
            while low < high:
                middle = (low + high) // 2
                if keys[middle] == key:
                    low = middle + 1
                else:
                    high = middle
            total = np.float32(0)
            if lane < dim:
                total = tails[span, lane]
                for other in range(span + 1, (low - 1) // SPAN + 1):
                    total += heads[other, lane]
            adagrad(table, state, key, total, lane, rate, eps)


@cuda.jit
def scatter_atomic(keys, gradient, out, fields):
    """The gradient of every row, added up by atomics: a thread per number.

    The order of the additions, and so the last bits, differ from run to run; rows that many impressions share are
    waited for.

    Args:
        keys: (ids,) int32 rows, in the order of the impressions.
        gradient: (impressions, width) float32; field f has columns f * dim to f * dim + dim - 1.
        out: (rows, dim) float32, zeros before.
        fields: int32.

    Source: FBGEMM's SGD adds by atomics, its EXACT optimizers sort.
    """
    place = cuda.grid(1)
    dim = out.shape[1]
    if place < keys.size * dim:
        at = place // dim
        d = place - at * dim
        cuda.atomic.add(out, (keys[at], d), gradient[at // fields, at % fields * dim + d])
