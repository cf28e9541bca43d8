"""Conversion between types: cvt and cvt.pack.

    integer to integer      all widths; .sat clamps
    integer to float        .rn .rz .rm .rp, .sat; to f16, bf16, f32, f64
    float to integer        .rni .rzi .rmi .rpi, .ftz; saturating
    float to float          .rn .rz .rm .rp, the integer roundings, .ftz .sat .relu .satfinite
    two f32 to a pair       f16x2, bf16x2 (.rn .rz .relu .satfinite), e4m3x2, e5m2x2 (.rn .satfinite .relu)
    pairs to pairs          e4m3x2, e5m2x2 from and to f16x2, bf16x2
    f32 to tf32             .rna .rn .rz .relu .satfinite
    cvt.pack.sat            two s32 to u16 s16 u8 s8 u4 s4 u2 s2

Converted to an integer, NaN gives 0, or, where the source is f64 or the result has 64 bits, the integer whose only bit
is the highest one. A NaN that stays one has the bits of NumPy's cast in cvt.rn.f16, f32 and f64, those of the GPU in
pairs, bf16 and halves made with other modifiers. Not here: stochastic rounding (.rs), formats of 4 and 6 bits, scale
factors.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic import eights, floats
from gpukit.machine.arithmetic.casts import float_to_int
from gpukit.machine.arithmetic.halves import BF16, BITS, F16, FLOAT16, FLOAT32, FLOAT64, PAIR, Half, cast, join, split
from gpukit.machine.frontends.ptx.instructions.forms import known, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import TYPES, Instruction

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
HALVES: dict[str, Half] = {"f16": F16, "bf16": BF16}
PAIRS: dict[str, Half] = {"f16x2": F16, "bf16x2": BF16}
EIGHTS = {"e4m3x2": "e4m3", "e5m2x2": "e5m2"}

ROUNDINGS = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
TO_INTEGER: dict[str, np.ufunc] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
Code = str | Callable


@instruction("cvt")
def convert(out: Emitter, inst: Instruction) -> None:
    if inst.has("pack"):
        pack(out, inst)
        return
    known(out, inst, *ROUNDINGS, *TO_INTEGER, "rna", "ftz", "sat", "relu", "satfinite")
    modifiers = tuple(modifier for modifier in inst.modifiers if modifier not in TYPES)
    code = conversion(*inst.types, modifiers) if len(inst.types) == 2 else None
    if code is None:
        out.refuse(f"`{inst.name}`")
    result, source = inst.types
    two = source == "f32" and (result in PAIRS or result in EIGHTS)
    target, *sources = operands(out, inst, 3 if two else 2)
    dtype = TYPES[source]
    out.alu(target, TYPES[result], code, *(out.read(operand, dtype) for operand in sources))


@cache
def conversion(result: str, source: str, modifiers: tuple[str, ...] = ()) -> Code | None:
    """What cvt computes, over values in the dtypes that hold the two types: a template or a function; None if there is
    no such instruction here."""
    if result in INTEGERS and source in INTEGERS:
        return _integer_to_integer(TYPES[result], TYPES[source], modifiers)
    if result in INTEGERS and source in FLOATS:
        return _float_to_integer(TYPES[result], source, modifiers)
    if result in HALVES and (source in INTEGERS or source in FLOATS):
        return _to_half(result, source, modifiers)
    if result in ("f32", "f64") and (source in INTEGERS or source in FLOATS):
        return _to_float(TYPES[result], source, modifiers)
    if result == "tf32" and source == "f32":
        return _to_tf32(modifiers)
    return _to_pair(result, source, modifiers)


# --- integers ------------------------------------------------------------------------------------------------------


def _astype(dtype: np.dtype) -> str:
    return f"{{0}}.astype('{dtype.str[1:]}')"


def _integer_to_integer(result: np.dtype, source: np.dtype, modifiers: tuple[str, ...]) -> Code | None:
    if modifiers not in ((), ("sat",)):
        return None
    have, want = np.iinfo(source), np.iinfo(result)
    value = "{0}"
    if modifiers and want.min > have.min:
        value = f"np.maximum({value}, np.{source.name}({want.min}))"
    if modifiers and want.max < have.max:
        value = f"np.minimum({value}, np.{source.name}({want.max}))"
    return value if result == source else _astype(result).format(value)


def _float_to_integer(result: np.dtype, source: str, modifiers: tuple[str, ...]) -> Code | None:
    mode = _mode(modifiers, TO_INTEGER)
    if mode is None or not set(modifiers) <= {mode, "ftz", "sat"}:
        return None
    dtype = FLOAT32 if source == "bf16" else TYPES[source]
    to_integer = None if mode == "rzi" and dtype != FLOAT16 else TO_INTEGER[mode]
    code = float_to_int(dtype, result, to_integer)
    if result.itemsize == 1 and dtype != FLOAT16:
        code = _float_to_byte(result, dtype, TO_INTEGER[mode])
    if source == "bf16":
        return lambda x: code(BF16.widen(x))
    # A subnormal number is only no zero to the two that round away from zero.
    ftz = "ftz" in modifiers and dtype == FLOAT32 and mode in ("rmi", "rpi")
    return (lambda x: code(floats.flush(x))) if ftz else code


def _float_to_byte(result: np.dtype, source: np.dtype, to_integer: np.ufunc) -> Callable:
    """Saturating at the limits of the byte, where float_to_int follows compilers, which go by way of 16 bits."""
    limits = np.iinfo(result)
    low, high = source.type(limits.min), source.type(limits.max)
    nan = result.type(1) << result.type(7) if source == FLOAT64 else result.type(0)

    def code(x):
        value = np.minimum(np.maximum(to_integer(x), low), high)
        return np.where(np.isnan(x), nan, value.astype(np.int16).astype(result))[()]

    return code


@cache
def _packing(bits: int, signed: bool, third: bool) -> Callable:
    """(a, b[, c]) -> a and b (int32) clamped to small integers of so many bits, side by side, b lowest, below c."""
    low = -(1 << bits - 1) if signed else 0
    high = low + (1 << bits) - 1
    mask = PAIR.type((1 << bits) - 1)

    def clamped(x):
        return np.minimum(np.maximum(x, np.int32(low)), np.int32(high)).view(PAIR) & mask

    def code(a, b, *c):
        packed = clamped(a) << PAIR.type(bits) | clamped(b)
        return c[0] << PAIR.type(2 * bits) | packed if third else packed

    return code


PACKED = {f"{sign}{bits}": (bits, sign == "s") for sign in "us" for bits in (16, 8, 4, 2)}


def pack(out: Emitter, inst: Instruction) -> None:
    """cvt.pack.sat.type.s32[.b32] d, a, b[, c]: c is there for types of fewer than 16 bits, and is shifted up."""
    kind = inst.modifiers[2] if len(inst.modifiers) > 2 else ""
    bits, signed = PACKED.get(kind, (0, False))
    third = bits < 16
    if not bits or inst.modifiers != ("pack", "sat", kind, "s32", *(("b32",) if third else ())):
        out.refuse(f"`{inst.name}`")
    target, a, b, *c = operands(out, inst, 4 if third else 3)
    sources = [out.read(operand, TYPES["s32"]) for operand in (a, b)] + [out.read(operand, PAIR) for operand in c]
    out.alu(target, PAIR, _packing(bits, signed, third), *sources)


# --- floats --------------------------------------------------------------------------------------------------------


def _mode(modifiers: tuple[str, ...], modes: Container[str]) -> str | None:
    """The one rounding mode of these among the modifiers."""
    found = [modifier for modifier in modifiers if modifier in modes]
    return found[0] if len(found) == 1 else None


def _prepared(source: str, modifiers: tuple[str, ...]) -> Callable | None:
    """The source as a float that NumPy knows, flushed and rounded to an integer as the modifiers say; None if there is
    nothing to do."""
    steps: list[Callable] = [BF16.widen] if source == "bf16" else []
    if "ftz" in modifiers and source == "f32":
        steps.append(floats.flush)
    mode = _mode(modifiers, TO_INTEGER)
    if mode is not None:
        steps.append(TO_INTEGER[mode])
    return _chain(steps) if steps else None


def _chain(steps: list[Callable]) -> Callable:
    def code(x):
        for step in steps:
            x = step(x)
        return x

    return steps[0] if len(steps) == 1 else code


def _valid(result: str, source: str, modifiers: tuple[str, ...], *extra: str) -> bool:
    """Whether a conversion to a float may have these modifiers: at most one rounding, one to an integer only between
    floats of one type, and one of the other kind where the result may not hold the source."""
    modes = [modifier for modifier in modifiers if modifier in ROUNDINGS or modifier in TO_INTEGER]
    others = {modifier for modifier in modifiers if modifier not in modes}
    if len(modes) > 1 or not others <= {"ftz", "sat", *extra}:
        return False
    if modes and modes[0] in TO_INTEGER:
        return result == source
    exact = result == source or (source in FLOATS and TYPES[result].itemsize > TYPES[source].itemsize)
    return exact or bool(modes)


def _to_float(result: np.dtype, source: str, modifiers: tuple[str, ...]) -> Code | None:
    if not _valid("f32" if result == FLOAT32 else "f64", source, modifiers):
        return None
    mode = ROUNDINGS[_mode(modifiers, ROUNDINGS) or "rn"]
    prepared = _prepared(source, modifiers)
    have = FLOAT32 if source == "bf16" else TYPES[source]
    # From the other types no subnormal float32 comes.
    flush = "ftz" in modifiers and result == FLOAT32 and source in ("f64", "bf16")
    if prepared is None and not flush and "sat" not in modifiers and mode == "rn":
        return "{0}" if have == result else _astype(result)
    steps = [prepared] if prepared is not None else []
    if have != result:
        steps.append(lambda x: cast(x, result, mode))
    steps += [floats.flush] if flush else []
    steps += [floats.saturate] if "sat" in modifiers else []
    return _chain(steps)


def _to_half(result: str, source: str, modifiers: tuple[str, ...]) -> Code | None:
    if not _valid(result, source, modifiers, "relu", "satfinite"):
        return None
    if result == "f16" and modifiers == ("rn",) and source != "bf16":
        return _astype(FLOAT16)
    if result == source and not modifiers:
        return "{0}"
    bits = _half_bits(HALVES[result], source, modifiers)
    return (lambda x: bits(x).view(FLOAT16)) if result == "f16" else bits


def _half_bits(half: Half, source: str, modifiers: tuple[str, ...]) -> Callable:
    """A conversion to the bits of a half."""
    prepared, mode = _prepared(source, modifiers), ROUNDINGS[_mode(modifiers, ROUNDINGS) or "rn"]
    steps = [prepared] if prepared is not None else []
    steps.append(lambda x: half.rounded(x, mode))
    steps += [half.saturated] if "sat" in modifiers else []
    steps += [half.finite] if "satfinite" in modifiers else []
    steps += [half.relu] if "relu" in modifiers else []
    return _chain(steps)


def _to_tf32(modifiers: tuple[str, ...]) -> Callable | None:
    """float32 with the last 13 bits 0. Rounding "rna" is to nearest, ties away from zero; it leaves the upper bits of
    a NaN alone."""
    mode = _mode(modifiers, ("rna", "rn", "rz"))
    if mode is None or not set(modifiers) <= {mode, "relu", "satfinite"}:
        return None
    kept = PAIR.type(0xFFFFE000)

    def code(x):
        bits = x.view(PAIR)
        half = PAIR.type({"rna": 0x1000, "rn": 0x0FFF, "rz": 0}[mode])
        up = half + (bits >> PAIR.type(13) & PAIR.type(1)) if mode == "rn" else half
        finite = np.isfinite(x)
        rounded = np.where(finite, bits + up, bits)[()] & kept
        if mode != "rna":
            rounded = np.where(np.isnan(x), PAIR.type(0x7FFFE000), rounded)[()]
        if "satfinite" in modifiers:
            infinite = (rounded & PAIR.type(0x7FFFFFFF)) == PAIR.type(0x7F800000)
            rounded = rounded - infinite * PAIR.type(0x2000)
        if "relu" in modifiers:
            rounded = np.where(np.signbit(x) & ~np.isnan(x), PAIR.type(0), rounded)[()]
        return rounded

    return code


# --- pairs ---------------------------------------------------------------------------------------------------------


def _to_pair(result: str, source: str, modifiers: tuple[str, ...]) -> Callable | None:
    """Of two f32, a becomes the upper and b the lower half of the result."""
    plain = set(modifiers) - {"relu"}
    if source == "f32" and result in PAIRS and plain - {"satfinite"} in ({"rn"}, {"rz"}):
        bits = _half_bits(PAIRS[result], source, modifiers)
        return lambda a, b: join(bits(a), bits(b))
    if result in EIGHTS and source in ("f32", *PAIRS) and plain == {"rn", "satfinite"}:
        return _to_eights(EIGHTS[result], source, "relu" in modifiers)
    if result in PAIRS and source in EIGHTS and plain == {"rn"}:
        return _from_eights(PAIRS[result], EIGHTS[source], "relu" in modifiers)
    return None


def _to_eights(name: str, source: str, relu: bool) -> Callable:
    def joined(high, low):
        return (high.astype(BITS) << BITS.type(8)) | low

    if source == "f32":
        return lambda a, b: joined(*(eights.encode_float32(name, x, relu) for x in (a, b)))
    if source == "bf16x2":
        return lambda pair: joined(*(eights.encode_float32(name, BF16.widen(x), relu) for x in split(pair)))
    return lambda pair: joined(*(eights.encode(name, x, relu) for x in split(pair)))


def _from_eights(half: Half, name: str, relu: bool) -> Callable:
    table = half.rounded(eights.numbers(name))
    table = half.relu(table) if relu else table
    return lambda pair: join(table[pair >> BITS.type(8)], table[pair & BITS.type(0xFF)])
