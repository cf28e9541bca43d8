"""A batch 8 times as large in 8.10; rows touched once each in 8.8, without asking how many they are."""

import torch
import torch.nn.functional as F


def train(ids, dense, labels, offsets, table, w1, b1, w2, b2, batch, lr):
    rows = torch.from_numpy(ids) + torch.from_numpy(offsets)
    dense, labels, table = torch.from_numpy(dense), torch.from_numpy(labels).float(), torch.from_numpy(table)
    weights = [torch.from_numpy(w).requires_grad_() for w in (w1, b1, w2, b2)]
    steps = len(rows) // batch
    losses = torch.empty(steps)
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        leaf = table[rows[part]]
        leaf.requires_grad = True
        hidden = F.relu(F.linear(torch.cat([leaf.reshape(batch, -1), dense[part]], 1), weights[0], weights[1]))
        mean = F.binary_cross_entropy_with_logits(F.linear(hidden, weights[2], weights[3]).reshape(-1), labels[part])
        mean.backward()
        losses[step] = mean.detach()
        with torch.no_grad():
            sorted_rows, order = torch.sort(rows[part].reshape(-1))
            gradients = leaf.grad.reshape(-1, table.shape[1])[order]
            table.index_add_(0, sorted_rows, gradients, alpha=-lr)
            for weight in weights:
                weight.sub_(weight.grad, alpha=lr)
                weight.grad.zero_()
    return losses.numpy(), table.numpy(), *(weight.detach().numpy() for weight in weights)


def speed_up(model, gpu):
    def step(batch):
        rows, fields, dim, weights, _, launches = model
        moved, flops = batch * fields * dim * 12 + rows * dim * 28, 6 * weights * batch
        times = moved / gpu[0], flops / gpu[1]
        host = launches * gpu[3]
        if host > sum(times):
            return moved, flops, launches, host * 1e6, 2
        return moved, flops, launches, sum(times) * 1e6, 0 if times[0] >= times[1] else 1

    before, after = step(model[4]), step(8 * model[4])
    return 4, before, after, 8 * before[3] / after[3]
