"""All by hand in NumPy on the host: right, and the GPU has nothing to do.

Fails:
    test_8_8_busy: operations
"""

import numpy as np


def train(ids, dense, labels, offsets, table, w1, b1, w2, b2, batch, lr):
    losses = []
    for start in range(0, len(ids) - batch + 1, batch):
        at, y = (ids + offsets)[start : start + batch], labels[start : start + batch].astype(np.float32)
        x = np.concatenate((table[at].reshape(batch, -1), dense[start : start + batch]), axis=1)
        hidden = np.maximum(x @ w1.T + b1, 0)
        z = (hidden @ w2.T + b2)[:, 0]
        losses.append(np.mean(np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))))
        down = ((1 / (1 + np.exp(-z)) - y) / batch)[:, None]
        back = (down @ w2) * (hidden > 0)
        step = (back @ w1)[:, : at.shape[1] * table.shape[1]].reshape(-1, table.shape[1])
        w1, b1 = w1 - lr * back.T @ x, b1 - lr * back.sum(0)
        w2, b2 = w2 - lr * down.T @ hidden, b2 - lr * down.sum(0)
        np.add.at(table, at.ravel(), -lr * step)
    return tuple(np.asarray(part, np.float32) for part in (losses, table, w1, b1, w2, b2))
