"""Makes the .mtx.gz files of matrices/ from the packages that ship them.

    pip download --no-deps scipy==1.17.1 pygsp==0.6.1 pyamg==5.4.1      # and unzip the wheels into DIR
    apt-get download python3-graph-tool=2.45+ds-10                      # and dpkg-deb -x it into DIR
    python data/make_matrices.py DIR

Needs NumPy and SciPy. The text of the files is the same on every machine (a zlib of another version may pack it
differently). illc1850 is in SciPy's test data as a pickled matrix: unpickle only what came from the registry.
"""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

HERE = Path(__file__).with_name("matrices")
PACKAGES = {
    "illc1850": (
        "scipy/sparse/linalg/tests/propack_test_data.npz",
        "HB/illc1850, a least-squares problem of the Harwell-Boeing collection, as shipped in SciPy 1.17.1",
        "BSD-3-Clause, Copyright (c) 2001-2002 Enthought, Inc. 2003, SciPy Developers",
    ),
    "minnesota": (
        "pygsp/data/pointclouds/minnesota.mat",
        "Gleich/minnesota, the roads of Minnesota, as shipped in PyGSP 0.6.1",
        "BSD-3-Clause, Copyright (c) 2014, EPFL LTS2",
    ),
    "bar": (
        "pyamg/gallery/example_data/bar.mat",
        "linear elasticity of a bar, three unknowns a node, as shipped in PyAMG 5.4.1",
        "MIT, Copyright (c) 2008-2015 PyAMG Developers",
    ),
    "local_disc_galerkin": (
        "pyamg/gallery/example_data/local_disc_galerkin_diffusion.mat",
        "diffusion by a local discontinuous Galerkin method of degree 5, as shipped in PyAMG 5.4.1",
        "MIT, Copyright (c) 2008-2015 PyAMG Developers",
    ),
    "as-22july06": (
        "usr/lib/python3/dist-packages/graph_tool/collection/as-22july06.gt.gz",
        "Newman/as-22july06, the Internet on 22 July 2006, as shipped in Debian's python3-graph-tool 2.45",
        "public domain, as the package's copyright file says",
    ),
    "polblogs": (
        "usr/lib/python3/dist-packages/graph_tool/collection/polblogs.gt.gz",
        "links between political blogs (Adamic and Glance, 2005), as shipped in Debian's python3-graph-tool 2.45",
        "public domain, as the package's copyright file says",
    ),
}


def graph(path: Path) -> tuple[scipy.sparse.coo_array, bool]:
    """The adjacency matrix of a .gt.gz file, an edge from its first vertex to its second; and whether it is directed.

    Source: graph-tool's documentation, "The gt file format".
    """
    content = gzip.decompress(path.read_bytes())
    (comment,) = struct.unpack_from("<Q", content, 8)
    at = 16 + comment
    directed, vertices = struct.unpack_from("<?Q", content, at)
    at += 9
    number = np.dtype("<u1" if vertices <= 2**8 else "<u2" if vertices <= 2**16 else "<u4")
    rows, columns = [], []
    for vertex in range(vertices):
        (degree,) = struct.unpack_from("<Q", content, at)
        columns.append(np.frombuffer(content, number, degree, at + 8))
        rows.append(np.full(degree, vertex))
        at += 8 + degree * number.itemsize
    entries = np.concatenate(rows), np.concatenate(columns).astype(np.int64)
    return scipy.sparse.coo_array((np.ones(entries[0].size), entries), shape=(vertices, vertices)), directed


def load(path: Path) -> tuple[scipy.sparse.coo_array, bool]:
    """(matrix, whether each of its entries stands for two of a symmetric one)."""
    if path.name.endswith(".gt.gz"):
        matrix, directed = graph(path)
        return matrix, not directed
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=True) as arrays:
            return scipy.sparse.coo_array(arrays["A_real"].item()), False
    matrix = scipy.sparse.coo_array(scipy.io.loadmat(path)["A"])
    if abs(matrix - matrix.T).max() == 0:
        return scipy.sparse.coo_array(scipy.sparse.tril(matrix)), True
    return matrix, False


def text(name: str, matrix: scipy.sparse.coo_array, symmetric: bool) -> str:
    """A Matrix Market file, column by column; duplicates stay."""
    _, source, licence = PACKAGES[name]
    rows, columns = matrix.row, matrix.col
    if symmetric:
        rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
    order = np.lexsort((rows, columns))
    pattern = bool((matrix.data == 1).all())
    kind = ("pattern" if pattern else "real", "symmetric" if symmetric else "general")
    head = [
        "%%MatrixMarket matrix coordinate {} {}".format(*kind),
        f"% {name}: {source}.",
        f"% Licence: {licence}.",
        "{} {} {}".format(*matrix.shape, matrix.nnz),
    ]
    entries = zip((rows[order] + 1).tolist(), (columns[order] + 1).tolist(), matrix.data[order].tolist(), strict=True)
    body = [f"{row} {column}" if pattern else f"{row} {column} {value!r}" for row, column, value in entries]
    return "\n".join([*head, *body, ""])


if __name__ == "__main__":
    for name, (path, _, _) in PACKAGES.items():
        content = text(name, *load(Path(sys.argv[1]) / path)).encode("ascii")
        with (HERE / f"{name}.mtx.gz").open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(content)
