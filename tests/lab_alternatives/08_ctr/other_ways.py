"""Dictionaries and loops, rows of threads in steps of the grid, a butterfly, a sparse gradient, pairs, and bf16.

8.3 and 8.5 have one thread for several elements; 8.6 reads the state with every lane before any writes, and counts
segments by where rows change; 8.7 multiplies matrices and takes softplus; 8.8 asks embedding for a sparse gradient and
calls backward; 8.9 compares all pairs, and walks through the samples in the order of time.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda


def encode(train, raw):
    known = {}
    for value in sorted(set(train.tolist())):
        known[value] = len(known) + 1
    return np.array([known.get(value, 0) for value in raw.tolist()], np.int32), 1 + len(known)


def offsets_of(rows):
    offsets = np.zeros(len(rows), np.int64)
    for f in range(1, len(rows)):
        offsets[f] = offsets[f - 1] + rows[f - 1]
    return offsets


def first_bad(ids, rows):
    for sample in range(ids.shape[0]):
        for field in range(ids.shape[1]):
            if not 0 <= ids[sample, field] < rows[field]:
                return sample, field
    return -1, -1


def log_counts(x):
    counts = np.nan_to_num(x)
    counts[counts < 0] = 0
    return np.log1p(counts)


@cuda.jit
def locate(ids, offsets, dim, place):
    samples, fields = ids.shape
    for t in range(cuda.grid(1), samples * fields, cuda.gridsize(1)):
        sample = t // fields
        field = t - sample * fields
        row = np.int64(ids[sample, field])
        row += offsets[field]
        place[sample, field] = row * np.int64(dim)


@cuda.jit
def gather(ids, offsets, table, out):
    samples, fields = ids.shape
    dim = table.shape[1]
    for t in range(cuda.grid(1), samples * fields * dim, cuda.gridsize(1)):
        lookup, d = t // dim, t % dim
        sample, field = lookup // fields, lookup % fields
        out[sample, field * dim + d] = table[offsets[field] + ids[sample, field], d]


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    samples, fields = ids.shape
    dim = total.shape[1]
    for t in range(cuda.grid(1), samples * fields * dim, cuda.gridsize(1)):
        lookup, d = t // dim, t % dim
        sample, field = lookup // fields, lookup % fields
        g = grad[sample, field * dim + d]
        if g != 0:
            row = offsets[field] + ids[sample, field]
            cuda.atomic.add(total, (row, d), g)


def segments(rows):
    order = np.lexsort((np.arange(rows.size), rows)).astype(np.int32)
    in_order = rows[order]
    begins = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1]))
    starts = np.append(begins, rows.size).astype(np.int32)
    return order, starts, in_order[begins]


@cuda.jit
def update(order, starts, touched, grad, table, state, lr, eps):
    warp, lane = cuda.grid(1) // 32, cuda.grid(1) % 32
    if warp >= touched.size:
        return
    row, dim = touched[warp], table.shape[1]
    k, end = starts[warp], starts[warp + 1]
    g = np.float32(0)
    while k < end:
        if lane < dim:
            g += grad[order[k], lane]
        k += 1
    mean = g * g / np.float32(dim)
    for offset in (1, 2, 4, 8, 16):
        mean += cuda.shfl_xor_sync(FULL, mean, offset)
    now = state[row] + mean
    cuda.syncwarp()
    if lane == 0:
        state[row] = now
    if lane < dim:
        table[row, lane] = table[row, lane] - lr * g / (math.sqrt(now) + eps)


def forward(ids, dense, offsets, table, w1, b1, w2, b2, w3, b3):
    rows = torch.from_numpy((ids + offsets).astype(np.int64))
    x = F.embedding(rows, torch.from_numpy(table)).reshape(len(ids), -1)
    x = torch.hstack((x, torch.from_numpy(dense)))
    x = (x @ torch.from_numpy(w1).T + torch.from_numpy(b1)).clamp(min=0)
    x = (x @ torch.from_numpy(w2).T + torch.from_numpy(b2)).clamp(min=0)
    return ((x @ torch.from_numpy(w3).T)[:, 0] + torch.from_numpy(b3)).numpy()


def loss(logits, labels):
    z = torch.from_numpy(logits)
    y = torch.from_numpy(labels).to(torch.float32)
    return float((F.softplus(z) - z * y).mean())


def train(ids, dense, labels, offsets, table, w1, b1, w2, b2, batch, lr):
    rows = torch.as_tensor(ids).long() + torch.as_tensor(offsets)
    numbers, clicks = torch.as_tensor(dense), torch.as_tensor(labels).float()
    table = torch.tensor(table, requires_grad=True)
    w1, b1, w2, b2 = (torch.tensor(w, requires_grad=True) for w in (w1, b1, w2, b2))
    parameters = (table, w1, b1, w2, b2)
    steps = len(ids) // batch
    losses = torch.zeros(steps)
    for step in range(steps):
        now = slice(step * batch, (step + 1) * batch)
        gathered = F.embedding(rows[now], table, sparse=True)
        x = torch.cat((gathered.reshape(batch, -1), numbers[now]), dim=1)
        logits = (torch.relu(x @ w1.T + b1) @ w2.T + b2).reshape(batch)
        mean = F.binary_cross_entropy_with_logits(logits, clicks[now])
        mean.backward()
        with torch.no_grad():
            losses[step] = mean
            for parameter in parameters:
                parameter.add_(parameter.grad, alpha=-lr)
                parameter.grad = None
    return [losses.numpy()] + [parameter.detach().numpy() for parameter in parameters]


def split(times, count):
    later = (times[None, :] > times[:, None]).sum(axis=1)
    return later < count


def history(times, ids, labels, bucket, prior, k):
    order = np.argsort(times, kind="stable")
    rates = np.zeros(len(times))
    known, waiting = {}, []
    current = -1
    for i in order.tolist():
        if times[i] // bucket != current:
            for key, clicked in waiting:
                n, c = known.get(key, (0, 0))
                known[key] = n + 1, c + clicked
            waiting, current = [], times[i] // bucket
        n, c = known.get(int(ids[i]), (0, 0))
        rates[i] = (c + k * prior) / (n + k)
        waiting.append((int(ids[i]), int(labels[i])))
    return rates


def auc(labels, scores):
    clicked, others = scores[labels == 1], scores[labels == 0]
    above = np.greater(clicked[:, None], others[None, :]).sum()
    level = np.equal(clicked[:, None], others[None, :]).sum()
    return float((above + level / 2) / (len(clicked) * len(others)))


def calibration(labels, p):
    return float(np.mean(p) / np.mean(labels))


def normalized_entropy(labels, p):
    def mean_loss(q):
        return -np.mean(labels * np.log(q) + (1.0 - labels) * np.log1p(-q))

    return float(mean_loss(p) / mean_loss(np.full(len(labels), labels.mean())))


def speed_up(model, gpu):
    rows, fields, dim, weights, batch, launches = model
    moved = 12 * batch * fields * dim + 28 * rows * dim
    flops = 6 * weights * batch
    found = []
    for rate in (gpu[1], gpu[2]):
        on_gpu, on_host = moved / gpu[0] + flops / rate, launches * gpu[3]
        term = 0 if moved / gpu[0] >= flops / rate else 1
        found.append((moved, flops, launches, max(on_gpu, on_host) * 1e6, 2 if on_host > on_gpu else term))
    return 2, found[0], found[1], found[0][3] / found[1][3]
