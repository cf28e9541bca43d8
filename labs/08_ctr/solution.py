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
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
SECTORS_OF_4 = 1
# END SOLUTION

# ... of 8 ...
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
SECTORS_OF_8 = 1
# END SOLUTION

# ... and of 32.
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
SECTORS_OF_32 = 4
# END SOLUTION

# Fields of 5, 4 and 3 rows in one table: the row of id 3 of the second field (fields and rows count from 0).
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
ROW_OF_ID = 8
# END SOLUTION

# 6 fields, dim 32: the bytes of the rows that one sample gathers.
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
GATHERED_BYTES = 768
# END SOLUTION

# Adam, float32: a step reads gradient, weight and both moments, and writes weight and both moments. Bytes a parameter:
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
ADAM_BYTES = 28
# END SOLUTION

# The megabytes (10^6 bytes) of one step of Adam over a table of 10 million rows of 32, whatever the batch is.
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
ADAM_MEGABYTES = 8960
# END SOLUTION

# The microseconds that this takes at 4.8 TB/s (4.8 * 10^12 bytes a second), to the nearest whole one.
# BEGIN SOLUTION 8.1: work out what a lookup, a sample and a step of Adam move
ADAM_MICROSECONDS = 1867
# END SOLUTION


# --- 8.2: from raw values to ids -------------------------------------------------------------------------------------


def encode(trained, raw):
    """The ids of one field: the vocabulary is that of the training rows alone, and 0 is for all other values.

    The k-th smallest value of `trained`, counted from 1 and each value once, has id k.

    Args: trained: int64 (m,), the field's values in the training rows. raw: int64 (n,), any values.
    Returns: (ids, rows): the ids of `raw`, int32 (n,), and how many rows this field needs, an int.
    """
    # BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    vocabulary = np.unique(trained)
    place = np.searchsorted(vocabulary, raw)
    place = np.minimum(place, max(vocabulary.size - 1, 0))
    known = vocabulary[place] == raw if vocabulary.size else np.zeros(raw.size, bool)
    return np.where(known, place + 1, 0).astype(np.int32), int(vocabulary.size) + 1
    # END SOLUTION


def offsets_of(rows):
    """Where each field begins in the one table.

    Args: rows: int64 (fields,), the rows of each field.
    Returns: int64 (fields,).
    """
    # BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    return np.cumsum(rows) - rows
    # END SOLUTION


def first_bad(ids, rows):
    """Where the first id is that its field has no row for; a GPU would read another field's row, or fail much later.

    Args: ids: int32 (samples, fields). rows: int64 (fields,), the rows of each field.
    Returns: (sample, field), the first sample that has one, and its first such field; (-1, -1) if all ids are good.
    """
    # BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    bad = np.argwhere((ids < 0) | (ids >= rows))
    return (int(bad[0, 0]), int(bad[0, 1])) if len(bad) else (-1, -1)
    # END SOLUTION


def log_counts(x):
    """Dense features from counts: log(1 + x), as one feature of a thousand would drown the others.

    Click logs say -1 and less for things that were not counted, and NaN for what is missing: both become 0, as a count
    of 0 does.

    Args: x: float32 (samples, numbers).
    Returns: float32 (samples, numbers), all finite.
    """
    # BEGIN SOLUTION 8.2: turn raw values into ids that training knows, and counts into features
    return np.log1p(np.where(x > 0, x, 0)).astype(np.float32)
    # END SOLUTION


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
    # BEGIN SOLUTION 8.3: find the row of each lookup, and gather the rows
    t = cuda.grid(1)
    if t < ids.size:
        sample, field = t // ids.shape[1], t % ids.shape[1]
        place[sample, field] = (offsets[field] + ids[sample, field]) * dim
    # END SOLUTION


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
    # BEGIN SOLUTION 8.3: find the row of each lookup, and gather the rows
    t = cuda.grid(1)
    dim = table.shape[1]
    if t < out.size:
        sample, place = t // out.shape[1], t % out.shape[1]
        field = place // dim
        row = offsets[field] + ids[sample, field]
        out[sample, place] = table[row, place % dim]
    # END SOLUTION


# --- 8.4: answer on paper --------------------------------------------------------------------------------------------
#
# given.py has three kernels to think about, one warp or eight. The weights begin at a sector: 8 float32 are one.

# look_up, 32 ids, all different, and at least 8 apart, in random order: the sectors of the request for weights ...
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
SECTORS_FAR_APART = 32
# END SOLUTION

# ... the same ids, sorted ...
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
SECTORS_FAR_APART_SORTED = 32
# END SOLUTION

# ... and the ids 0 to 31, in random order.
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
SECTORS_NEIGHBOURS = 4
# END SOLUTION

# look_up, 256 ids, 8 warps: 32 different ids, at least 8 apart, each of them 8 times. They come in turn, each warp has
# all 32. The sectors of all requests for weights together ...
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
SECTORS_IN_TURN = 256
# END SOLUTION

# ... and when they are sorted.
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
SECTORS_SORTED = 32
# END SOLUTION

# copy_rows, with the same 256 ids, in turn: the sectors of all requests for rows of 32 together ...
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
ROW_SECTORS_IN_TURN = 1024
# END SOLUTION

# ... and when they are sorted. (What caches make of it is another matter: a request is counted before any cache.)
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
ROW_SECTORS_SORTED = 1024
# END SOLUTION

# count_ids, with the same 256 ids, in turn: the most lanes of a warp that add to one address at once ...
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
LANES_IN_TURN = 1
# END SOLUTION

# ... and when they are sorted.
# BEGIN SOLUTION 8.4: predict what sorting the ids changes, and what it does not
LANES_SORTED = 8
# END SOLUTION


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
    # BEGIN SOLUTION 8.5: add up gradients by row with atomics
    t = cuda.grid(1)
    dim = total.shape[1]
    if t < grad.size:
        sample, place = t // grad.shape[1], t % grad.shape[1]
        field = place // dim
        cuda.atomic.add(total, (offsets[field] + ids[sample, field], place % dim), grad[sample, place])
    # END SOLUTION


# --- 8.6: backward from sorted rows, and the update in the same kernel -----------------------------------------------


def segments(rows):
    """The lookups of a batch, sorted by row: those of one row are a segment.

    Args: rows: int64 (lookups,), the row of each lookup. There is one lookup at least.
    Returns: (order, starts, touched).
        order: int32 (lookups,), the numbers of the lookups by row, those of one row in ascending order.
        starts: int32 (segments + 1,): segment s is order[starts[s]] up to, not including, order[starts[s + 1]].
        touched: int64 (segments,), the row of each segment, ascending.
    """
    # BEGIN SOLUTION 8.6: sum each row's gradients without atomics, and update the row at once
    order = np.argsort(rows, kind="stable")
    touched, counts = np.unique(rows, return_counts=True)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return order.astype(np.int32), starts.astype(np.int32), touched
    # END SOLUTION


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
    # BEGIN SOLUTION 8.6: sum each row's gradients without atomics, and update the row at once
    segment = cuda.grid(1) // 32
    lane = cuda.laneid
    dim = table.shape[1]
    g = np.float32(0)
    if segment < touched.size and lane < dim:
        for k in range(starts[segment], starts[segment + 1]):
            g += grad[order[k], lane]
    squares = warp_sum(g * g)
    scale = np.float32(0)
    if segment < touched.size and lane == 0:
        row = touched[segment]
        now = state[row] + squares / np.float32(dim)
        state[row] = now
        scale = lr / (math.sqrt(now) + eps)
    scale = cuda.shfl_sync(FULL, scale, 0)
    if segment < touched.size and lane < dim:
        table[touched[segment], lane] -= scale * g
    # END SOLUTION


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
    # BEGIN SOLUTION 8.7: from ids to a logit, and from logits to the loss of a batch
    rows = torch.from_numpy(table)[torch.from_numpy(ids) + torch.from_numpy(offsets)]
    x = torch.cat([rows.flatten(1), torch.from_numpy(dense)], 1)
    for w, b in ((w1, b1), (w2, b2)):
        x = F.relu(F.linear(x, torch.from_numpy(w), torch.from_numpy(b)))
    return F.linear(x, torch.from_numpy(w3), torch.from_numpy(b3)).squeeze(1).numpy()
    # END SOLUTION


def loss(logits, labels):
    """The mean over the samples of -log(the probability of what happened), with sigmoid(logit) that of a click.

    Logits of +-1000 have a loss, too: 0, or 1000.

    Args: logits: float32 (samples,). labels: uint8 (samples,), 0 or 1. NumPy arrays.
    Returns: a float.
    """
    # BEGIN SOLUTION 8.7: from ids to a logit, and from logits to the loss of a batch
    return F.binary_cross_entropy_with_logits(torch.from_numpy(logits), torch.from_numpy(labels).float()).item()
    # END SOLUTION


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
    # BEGIN SOLUTION 8.8: train without waiting for the GPU, and without a gradient as large as the table
    rows = torch.from_numpy(ids) + torch.from_numpy(offsets)
    dense, labels = torch.from_numpy(dense), torch.from_numpy(labels).float()
    table = torch.from_numpy(table)
    weights = [torch.from_numpy(w).requires_grad_() for w in (w1, b1, w2, b2)]
    losses = []
    for start in range(0, len(rows) - batch + 1, batch):
        at = rows[start : start + batch]
        gathered = table[at].requires_grad_()
        x = torch.cat([gathered.flatten(1), dense[start : start + batch]], 1)
        hidden = F.relu(F.linear(x, weights[0], weights[1]))
        logits = F.linear(hidden, weights[2], weights[3]).squeeze(1)
        mean = F.binary_cross_entropy_with_logits(logits, labels[start : start + batch])
        losses.append(mean.detach())
        gradients = torch.autograd.grad(mean, [gathered, *weights])
        with torch.no_grad():
            table.index_add_(0, at.flatten(), gradients[0].flatten(0, 1), alpha=-lr)
            for weight, gradient in zip(weights, gradients[1:], strict=True):
                weight.sub_(gradient, alpha=lr)
    return torch.stack(losses).numpy(), table.numpy(), *(weight.detach().numpy() for weight in weights)
    # END SOLUTION


# --- 8.9: evaluation -------------------------------------------------------------------------------------------------


def split(times, count):
    """Which samples are for the test: the last `count` in time, and all others of the same second as the first of them.

    Args: times: int64 (samples,), seconds, in any order. count: int, 1 to samples.
    Returns: bool (samples,).
    """
    # BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    return times >= np.sort(times)[-count]
    # END SOLUTION


def history(times, ids, labels, bucket, prior, k):
    """The click-through rate that each sample's id had before: of the clicks in earlier buckets of time, and no others.

    Bucket 0 is seconds 0 to bucket - 1, and so on. Where the id has had n samples and c clicks in earlier buckets, its
    rate is (c + k * prior) / (n + k), so that an id nobody knows has the rate `prior`.

    Args: times: int64 (samples,), seconds from 0 on, in any order. ids: int32 (samples,), of one field. labels: uint8
        (samples,). bucket: int. prior, k: floats, k > 0.
    Returns: float64 (samples,).
    """
    # BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    rates = np.empty(times.size)
    buckets = times // bucket
    shown = np.zeros(int(ids.max(initial=0)) + 1)
    clicked = np.zeros(shown.size)
    for current in np.unique(buckets):
        here = buckets == current
        rates[here] = (clicked[ids[here]] + k * prior) / (shown[ids[here]] + k)
        shown += np.bincount(ids[here], minlength=shown.size)
        clicked += np.bincount(ids[here], labels[here], shown.size)
    return rates
    # END SOLUTION


def auc(labels, scores):
    """The chance that a random clicked sample has a higher score than a random one without a click; a tie is a half.

    Args: labels: uint8 (samples,), with both kinds among them. scores: float64 (samples,).
    Returns: a float.
    """
    # BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[group]
    clicks = int(labels.sum())
    others = labels.size - clicks
    return float((rank[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * others))
    # END SOLUTION


def calibration(labels, p):
    """The clicks that were predicted for each that there was: 1 is right, 2 is twice as many.

    Args: labels: uint8 (samples,), with a click among them. p: float64 (samples,), probabilities.
    Returns: a float.
    """
    # BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    return float(p.sum() / labels.sum())
    # END SOLUTION


def normalized_entropy(labels, p):
    """The mean log loss of p, divided by that of predicting the samples' own click rate for each: 1 is no better.

    Args: labels: uint8 (samples,), with both kinds among them. p: float64 (samples,), more than 0 and less than 1.
    Returns: a float.
    """
    # BEGIN SOLUTION 8.9: split by time, use the past alone, and measure what is predicted
    rate = labels.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    return float(-np.where(labels == 1, np.log(p), np.log(1 - p)).mean() / entropy)
    # END SOLUTION


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
    # BEGIN SOLUTION 8.10: choose one speed-up, and say what it can gain at most
    choice = 1
    rows, fields, dim, weights, batch, launches = model
    bandwidth, fp32, bf16, launch = gpu

    def step(switch):
        samples = batch * 8 if switch == 4 else batch
        lookups = samples * fields
        moved = 3 * lookups * dim * 4 + (lookups * (2 * dim * 4 + 8) if switch == 1 else 28 * rows * dim)
        flops = 6 * weights * samples
        made = 1 if switch == 3 else launches
        reading, computing, launching = moved / bandwidth, flops / (bf16 if switch == 2 else fp32), made * launch
        term = 2 if launching > reading + computing else int(computing > reading)
        return samples, (moved, flops, made, 1e6 * max(reading + computing, launching), term)

    samples, before = step(0)
    more, after = step(choice)
    return choice, before, after, more / after[3] * before[3] / samples
    # END SOLUTION
