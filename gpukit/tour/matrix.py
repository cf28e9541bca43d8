"""The real matrix of the tour: which word follows which in Moby-Dick (data/README.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpukit.resources import data_file


@dataclass(frozen=True)
class Matrix:
    """A square CSR matrix with a word per row. `data` counts occurrences."""

    indptr: np.ndarray  # int32 (rows + 1)
    indices: np.ndarray  # int32 (non-zeros)
    data: np.ndarray  # float32 (non-zeros)
    words: list[str]

    @property
    def rows(self) -> int:
        return len(self.words)

    @property
    def nonzeros(self) -> int:
        return self.data.size

    @property
    def row_lengths(self) -> np.ndarray:
        """Non-zeros of each row, int32 (rows,)."""
        return np.diff(self.indptr)


def load() -> Matrix:
    with np.load(data_file("matrices/moby_words.npz")) as arrays:
        return Matrix(
            arrays["indptr"],
            arrays["indices"].astype(np.int32),
            arrays["counts"].astype(np.float32),
            arrays["words"].tobytes().decode("ascii").split("\n"),
        )
