"""Every instruction form of the PTX front end, on a GPU and on the CPU machine, over random and edge operands.

    python data/probes/ptx_instructions.py --out OUT.json [--only TEXT] [--machine]

Each form is a few lines of PTX that both sides run unchanged, one thread per element. The record says for each how many
results differ and by how much: none may, except for the approximate functions, whose error is the hardware's own.
`--machine` runs the CPU machine alone (does every form lower and run?). The GPU side needs CuPy.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import pathlib
import platform
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from compiled.snippet import module_text, run  # noqa: E402

from gpukit.machine.frontends.ptx.syntax import TYPES  # noqa: E402

N = 1024
INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
ROUNDINGS = ("rn", "rz", "rm", "rp")

Form = tuple[str, dict[str, str], dict[str, str], str]  # body, inputs, outputs, declarations


def forms() -> dict[str, Form]:
    """name -> a form."""
    found: dict[str, Form] = {}

    def add(body: str, result: str, *inputs: str, declare: str = "", name: str = "") -> None:
        registers = dict(zip(("%a", "%b", "%c", "%e"), inputs, strict=False))
        found[name or body.replace("%", "").rstrip(";")] = body, registers, {"%d": result}, declare

    for t in INTEGERS:
        bits = int(t[1:])
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            add(f"{op}.{t} %d, %a, %b;", t, t, t)
        for op in ("div", "rem"):
            add(f"{op}.{t} %d, %a, %b;", t, t, f"nonzero {t}")
        for op in ("mad.lo", "mad.hi"):
            add(f"{op}.{t} %d, %a, %b, %c;", t, t, t, t)
        add(f"sad.{t} %d, %a, %b, %c;", t, t, t, t)
        if t[0] == "s":
            for op in ("abs", "neg"):
                add(f"{op}.{t} %d, %a;", t, t)
        if bits < 64:
            wide = f"{t[0]}{2 * bits}"
            add(f"mul.wide.{t} %d, %a, %b;", wide, t, t)
            add(f"mad.wide.{t} %d, %a, %b, %c;", wide, t, t, wide)
        add(f"shr.{t} %d, %a, %b;", t, t, "shift")
        for c in COMPARISONS:
            add(f"setp.{c}.{t} %d, %a, %b;", "pred", t, t)
        add(f"set.lt.u32.{t} %d, %a, %b;", "u32", t, t)
        add(f"slct.{t}.s32 %d, %a, %b, %c;", t, t, t, "s32")
    for t in ("u32", "u64"):
        for c in ("lo", "ls", "hi", "hs"):
            add(f"setp.{c}.{t} %d, %a, %b;", "pred", t, t)
    for t in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            add(f"{op}.{t} %d, %a, %b;", t, t, t)
        for op in ("not", "cnot"):
            add(f"{op}.{t} %d, %a;", t, t)
        add(f"shl.{t} %d, %a, %b;", t, t, "shift")
        add(f"selp.{t} %d, %a, %b, %c;", t, t, t, "pred")
    for op in ("and", "or", "xor"):
        add(f"{op}.pred %d, %a, %b;", "pred", "pred", "pred")
    add("not.pred %d, %a;", "pred", "pred")
    add("setp.lt.and.s32 %d, %a, %b, %c;", "pred", "s32", "s32", "pred")
    add("setp.lt.or.s32 %p|%d, %a, %b, !%c;", "pred", "s32", "s32", "pred", declare=".reg .pred %p;")
    for op in ("add", "sub"):
        add(f"{op}.sat.s32 %d, %a, %b;", "s32", "s32", "s32")
    add("mad.hi.sat.s32 %d, %a, %b, %c;", "s32", "s32", "s32", "s32")
    for t in ("s32", "u32"):
        for part in ("lo", "hi"):
            add(f"mul24.{part}.{t} %d, %a, %b;", t, f"small24 {t}", f"small24 {t}")
            add(f"mad24.{part}.{t} %d, %a, %b, %c;", t, f"small24 {t}", f"small24 {t}", t)
    for way in ("l", "r"):
        for how in ("wrap", "clamp"):
            add(f"shf.{way}.{how}.b32 %d, %a, %b, %c;", "b32", "b32", "b32", "shift")
    for table in (0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x00, 0xFF, 0x3C, 0xD4):
        add(f"lop3.b32 %d, %a, %b, %c, {table};", "b32", "b32", "b32", "b32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        add(f"prmt.b32{mode} %d, %a, %b, %c;", "b32", "b32", "b32", "b32" if not mode else "small2")
    for t in ("s32", "u32", "s64", "u64"):
        add(f"bfe.{t} %d, %a, %b, %c;", t, t, "byte", "byte")
        add(f"bfind.{t} %d, %a;", "u32", t)
        add(f"bfind.shiftamt.{t} %d, %a;", "u32", t)
    for t in ("b32", "b64"):
        add(f"bfi.{t} %d, %a, %b, %c, %e;", t, t, t, "byte", "byte")
        add(f"brev.{t} %d, %a;", t, t)
        add(f"clz.{t} %d, %a;", "u32", t)
        add(f"popc.{t} %d, %a;", "u32", t)
    add("fns.b32 %d, %a, %b, %c;", "b32", "b32", "lane", "near")
    for how in ("clamp", "wrap"):
        add(f"bmsk.{how}.b32 %d, %a, %b;", "b32", "byte", "byte")
        for t in ("s32", "u32"):
            add(f"szext.{how}.{t} %d, %a, %b;", t, t, "byte")
    for a in ("s32", "u32"):
        for b in ("s32", "u32"):
            result = "u32" if a == b == "u32" else "s32"
            add(f"dp4a.{a}.{b} %d, %a, %b, %c;", result, "b32", "b32", result)
            for part in ("lo", "hi"):
                add(f"dp2a.{part}.{a}.{b} %d, %a, %b, %c;", result, "b32", "b32", result)
    for t in ("s16x2", "u16x2"):
        for op in ("add", "min", "max"):
            add(f"{op}.{t} %d, %a, %b;", t, t, t)
    for op in ("min", "max"):
        add(f"{op}.relu.s32 %d, %a, %b;", "s32", "s32", "s32")
        add(f"{op}.relu.s16x2 %d, %a, %b;", "s16x2", "s16x2", "s16x2")
    chain = "add.cc.u32 %x, %a, %b; addc.cc.u32 %y, %b, %c; addc.u32 %d, %x, %y;"
    add(chain, "u32", "u32", "u32", "u32", declare=".reg .b32 %x, %y;", name="add.cc, addc.cc, addc")
    chain = "sub.cc.u32 %x, %a, %b; subc.cc.u32 %y, %b, %c; subc.u32 %d, %x, %y;"
    add(chain, "u32", "u32", "u32", "u32", declare=".reg .b32 %x, %y;", name="sub.cc, subc.cc, subc")
    chain = "mad.lo.cc.u32 %x, %a, %b, %c; madc.hi.cc.u32 %y, %a, %b, %x; addc.u32 %d, %y, 0;"
    add(chain, "u32", "u32", "u32", "u32", declare=".reg .b32 %x, %y;", name="mad.lo.cc, madc.hi.cc, addc")

    for t in ("f32", "f64"):
        flush = ("", ".ftz") if t == "f32" else ("",)
        for ftz in flush:
            for mode in ROUNDINGS:
                for op in ("add", "sub", "mul", "div"):
                    add(f"{op}.{mode}{ftz}.{t} %d, %a, %b;", t, t, t)
                add(f"fma.{mode}{ftz}.{t} %d, %a, %b, %c;", t, t, t, t)
                for op in ("rcp", "sqrt"):
                    add(f"{op}.{mode}{ftz}.{t} %d, %a;", t, t)
            for op in ("abs", "neg"):
                add(f"{op}{ftz}.{t} %d, %a;", t, t)
            for op in ("min", "max"):
                add(f"{op}{ftz}.{t} %d, %a, %b;", t, t, t)
            for c in (*COMPARISONS, *UNORDERED):
                add(f"setp.{c}{ftz}.{t} %d, %a, %b;", "pred", t, t)
        add(f"copysign.{t} %d, %a, %b;", t, t, t)
        for what in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            add(f"testp.{what}.{t} %d, %a;", "pred", t)
    for ftz in ("", ".ftz"):
        for op in ("add", "sub", "mul"):
            add(f"{op}.rn{ftz}.sat.f32 %d, %a, %b;", "f32", "f32", "f32")
        add(f"fma.rn{ftz}.sat.f32 %d, %a, %b, %c;", "f32", "f32", "f32", "f32")
        for op in ("min", "max"):
            add(f"{op}{ftz}.NaN.f32 %d, %a, %b;", "f32", "f32", "f32")
            add(f"{op}{ftz}.NaN.xorsign.abs.f32 %d, %a, %b;", "f32", "f32", "f32")
            add(f"{op}{ftz}.xorsign.abs.f32 %d, %a, %b;", "f32", "f32", "f32")
        for op in ("ex2", "lg2", "sin", "cos", "sqrt", "rsqrt", "rcp"):
            add(f"{op}.approx{ftz}.f32 %d, %a;", "f32", "f32")
        for how in ("approx", "full"):
            add(f"div.{how}{ftz}.f32 %d, %a, %b;", "f32", "f32", "f32")
        add(f"set.lt{ftz}.f32.f32 %d, %a, %b;", "f32", "f32", "f32")
    add("tanh.approx.f32 %d, %a;", "f32", "f32")
    add("rcp.approx.ftz.f64 %d, %a;", "f64", "f64")
    add("rsqrt.approx.f64 %d, %a;", "f64", "f64")

    for t in ("f16", "f16x2"):
        for extra in ("", ".ftz", ".sat"):
            for op in ("add", "sub", "mul"):
                add(f"{op}.rn{extra}.{t} %d, %a, %b;", t, t, t)
            add(f"fma.rn{extra}.{t} %d, %a, %b, %c;", t, t, t, t)
        for extra in ("", ".ftz"):
            for op in ("abs", "neg"):
                add(f"{op}{extra}.{t} %d, %a;", t, t)
            for op in ("min", "max"):
                add(f"{op}{extra}.{t} %d, %a, %b;", t, t, t)
        for op in ("min", "max"):
            add(f"{op}.NaN.{t} %d, %a, %b;", t, t, t)
        add(f"fma.rn.relu.{t} %d, %a, %b, %c;", t, t, t, t)
        for op in ("ex2", "tanh"):
            add(f"{op}.approx.{t} %d, %a;", t, t)
    for c in (*COMPARISONS, *UNORDERED):
        add(f"setp.{c}.f16 %d, %a, %b;", "pred", "f16", "f16")
        add(f"setp.{c}.bf16 %d, %a, %b;", "pred", "bf16", "bf16")
        add(f"set.{c}.f16x2.f16x2 %d, %a, %b;", "f16x2", "f16x2", "f16x2")
        add(f"set.{c}.bf16x2.bf16x2 %d, %a, %b;", "bf16x2", "bf16x2", "bf16x2")
    for t in ("bf16", "bf16x2"):
        for op in ("add", "sub", "mul"):
            add(f"{op}.rn.{t} %d, %a, %b;", t, t, t)
        add(f"fma.rn.{t} %d, %a, %b, %c;", t, t, t, t)
        add(f"fma.rn.relu.{t} %d, %a, %b, %c;", t, t, t, t)
        for op in ("abs", "neg"):
            add(f"{op}.{t} %d, %a;", t, t)
        for op in ("min", "max", "min.NaN", "max.NaN"):
            add(f"{op}.{t} %d, %a, %b;", t, t, t)
        add(f"ex2.approx.ftz.{t} %d, %a;", t, t)
        add(f"tanh.approx.{t} %d, %a;", t, t)

    integers = ("s8", "u8", *INTEGERS)
    for source in integers:
        for target in integers:
            if source != target:
                add(f"cvt.{target}.{source} %d, %a;", target, source)
                if not _holds(target, source):
                    add(f"cvt.sat.{target}.{source} %d, %a;", target, source)
        for target in ("f16", "f32", "f64"):
            for mode in ROUNDINGS:
                add(f"cvt.{mode}.{target}.{source} %d, %a;", target, source)
    for source in ("f16", "f32", "f64"):
        for target in integers:
            for mode in ("rni", "rzi", "rmi", "rpi"):
                add(f"cvt.{mode}.{target}.{source} %d, %a;", target, source)
        for mode in ("rni", "rzi", "rmi", "rpi"):
            add(f"cvt.{mode}.{source}.{source} %d, %a;", source, source)
    for mode in ROUNDINGS:
        add(f"cvt.{mode}.f32.f64 %d, %a;", "f32", "f64")
        add(f"cvt.{mode}.f16.f64 %d, %a;", "f16", "f64")
        add(f"cvt.{mode}.f16.f32 %d, %a;", "f16", "f32")
    for mode in ("rn", "rz"):
        add(f"cvt.{mode}.bf16.f32 %d, %a;", "bf16", "f32")
        add(f"cvt.{mode}.f16x2.f32 %d, %a, %b;", "f16x2", "f32", "f32")
        add(f"cvt.{mode}.bf16x2.f32 %d, %a, %b;", "bf16x2", "f32", "f32")
        add(f"cvt.{mode}.relu.f16x2.f32 %d, %a, %b;", "f16x2", "f32", "f32")
        add(f"cvt.{mode}.relu.bf16x2.f32 %d, %a, %b;", "bf16x2", "f32", "f32")
    for target, source in (("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16")):
        add(f"cvt.{target}.{source} %d, %a;", target, source)
    add("cvt.sat.f32.f32 %d, %a;", "f32", "f32")
    add("cvt.ftz.f32.f32 %d, %a;", "f32", "f32")
    add("cvt.rna.tf32.f32 %d, %a;", "b32", "f32")
    for kind in ("e4m3x2", "e5m2x2"):
        add(f"cvt.rn.satfinite.{kind}.f32 %d, %a, %b;", "b16", "f32", "f32")
        add(f"cvt.rn.satfinite.relu.{kind}.f32 %d, %a, %b;", "b16", "f32", "f32")
        add(f"cvt.rn.satfinite.{kind}.f16x2 %d, %a;", "b16", "f16x2")
        add(f"cvt.rn.f16x2.{kind} %d, %a;", "f16x2", "b16")
    for t in ("s16", "u16", "s8", "u8"):
        if t in ("s16", "u16"):
            add(f"cvt.pack.sat.{t}.s32 %d, %a, %b;", "b32", "s32", "s32")
        else:
            add(f"cvt.pack.sat.{t}.s32.b32 %d, %a, %b, %c;", "b32", "s32", "s32", "b32")
    return found


def _holds(target: str, source: str) -> bool:
    """Whether every value of one integer type is one of the other."""
    a, b = np.iinfo(TYPES[target]), np.iinfo(TYPES[source])
    return a.min <= b.min and b.max <= a.max


# --- operands ------------------------------------------------------------------------------------------------------


def operand(kind: str, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """(PTX type, N values): edges, values near them, and random ones of every magnitude, in random order."""
    match kind.split():
        case ["shift"]:
            return "u32", rng.integers(0, 80, N).astype(np.uint32)
        case ["byte"]:
            return "u32", rng.integers(0, 256, N).astype(np.uint32) % rng.choice([40, 70, 256], N).astype(np.uint32)
        case ["lane"]:
            return "u32", rng.integers(0, 32, N).astype(np.uint32)
        case ["near"]:
            return "s32", rng.integers(-20, 21, N).astype(np.int32)
        case ["small2"]:
            return "u32", rng.integers(0, 4, N).astype(np.uint32)
        case ["small24", kind]:
            return kind, (operand(kind, rng)[1] & TYPES[kind].type(0x7FFFFF)).astype(TYPES[kind])
        case ["nonzero", kind]:
            values = operand(kind, rng)[1]
            return kind, np.where(values == 0, TYPES[kind].type(3), values)
        case ["pred"]:
            return "pred", rng.integers(0, 2, N).astype(bool)
    dtype = TYPES[kind]
    bits = rng.integers(0, 256, N * dtype.itemsize, dtype=np.uint8).view(dtype)[:N].copy()
    if dtype.kind in "iu" and kind not in ("f16x2", "bf16", "bf16x2"):
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1, info.max // 2], dtype)
        small = (bits >> dtype.type(8 * dtype.itemsize - 6)).astype(dtype)
        return kind, _mix(rng, bits, small, edges)
    if kind in ("f16x2", "bf16", "bf16x2"):
        half = {"f16x2": np.uint16, "bf16": np.uint16, "bf16x2": np.uint16}[kind]
        one = 0x3C00 if kind == "f16x2" else 0x3F80
        top = 0x7C00 if kind == "f16x2" else 0x7F80
        edges = np.array([0, 0x8000, 1, 0x8001, one, one | 0x8000, top, top | 0x8000, top - 1, top + 1, 0x7FFF], half)
        moderate = (one - 0x400 + rng.integers(0, 0x800, N * 2)).astype(half)
        count = dtype.itemsize // 2 * N
        halves = _mix(rng, bits.view(half), moderate[:count], edges)
        return kind, halves.view(dtype)[:N]
    info = np.finfo(dtype)
    edges = np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, -info.tiny,
         info.smallest_subnormal, -info.smallest_subnormal, info.eps, 1 + info.eps, 2.0**15, -(2.0**15), 65504.0]
    ).astype(dtype)  # fmt: skip
    moderate = (rng.standard_normal(N) * 10.0 ** rng.integers(-3, 4, N)).astype(dtype)
    return kind, _mix(rng, bits, moderate, edges)


def _mix(rng: np.random.Generator, wild: np.ndarray, usual: np.ndarray, edges: np.ndarray) -> np.ndarray:
    pick = rng.integers(0, 3, wild.size)
    return np.choose(pick, [wild, usual[: wild.size], rng.choice(edges, wild.size)]).astype(wild.dtype)


# --- both sides ----------------------------------------------------------------------------------------------------


def on_gpu(form: Form, inputs: dict[str, tuple[str, np.ndarray]]) -> np.ndarray:
    import cupy

    body, _, outputs, declare = form
    text = module_text(body, {name: kind for name, (kind, _) in inputs.items()}, outputs, declare)
    # A name of its own for each: CuPy remembers modules by their path.
    path = pathlib.Path(tempfile.gettempdir(), f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.ptx")
    path.write_text(text)
    kernel = cupy.RawModule(path=str(path)).get_function("snippet")
    kind = outputs["%d"]
    given = [cupy.asarray(v.astype(np.uint8) if k == "pred" else v.view(f"u{v.itemsize}")) for k, v in inputs.values()]
    out = cupy.zeros(N, np.uint8 if kind == "pred" else f"u{TYPES[kind].itemsize}")
    kernel((N // 256,), (256,), (*given, out))
    raw = out.get()
    return raw.astype(bool) if kind == "pred" else raw.view(TYPES[kind])


def difference(kind: str, gpu: np.ndarray, machine: np.ndarray) -> tuple[np.ndarray, int]:
    """(which results differ, largest distance in units of the last place where both are finite numbers). Two NaN of
    different bits are no difference: the payload is not specified."""
    if kind == "pred":
        return gpu != machine, 0
    dtype = TYPES[kind]
    raw = np.dtype(f"u{dtype.itemsize}")
    differs = gpu.view(raw) != machine.view(raw)
    parts = {"f16x2": (np.uint16, 0x7C00), "bf16x2": (np.uint16, 0x7F80), "bf16": (np.uint16, 0x7F80)}.get(kind)
    if parts:
        part, top = parts
        a, b = gpu.view(part), machine.view(part)
        both_nan = ((a & 0x7FFF) > top) & ((b & 0x7FFF) > top)
        unequal = (a != b) & ~both_nan
        steps = np.abs(_ordered(a) - _ordered(b))[unequal & ((a & 0x7FFF) < top) & ((b & 0x7FFF) < top)]
        differs = unequal.reshape(N, -1).any(axis=1)
    elif dtype.kind == "f":
        differs &= ~(np.isnan(gpu) & np.isnan(machine))
        finite = differs & np.isfinite(gpu) & np.isfinite(machine)
        a, b = gpu.view(raw)[finite].astype(object), machine.view(raw)[finite].astype(object)
        sign = 1 << (8 * dtype.itemsize - 1)
        place = [[x if x < sign else sign - x for x in side] for side in (a, b)]
        steps = np.array([abs(x - y) for x, y in zip(*place, strict=True)])
    else:
        steps = np.zeros(0)
    return differs, int(steps.max()) if len(steps) else 0


def digest(kind: str, values: np.ndarray) -> str:
    """Results as a short hash; all NaN of a type count as one."""
    bits = values.astype(np.uint8) if kind == "pred" else values.view(f"u{values.itemsize}").copy()
    top = {"f16x2": 0x7C00, "f16": 0x7C00, "bf16x2": 0x7F80, "bf16": 0x7F80}.get(kind)
    if top:
        halves = bits.view(np.uint16)
        halves[(halves & 0x7FFF) > top] = 0x7FFF
    elif kind in ("f32", "f64"):
        bits[np.isnan(values)] = ~np.zeros(1, bits.dtype)[0]
    return hashlib.sha256(bits.tobytes()).hexdigest()[:16]


def distances(kind: str, gpu: np.ndarray, machine: np.ndarray) -> dict[str, float]:
    """Largest absolute and relative distance of two results that are both finite (f16, f32 and f64 only)."""
    if TYPES[kind].kind != "f":
        return {}
    both = np.isfinite(gpu) & np.isfinite(machine)
    a, b = gpu[both].astype(np.float64), machine[both].astype(np.float64)
    absolute = np.abs(a - b)
    relative = absolute[b != 0] / np.abs(b[b != 0])
    return {
        "largest_absolute_difference": float(absolute.max(initial=0)),
        "largest_relative_difference": float(relative.max(initial=0)),
    }


def _ordered(half: np.ndarray) -> np.ndarray:
    value = half.astype(np.int64)
    return np.where(value & 0x8000, 0x8000 - value, value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--machine", action="store_true")
    options = parser.parse_args()
    record: dict = {"forms": {}, "refused": {}, "rejected_by_the_driver": {}}
    chosen = {name: form for name, form in forms().items() if options.only in name}
    for number, (name, form) in enumerate(chosen.items()):
        rng = np.random.default_rng(number)
        inputs = {register: operand(kind, rng) for register, kind in form[1].items()}
        try:
            mine = run(form[0], inputs, form[2], form[3])["%d"]
        except Exception as error:
            record["refused"][name] = f"{type(error).__name__}: {error}"
            continue
        if options.machine:
            continue
        try:
            theirs = on_gpu(form, inputs)
        except Exception as error:
            record["rejected_by_the_driver"][name] = str(error).strip().splitlines()[0][:200]
            continue
        kind = form[2]["%d"]
        differs, steps = difference(kind, theirs, mine)
        entry: dict = {"results": N, "different": int(differs.sum()), "gpu": digest(kind, theirs)}
        if differs.any():
            where = int(np.flatnonzero(differs)[0])
            entry["largest_difference_ulp"] = steps
            entry |= distances(kind, theirs, mine)
            entry["first"] = {
                "operands": [_hex(values[where]) for _, values in inputs.values()],
                "gpu": _hex(theirs[where]), "machine": _hex(mine[where]),
            }  # fmt: skip
        record["forms"][name] = entry
    unequal = {name: entry for name, entry in record["forms"].items() if entry["different"]}
    record["summary"] = {
        "forms": len(record["forms"]), "equal": len(record["forms"]) - len(unequal), "unequal": len(unequal),
        "refused": len(record["refused"]), "rejected_by_the_driver": len(record["rejected_by_the_driver"]),
    }  # fmt: skip
    if not options.machine:
        record = {"environment": environment(), **record}
    for name, entry in unequal.items():
        print(f"{name}: {entry}")
    for name, why in record["refused"].items():
        print(f"refused {name}: {why[:160]}")
    print(len(chosen), "forms:", record["summary"])
    if options.out:
        options.out.write_text(json.dumps(record, indent=1))


def _hex(value: np.generic) -> str:
    return f"{value} (0x{np.asarray(value).view(f'u{value.itemsize}')[()]:x})"


def environment() -> dict:
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    driver = pathlib.Path("/proc/driver/nvidia/version")
    return {
        "gpu": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "driver": driver.read_text().split("Module")[1].split()[0] if driver.exists() else "",
        "cuda_driver_api": cupy.cuda.runtime.driverGetVersion(),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": "python data/probes/ptx_instructions.py --out OUT.json",
    }


if __name__ == "__main__":
    main()
