"""What a function of the kernel language is to the front end: a name, and rules its argument types choose from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.types import Rule

Resolver = Callable[[tuple[np.dtype, ...], tuple[object | None, ...]], Rule | None]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a kernel may call on scalars. `name` is its dotted name, `signature` says what it takes."""

    name: str
    signature: str
    resolver: Resolver

    def resolve(self, args: tuple[np.dtype, ...], constants: Sequence[object | None] | None = None) -> Rule | None:
        """The rule for these argument types; None when the function does not take them.

        `constants` holds the value of each argument that is a constant in the source, None for the others.
        """
        if not all(arg in types.TYPES for arg in args):
            return None
        return self.resolver(tuple(args), tuple(constants) if constants else (None,) * len(args))


def rules(name: str, choices: Iterable[Rule]) -> Function:
    """A function with a fixed list of signatures, of which the best fit is taken as numba does."""
    choices = tuple(choices)
    shown = dict.fromkeys(", ".join(t.name for t in rule.operands) for rule in choices)
    signature = " or ".join(f"{name}({operands})" for operands in shown)
    return Function(name, signature, lambda args, constants: types.choose(choices, args))


def typed(name: str, signature: str, by_types: Callable[..., Rule | None], arity: int | tuple[int, ...]) -> Function:
    """A function whose rule is computed from the argument types alone; `arity` lists the argument counts it takes."""
    counts = (arity,) if isinstance(arity, int) else arity
    return Function(name, signature, lambda args, constants: by_types(*args) if len(args) in counts else None)


_LETTERS = {
    "?": types.BOOL, "b": types.INT8, "h": types.INT16, "i": types.INT32, "l": types.INT64,
    "B": types.UINT8, "H": types.UINT16, "I": types.UINT32, "L": types.UINT64,
    "e": types.FLOAT16, "f": types.FLOAT32, "d": types.FLOAT64, "F": types.COMPLEX64, "D": types.COMPLEX128,
}  # fmt: skip


def rule(form: str, code: str | Callable, check: str | None = None) -> Rule:
    """A rule from type letters: "dd>d" takes two float64 and gives one, "f>fi" gives a float32 and an int32."""
    operands, results = form.split(">")
    return Rule(tuple(_LETTERS[c] for c in operands), tuple(_LETTERS[c] for c in results), code, check)


def elementwise(function: Callable[..., float]) -> Callable:
    """A function on Python floats made to take NumPy scalars and 1-D arrays; the type is that of the operand."""

    def apply(x):
        if isinstance(x, np.ndarray):
            return np.fromiter(map(function, x.tolist()), x.dtype, x.size)
        return x.dtype.type(function(float(x)))

    return apply


def gamma(x: float) -> float:
    """math.gamma, but where that raises: infinite at 0 and beyond the range, NaN at the other poles."""
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def lgamma(x: float) -> float:
    """math.lgamma, infinite at the poles and beyond the range instead of raising."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf
