"""Lab 8: Click-through rates. Ids become rows of a table, rows become a probability, and most of a step is memory.

A sample is one impression: an id for each field (which member, which ad, on what device), some dense numbers, and a
label, 1 if there was a click. All fields share one table: id k of field f is its row offsets[f] + k. Id 0 of each field
is for what training never saw. A lookup is one id of one sample; lookup number sample * fields + f is that of field f.

    ids      int32 (samples, fields)      offsets  int64 (fields,)
    table    float32 (rows, dim)          dim is any number from 1 to 64, unless a task says less

Blocks are whole warps. A grid has enough threads for what a task says, and more.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda

from gpukit.warp import warp_sum

FULL = 0xFFFFFFFF  # the mask of a whole warp

# --- 8.1: answer on paper --------------------------------------------------------------------------------------------
#
# A sector is 32 bytes. Row 0 of the table begins at a sector.

# The sectors that reading one row touches, alone: rows of 4 float32 ...
SECTORS_OF_4 = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# ... of 8 ...
SECTORS_OF_8 = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# ... and of 32.
SECTORS_OF_32 = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# Fields of 5, 4 and 3 rows in one table: the row of id 3 of the second field (fields and rows count from 0).
ROW_OF_ID = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# 6 fields, dim 32: the bytes of the rows that one sample gathers.
GATHERED_BYTES = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# Adam, float32: a step reads gradient, weight and both moments, and writes weight and both moments. Bytes a parameter:
ADAM_BYTES = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# The megabytes (10^6 bytes) of one step of Adam over a table of 10 million rows of 32, whatever the batch is.
ADAM_MEGABYTES = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move

# The microseconds that this takes at 4.8 TB/s (4.8 * 10^12 bytes a second), to the nearest whole one.
ADAM_MICROSECONDS = ...  # TODO 8.1: work out what a lookup, a sample and a step of Adam move


# --- 8.2: from raw values to ids -------------------------------------------------------------------------------------


def encode(trained, raw):
    """The ids of one field: the vocabulary is that of the training rows alone, and 0 is for all other values.

    The k-th smallest value of `trained`, counted from 1 and each value once, has id k.

    Args: trained: int64 (m,), the field's values in the training rows. raw: int64 (n,), any values.
    Returns: (ids, rows): the ids of `raw`, int32 (n,), and how many rows this field needs, an int.
    """
    raise NotImplementedError("TODO 8.2: turn raw values into ids that training knows, and counts into features")


def offsets_of(rows):
    """Where each field begins in the one table.

    Args: rows: int64 (fields,), the rows of each field.
    Returns: int64 (fields,).
    """
    raise NotImplementedError("TODO 8.2: turn raw values into ids that training knows, and counts into features")


def first_bad(ids, rows):
    """Where the first id is that its field has no row for; a GPU would read another field's row, or fail much later.

    Args: ids: int32 (samples, fields). rows: int64 (fields,), the rows of each field.
    Returns: (sample, field), the first sample that has one, and its first such field; (-1, -1) if all ids are good.
    """
    raise NotImplementedError("TODO 8.2: turn raw values into ids that training knows, and counts into features")


def log_counts(x):
    """Dense features from counts: log(1 + x), as one feature of a thousand would drown the others.

    Click logs say -1 and less for things that were not counted, and NaN for what is missing: both become 0, as a count
    of 0 does.

    Args: x: float32 (samples, numbers).
    Returns: float32 (samples, numbers), all finite.
    """
    raise NotImplementedError("TODO 8.2: turn raw values into ids that training knows, and counts into features")


# --- 8.3: gather -----------------------------------------------------------------------------------------------------


@cuda.jit
def locate(ids, offsets, dim, place):
    """place[sample, f] = the element of the flat table (row 0, row 1, ...) with which the row of this lookup begins.

    One thread a lookup. The table is not there: it may have 200 million rows of 64, of which no int32 can tell the
    elements apart.

    Args:
        ids: int32 (samples, fields). offsets: int64 (fields,). Not changed.
        dim: int32.
        place: int64 (samples, fields), set.
    """
    raise NotImplementedError("TODO 8.3: find the row of each lookup, and gather the rows")


@cuda.jit
def gather(ids, offsets, table, out):
    """out[sample, f * dim + d] = table[offsets[f] + ids[sample, f], d]: the rows of a sample, one behind the other.

    The grid has enough threads for all elements of out.

    Args:
        ids: int32 (samples, fields). offsets: int64 (fields,). table: float32 (rows, dim). Not changed.
        out: float32 (samples, fields * dim), set.

    Cost: neighbouring lanes read neighbouring numbers of a row; nothing is read that is not asked for, and
        each number of a row once.
    """
    raise NotImplementedError("TODO 8.3: find the row of each lookup, and gather the rows")


# --- 8.4: answer on paper --------------------------------------------------------------------------------------------
#
# given.py has three kernels to think about, one warp or eight. The weights begin at a sector: 8 float32 are one.

# look_up, 32 ids, all different, and at least 8 apart, in random order: the sectors of the request for weights ...
SECTORS_FAR_APART = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# ... the same ids, sorted ...
SECTORS_FAR_APART_SORTED = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# ... and the ids 0 to 31, in random order.
SECTORS_NEIGHBOURS = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# look_up, 256 ids, 8 warps: 32 different ids, at least 8 apart, each of them 8 times. They come in turn, each warp has
# all 32. The sectors of all requests for weights together ...
SECTORS_IN_TURN = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# ... and when they are sorted.
SECTORS_SORTED = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# copy_rows, with the same 256 ids, in turn: the sectors of all requests for rows of 32 together ...
ROW_SECTORS_IN_TURN = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# ... and when they are sorted. (What caches make of it is another matter: a request is counted before any cache.)
ROW_SECTORS_SORTED = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# count_ids, with the same 256 ids, in turn: the most lanes of a warp that add to one address at once ...
LANES_IN_TURN = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not

# ... and when they are sorted.
LANES_SORTED = ...  # TODO 8.4: predict what sorting the ids changes, and what it does not


# --- 8.5: backward, by atomics ---------------------------------------------------------------------------------------


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    """total[offsets[f] + ids[sample, f], d] += grad[sample, f * dim + d], for all lookups: the gradient of `gather`.

    Several samples may have the same id; half of them may have one. The grid has enough threads for all elements of
    grad.

    Args:
        ids: int32 (samples, fields). offsets: int64 (fields,). grad: float32 (samples, fields * dim). Not changed.
        total: float32 (rows, dim), added to.

    Cost: 32 numbers a request, as far as a row goes; and the lanes of a warp keep out of each other's way as
        far as dim allows.
    """
    raise NotImplementedError("TODO 8.5: add up gradients by row with atomics")


# --- 8.6: backward from sorted rows, and the update in the same kernel -----------------------------------------------


def segments(rows):
    """The lookups of a batch, sorted by row: those of one row are a segment.

    Args: rows: int64 (lookups,), the row of each lookup. There is one lookup at least.
    Returns: (order, starts, touched).
        order: int32 (lookups,), the numbers of the lookups by row, those of one row in ascending order.
        starts: int32 (segments + 1,): segment s is order[starts[s]] up to, not including, order[starts[s + 1]].
        touched: int64 (segments,), the row of each segment, ascending.
    """
    raise NotImplementedError("TODO 8.6: sum each row's gradients without atomics, and update the row at once")


@cuda.jit
def update(order, starts, touched, grad, table, state, lr, eps):
    """One step of row-wise Adagrad for the rows that a batch touched, a warp for each; dim is 1 to 32.

    g, the gradient of a row, is the sum of its lookups' gradients, added in their order. Then, with one state a row,

        state[row] += mean of g * g over its dim numbers
        table[row] -= lr * g / (sqrt(state[row]) + eps)

    Args:
        order, starts, touched: as `segments` makes them, not changed.
        grad: float32 (lookups, dim), not changed.
        table: float32 (rows, dim), state: float32 (rows,). Rows that are not touched stay as they are.
        lr, eps: float32.

    Cost: no atomics and no shared memory; a gradient is read once; a row and its state are read once and written
        once.
    """
    raise NotImplementedError("TODO 8.6: sum each row's gradients without atomics, and update the row at once")


# --- 8.7: the model --------------------------------------------------------------------------------------------------
#
# From here on PyTorch works, on arrays that come and go as NumPy's: torch.from_numpy(x), and x.detach().numpy() back.
# Functions of torch, torch.nn.functional and torch.autograd are all there is: no modules, and no optimizers.


def forward(ids, dense, offsets, table, w1, b1, w2, b2, w3, b3):
    """The logits of samples: gathered rows, then the dense numbers, through two hidden layers.

    x is the rows of a sample, field by field, and behind them its dense numbers; then, for each sample,

        relu(w1 x + b1),    relu(w2 of that + b2),    w3 of that + b3

    Args: all as NumPy arrays. dense: float32 (samples, numbers). w1: float32 (hidden, fields * dim + numbers),
        b1 (hidden,), and so on, as torch.nn.functional.linear takes them; w3 has one row.
    Returns: float32 (samples,), NumPy: logits, that is, numbers of any size, not probabilities.
    """
    raise NotImplementedError("TODO 8.7: from ids to a logit, and from logits to the loss of a batch")


def loss(logits, labels):
    """The mean over the samples of -log(the probability of what happened), with sigmoid(logit) that of a click.

    Logits of +-1000 have a loss, too: 0, or 1000.

    Args: logits: float32 (samples,). labels: uint8 (samples,), 0 or 1. NumPy arrays.
    Returns: a float.
    """
    raise NotImplementedError("TODO 8.7: from ids to a logit, and from logits to the loss of a batch")


# --- 8.8: the training loop ------------------------------------------------------------------------------------------


def train(ids, dense, labels, offsets, table, w1, b1, w2, b2, batch, lr):
    """One pass over the samples by gradient descent, `batch` after `batch`, in a loop that does not wait for the GPU.

    The model is that of `forward` with one hidden layer: w2 relu(w1 x + b1) + b2. Each step takes the next `batch`
    samples, and moves every weight, and every number of the rows that they touch, by -lr times the gradient of the mean
    loss of the batch. Samples at the end that fill no batch are left out.

    Args: as in `forward`; labels: uint8 (samples,); w2: float32 (1, hidden); batch: int; lr: float.
    Returns: (losses, table, w1, b1, w2, b2): float32, losses (steps,) of each batch before its step, and the rest as it
        is after the last step.

    Cost: counted as if the tensors were on a GPU. The arrays go there once; nothing comes back before the loop
        has ended; no gradient is as large as the table; 25 operations a step are enough, and 45 are too many.
    """
    raise NotImplementedError("TODO 8.8: train without waiting for the GPU, and without a gradient as large as the table")


# --- 8.9: evaluation -------------------------------------------------------------------------------------------------


def split(times, count):
    """Which samples are for the test: the last `count` in time, and all others of the same second as the first of them.

    Args: times: int64 (samples,), seconds, in any order. count: int, 1 to samples.
    Returns: bool (samples,).
    """
    raise NotImplementedError("TODO 8.9: split by time, use the past alone, and measure what is predicted")


def history(times, ids, labels, bucket, prior, k):
    """The click-through rate that each sample's id had before: of the clicks in earlier buckets of time, and no others.

    Bucket 0 is seconds 0 to bucket - 1, and so on. Where the id has had n samples and c clicks in earlier buckets, its
    rate is (c + k * prior) / (n + k), so that an id nobody knows has the rate `prior`.

    Args: times: int64 (samples,), seconds from 0 on, in any order. ids: int32 (samples,), of one field. labels: uint8
        (samples,). bucket: int. prior, k: floats, k > 0.
    Returns: float64 (samples,).
    """
    raise NotImplementedError("TODO 8.9: split by time, use the past alone, and measure what is predicted")


def auc(labels, scores):
    """The chance that a random clicked sample has a higher score than a random one without a click; a tie is a half.

    Args: labels: uint8 (samples,), with both kinds among them. scores: float64 (samples,).
    Returns: a float.
    """
    raise NotImplementedError("TODO 8.9: split by time, use the past alone, and measure what is predicted")


def calibration(labels, p):
    """The clicks that were predicted for each that there was: 1 is right, 2 is twice as many.

    Args: labels: uint8 (samples,), with a click among them. p: float64 (samples,), probabilities.
    Returns: a float.
    """
    raise NotImplementedError("TODO 8.9: split by time, use the past alone, and measure what is predicted")


def normalized_entropy(labels, p):
    """The mean log loss of p, divided by that of predicting the samples' own click rate for each: 1 is no better.

    Args: labels: uint8 (samples,), with both kinds among them. p: float64 (samples,), more than 0 and less than 1.
    Returns: a float.
    """
    raise NotImplementedError("TODO 8.9: split by time, use the past alone, and measure what is predicted")


# --- 8.10: one speed-up ----------------------------------------------------------------------------------------------


def speed_up(model, gpu):
    """What one speed-up of your choice changes in a step, and what it gains at most.

    Choose 1: row-wise Adagrad for the table, in place of dense Adam; 2: bf16 in the network, in place of fp32; 3: one
    CUDA graph, in place of launches one by one; or 4: a batch 8 times as large. Before, none of them is done; after,
    yours alone. A step

        moves   3 * 4 bytes for each number gathered (batch * fields * dim): read from the table, written for the
                network, and read as a gradient. And for the table's optimizer: 28 bytes a parameter with dense Adam,
                8 a number gathered and 8 a lookup with row-wise Adagrad (a row and its state, read and written)
        does    6 FLOPs for each weight of the network and sample
        makes   the launches, or one

    On the GPU bytes and FLOPs take time one behind the other, for each layer waits for what it reads; meanwhile the
    host launches. The step takes at least what takes longer, GPU or host. (What this leaves out is small here: ids,
    dense numbers, the network's own optimizer.) A gain of 1 is an answer, too.

    Args:
        model: (rows, fields, dim, weights, batch, launches), ints: rows of the table, weights of the network.
        gpu: (bytes a second, FLOPs a second in fp32, FLOPs a second in bf16, seconds a launch), floats.

    Returns: (choice, before, after, gain). choice: 1, 2, 3 or 4, the same in every call. before, after: (bytes, FLOPs,
        launches, microseconds, term) of a step. microseconds: what it takes at least. term: 2 if the host takes longer
        than the GPU; otherwise what takes longer there, 0 for bytes and 1 for FLOPs. gain: samples a second after, over
        those before.
    """
    raise NotImplementedError("TODO 8.10: choose one speed-up, and say what it can gain at most")
