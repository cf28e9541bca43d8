"""The rows of a sample are laid out number by number, not field by field.

Fails:
    test_8_7_forward: whole numbers: exact; samples: 5
"""

import torch
import torch.nn.functional as F


def forward(ids, dense, offsets, table, w1, b1, w2, b2, w3, b3):
    rows = torch.from_numpy(table)[torch.from_numpy(ids) + torch.from_numpy(offsets)]
    x = torch.cat([rows.transpose(1, 2).flatten(1), torch.from_numpy(dense)], 1)
    for w, b in ((w1, b1), (w2, b2)):
        x = F.relu(F.linear(x, torch.from_numpy(w), torch.from_numpy(b)))
    return F.linear(x, torch.from_numpy(w3), torch.from_numpy(b3)).squeeze(1).numpy()
