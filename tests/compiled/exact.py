"""Binary floating-point formats with Python integers and fractions: decoding, and rounding in every direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np


@cache
def two_to(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


@dataclass(frozen=True)
class Format:
    """A format of sign, exponent and mantissa, in this order from the top."""

    name: str
    exponent: int
    mantissa: int

    @cached_property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @cached_property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @cached_property
    def infinity(self) -> int:
        return (1 << self.exponent) - 1 << self.mantissa

    @cached_property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @cached_property
    def nan(self) -> int:
        """The NaN that the GPU makes: all bits but the sign."""
        return self.sign - 1

    @cached_property
    def one(self) -> int:
        return self.bias << self.mantissa

    def is_nan(self, bits: int) -> bool:
        return bits & ~self.sign > self.infinity

    def is_finite(self, bits: int) -> bool:
        return bits & ~self.sign < self.infinity

    def value(self, bits: int) -> Fraction:
        """A finite number."""
        assert self.is_finite(bits)
        exponent, mantissa = (bits & ~self.sign) >> self.mantissa, bits & (1 << self.mantissa) - 1
        if exponent:
            mantissa |= 1 << self.mantissa
        magnitude = mantissa * two_to(max(exponent, 1) - self.bias - self.mantissa)
        return -magnitude if bits & self.sign else magnitude

    def number(self, bits: int) -> float:
        """Any number of at most 64 bits as a Python float."""
        if self.is_nan(bits):
            return math.nan
        if self.is_finite(bits):
            return math.copysign(float(self.value(bits)), -1 if bits & self.sign else 1)
        return -math.inf if bits & self.sign else math.inf

    def rounded(self, exact: Fraction, mode: str = "rn", negative_zero: bool = False) -> int:
        """The bits of an exact number rounded by rn, rz, rm or rp; an exact 0 has the sign asked for."""
        negative = exact < 0 or (exact == 0 and negative_zero)
        magnitude = abs(exact)
        smallest = 1 - self.bias
        exponent = smallest
        if magnitude:
            exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
            exponent -= magnitude < two_to(exponent)
            exponent = max(exponent, smallest)
        scaled = magnitude * two_to(self.mantissa - exponent)
        whole = to_integer(scaled, {"rm": "rp", "rp": "rm"}.get(mode, mode) if negative else mode)
        # Counting up the integer carries from the mantissa into the exponent, up to infinity.
        code = whole + (max(exponent - smallest, 0) << self.mantissa)
        if code >= self.infinity:
            away = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
            code = self.infinity if away else self.infinity - 1
        return code | (self.sign if negative else 0)


F16, BF16 = Format("f16", 5, 10), Format("bf16", 8, 7)
F32, F64 = Format("f32", 8, 23), Format("f64", 11, 52)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def to_integer(exact: Fraction, mode: str) -> int:
    """Rounded to an integer; rn goes to the even one of two that are equally near."""
    floor = exact.numerator // exact.denominator
    if floor == exact:
        return floor
    if mode == "rz":
        return floor + (exact < 0)
    if mode == "rn":
        half = exact - floor - Fraction(1, 2)
        return floor + (half > 0 or (half == 0 and floor % 2 == 1))
    return floor + (mode == "rp")


def edges(f: Format) -> list[int]:
    """Bits of the numbers where things go wrong, of both signs."""
    some = [0, 1, 2, (1 << f.mantissa) - 1, 1 << f.mantissa, (1 << f.mantissa) + 1]  # around the least normal number
    some += [
        f.one - 1,
        f.one,
        f.one + 1,
        f.one - (1 << f.mantissa),
        f.one + (1 << f.mantissa),
        f.one + (3 << f.mantissa - 1),
    ]
    some += [f.infinity - 1, f.infinity - 2, f.infinity, f.infinity + 1, f.nan, f.nan ^ 1 << f.mantissa - 1]
    return [bits | sign for bits in some for sign in (0, f.sign)]


def operands(f: Format, count: int, seed: int, arity: int = 1) -> list[tuple[int, ...]]:
    """Rows of bits, edges against edges first, then random: some of any size, some of which many are near each
    other."""
    rng, some = np.random.default_rng(seed), edges(f)
    rows = [tuple(some[rng.integers(len(some))] for _ in range(arity)) for _ in range(count // 2)]
    while len(rows) < count:
        near = int(rng.integers(1, (1 << f.exponent) - 1))
        row = []
        for _ in range(arity):
            exponent = min(max(near + int(rng.integers(-4, 5)), 0), (1 << f.exponent) - 1) if len(rows) % 2 else None
            bits = int(rng.integers(0, 1 << f.bits, dtype=np.uint64))
            if exponent is not None:
                bits = bits & ~f.infinity | exponent << f.mantissa
            row.append(bits)
        rows.append(tuple(row))
    return rows


def flushed(f: Format, bits: int) -> int:
    """A subnormal number becomes a zero of its sign."""
    return bits & f.sign if bits & f.infinity == 0 else bits


def sum_of_product(f: Format, x: int, y: int, z: int) -> int:
    """x * y + z rounded once to nearest even."""
    if not all(f.is_finite(bits) for bits in (x, y, z)):
        special = f.number(x) * f.number(y) + f.number(z)
        return f.nan if math.isnan(special) else f.infinity | (f.sign if special < 0 else 0)
    both_negative = bool((x ^ y) & f.sign) and bool(z & f.sign)
    return f.rounded(f.value(x) * f.value(y) + f.value(z), "rn", both_negative)
