"""C++ types by name, as NumPy knows them, for arguments written on a command line."""

from __future__ import annotations

import re

import numpy as np

_SCALARS = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "long": "l",  # as long as the platform's, which the compiler follows
    "unsigned long": "L",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "uchar": "uint8",
    "ushort": "uint16",
    "uint": "uint32",
    "ulong": "L",
    "cuFloatComplex": "complex64",
    "cuComplex": "complex64",
    "cuDoubleComplex": "complex128",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
# CUDA's vector types by the name before their length: an array of float4 is an array of float32, four at a time.
_VECTORS = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "l",
    "ulong": "L",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
}
_VECTOR = re.compile(r"([a-z_]+)([1-4])(?:_16a|_32a)?")
_COMPLEX = re.compile(r"(?:\w*::)*complex<(float|double)>")


def scalar(cpp: str) -> np.dtype | None:
    """The dtype of a C++ arithmetic type ("const unsigned int" -> uint32); None for any other type."""
    words = [word for word in re.findall(r"\w+|::|\S", cpp) if word not in ("const", "volatile")]
    if found := _COMPLEX.fullmatch("".join(words)):
        return np.dtype({"float": "complex64", "double": "complex128"}[found[1]])
    words = [word for word in words if word not in ("std", "::")]
    if words and set(words) <= {"unsigned", "signed", "int", "long", "short", "char"}:
        words = _plain(words)
    name = _SCALARS.get(" ".join(words))
    return np.dtype(name) if name else None


def _plain(words: list[str]) -> list[str]:
    """Integer types in any order of their words: "long unsigned int" -> "unsigned long"."""
    kind = [word for word in words if word in ("char", "short", "long")] or ["int"]
    sign = ["unsigned"] if "unsigned" in words else ["signed"] if kind == ["char"] and "signed" in words else []
    return ["unsigned"] if sign == ["unsigned"] and kind == ["int"] else [*sign, *kind]


def element(cpp: str) -> tuple[np.dtype, int] | None:
    """What a pointer type points to, as (dtype, how many of it): ("float*" -> float32, 1; "float4*" -> float32, 4).

    None for pointers to void, structures, template parameters and pointers, whose elements only the kernel knows.
    """
    pointed, star, rest = cpp.rpartition("*")
    if not star or "*" in pointed or (set(rest.split()) - {"const", "__restrict__"}):
        return None
    plain = scalar(pointed)
    if plain is not None:
        return plain, 1
    vector = _VECTOR.fullmatch("".join(word for word in pointed.split() if word not in ("const", "volatile", "struct")))
    if vector is None or vector[1] not in _VECTORS:
        return None
    return np.dtype(_VECTORS[vector[1]]), int(vector[2])
