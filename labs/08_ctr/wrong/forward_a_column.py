"""One logit a sample as a column, (samples, 1): a loss of ones own makes (samples, samples) of it.

Fails:
    test_8_7_forward: logits of another shape
"""

import torch
import torch.nn.functional as F


def forward(ids, dense, offsets, table, w1, b1, w2, b2, w3, b3):
    rows = torch.from_numpy(table)[torch.from_numpy(ids) + torch.from_numpy(offsets)]
    x = torch.cat([rows.flatten(1), torch.from_numpy(dense)], 1)
    for w, b in ((w1, b1), (w2, b2)):
        x = F.relu(F.linear(x, torch.from_numpy(w), torch.from_numpy(b)))
    return F.linear(x, torch.from_numpy(w3), torch.from_numpy(b3)).numpy()
