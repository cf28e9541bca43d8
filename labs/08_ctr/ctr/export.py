"""A trained network for inference: one .pt2 file with a program that takes any number of rows, and its schema.

The program is what torch.export makes of the network and the sigmoid after it. It needs PyTorch, and nothing of ours:

    program = torch.export.load("model.pt2").module()
    p = program(ids, dense)    # ids (n, fields) int32, dense (n, numbers) float32 -> (n,) float32
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpukit import files

from .errors import CtrError
from .guards import check_dense, check_ids
from .model.network import Network
from .schema import UNKNOWN, Schema

NAME = "model.pt2"
SCHEMA = "schema.json"  # in the file
TOLERANCE = 1e-5  # of a probability: a compiled program may add in another order
ROWS = (1, 2, 1000)  # of the batches that a parity test compares


class _Probability(nn.Module):
    def __init__(self, network: Network):
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, dense: Tensor) -> Tensor:
        return torch.sigmoid(self.network(ids, dense))


@dataclass(frozen=True)
class Exported:
    """A program that was read back, and the schema of the rows that it takes."""

    schema: Schema
    program: Any

    def __call__(self, ids: np.ndarray, dense: np.ndarray) -> np.ndarray:
        """ids (n, fields) integers, dense (n, numbers) floats to (n,) float32 probabilities. Raises CtrError for what
        the schema does not allow: an id that training has not seen is 0."""
        check_ids(ids, self.schema)
        check_dense(dense, self.schema.dense)
        rows = torch.from_numpy(np.array(ids, np.int32)), torch.from_numpy(np.array(dense, np.float32))
        with torch.no_grad():
            return self.program(*rows).numpy()


def export(network: Network, path: Path) -> Exported:
    """Writes the network, read back and compared with itself. Raises CtrError where the two differ, and GpukitError
    where the file cannot be written; what was there stays then."""
    network = copy.deepcopy(network).to("cpu").eval()
    network.table.sparse = False  # a sparse gradient is for training
    schema = network.schema
    example = torch.zeros(2, len(schema.fields), dtype=torch.int32), torch.zeros(2, len(schema.dense))
    rows = torch.export.Dim("rows", min=1)
    program = torch.export.export(_Probability(network), example, dynamic_shapes=({0: rows}, {0: rows}))
    held = io.BytesIO()  # on a full disk PyTorch's own writer of files ends the process
    torch.export.save(program, held, extra_files={SCHEMA: json.dumps(schema.to_dict())})
    exported = _loaded(held, path)
    check_parity(network, exported)
    files.write_whole(path, held.getvalue())
    return exported


def load_exported(path: Path) -> Exported:
    """What `export` wrote. Raises CtrError for a file that is missing, cut short, or of another kind."""
    if not path.is_file():
        raise CtrError(f"there is no file {path}: `gpukit ctr export` writes one")
    return _loaded(path, path)


def _loaded(source: Path | io.BytesIO, path: Path) -> Exported:
    """`path`: what errors call it."""
    extra = {SCHEMA: ""}
    try:
        with zipfile.ZipFile(source) as archive:  # PyTorch would log a traceback before it raises
            broken = archive.testzip()
        if broken is not None:
            raise CtrError(f"{path} was changed at its part {broken}: export the checkpoint again")
        if isinstance(source, io.BytesIO):
            source.seek(0)
        program = torch.export.load(source, extra_files=extra).module()
        return Exported(Schema.from_dict(json.loads(extra[SCHEMA])), program)
    except CtrError:
        raise
    except Exception as error:  # whatever a reader of archives meets in one that is broken
        raise CtrError(
            f"{path} is no exported network, or was cut short ({type(error).__name__}): export the checkpoint again"
        ) from error


def check_parity(network: Network, exported: Exported, seed: int = 0) -> None:
    """Both give the same probabilities on rows drawn afresh, of batches of several sizes, unknown ids among them.

    Raises CtrError for the first row where they do not.
    """
    if exported.schema != network.schema:
        raise CtrError("the exported network has another schema than the network: export it again")
    rng = np.random.default_rng(seed)
    mean, scale = network.mean.numpy(), network.scale.numpy()
    for rows in ROWS:
        ids = np.stack([rng.integers(0, field.rows, rows) for field in network.schema.fields], 1).astype(np.int32)
        ids[rng.random(ids.shape) < 0.1] = UNKNOWN
        dense = (mean + 2 * rng.standard_normal((rows, len(mean))) / scale).astype(np.float32)
        with torch.no_grad():
            want = torch.sigmoid(network(torch.from_numpy(ids), torch.from_numpy(dense))).numpy()
        got = exported(ids, dense)
        far = np.abs(got - want)
        if not np.all(far <= TOLERANCE):
            row = int(np.argmax(np.where(np.isnan(far), np.inf, far)))
            raise CtrError(
                f"the exported network differs: {got[row]:.6f} where the network says {want[row]:.6f}, for ids "
                f"{ids[row].tolist()} (row {row} of {rows}); export the checkpoint that you mean"
            )
