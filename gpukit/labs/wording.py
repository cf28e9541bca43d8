"""How launches, calls and values are written in the labs' messages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LONGEST = 120
LONGEST_NUMBER = 400  # bits
MOST_PARTS, DEEPEST = 8, 3  # of a list that is shown


def call_text(name: str, grid: Any, block: Any, args: Mapping[str, Any], extra: tuple = ()) -> str:
    """dot[4, 128](a: float32[1000], n=1000)."""
    parts = [_argument(key, value) for key, value in args.items()] + [str(int(size)) for size in extra]
    return f"{name}[{_shape(grid)}, {_shape(block)}]({', '.join(parts)})"


def _argument(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{name}: {_kind(value)}"
    return f"{name}={value_text(value)}"


def host_call_text(function: str, args: Sequence[Any]) -> str:
    """blocks_for(1000, int32[2] [3, 4], float32[40, 13]): arrays as they are where they are short."""
    large = (isinstance(arg, np.ndarray) and arg.size > MOST_PARTS for arg in args)
    return f"{function}({', '.join(_kind(a) if big else value_text(a) for a, big in zip(args, large, strict=True))})"


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def _shape(shape: Any) -> str:
    return str(int(shape)) if isinstance(shape, int | np.integer) else f"({', '.join(str(int(s)) for s in shape)})"


def value_text(value: Any) -> str:
    """A value in few characters: 0.1 for a NumPy number, the first elements of an array."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, np.ndarray):
        shown = np.array2string(value, threshold=8, edgeitems=3, separator=", ")
        return " ".join(f"{_kind(value)} {shown}".split())[:LONGEST]
    text = _repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _repr(value: Any, depth: int = 0) -> str:
    """`repr`, for values that somebody made to be endless when they are written: numbers of more digits than Python
    prints, pairs of pairs of pairs."""
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, str | bytes):
        return repr(value[: LONGEST + 1])
    if not isinstance(value, tuple | list):
        return repr(value)
    parts = ["..."] if depth >= DEEPEST else [_repr(item, depth + 1) for item in value[:MOST_PARTS]]
    if len(value) > MOST_PARTS and depth < DEEPEST:
        parts.append("...")
    inside = ", ".join(parts)
    return f"[{inside}]" if isinstance(value, list) else f"({inside},)" if len(value) == 1 else f"({inside})"


def profile_command(file: str, kernel: str, grid: Any, block: Any, args: Mapping[str, Any], extra: tuple = ()) -> str:
    """A command that shows the same launch line by line, on an input of the same sizes."""
    words = [f"gpukit profile {shlex.quote(f'{file}:{kernel}')}", f"--grid {_axes(grid)} --block {_axes(block)}"]
    for value in (*args.values(), *extra):
        words.append(f"-a {shlex.quote(_spec(value))}")
    return " ".join(words)


def _axes(shape: Any) -> str:
    return str(int(shape)) if isinstance(shape, int | np.integer) else ",".join(str(int(s)) for s in shape)


def _spec(value: Any) -> str:
    if isinstance(value, np.ndarray):
        # Small whole numbers from 0 up are fit for data and for indices alike.
        fill = ":arange" if value.size else ""
        return f"{value.dtype}[{','.join(map(str, value.shape))}]{fill}"
    if isinstance(value, np.generic):
        return f"{value.dtype}({value.item()})"
    return str(value).lower() if isinstance(value, bool) else str(value)


def parameters(kernel: Any) -> list[str]:
    """The names of a Python kernel's parameters."""
    return [argument.arg for argument in kernel.tree.args.args]
