"""The gradient of the whole table, nearly all zeros, made and added in each step.

Fails:
    test_8_8_busy: dense_gradient_bytes
"""

import torch
import torch.nn.functional as F


def train(ids, dense, labels, offsets, table, w1, b1, w2, b2, batch, lr):
    rows = torch.from_numpy(ids) + torch.from_numpy(offsets)
    dense, labels = torch.from_numpy(dense), torch.from_numpy(labels).float()
    table = torch.from_numpy(table)
    weights = [torch.from_numpy(w).requires_grad_() for w in (w1, b1, w2, b2)]
    losses = []
    table.requires_grad_()
    for start in range(0, len(rows) - batch + 1, batch):
        at = rows[start : start + batch]
        gathered = table[at]
        x = torch.cat([gathered.flatten(1), dense[start : start + batch]], 1)
        hidden = F.relu(F.linear(x, weights[0], weights[1]))
        logits = F.linear(hidden, weights[2], weights[3]).squeeze(1)
        mean = F.binary_cross_entropy_with_logits(logits, labels[start : start + batch])
        losses.append(mean.detach())
        gradients = torch.autograd.grad(mean, [table, *weights])
        with torch.no_grad():
            table.sub_(gradients[0], alpha=lr)
            for weight, gradient in zip(weights, gradients[1:], strict=True):
                weight.sub_(gradient, alpha=lr)
    return torch.stack(losses).numpy(), table.detach().numpy(), *(weight.detach().numpy() for weight in weights)
