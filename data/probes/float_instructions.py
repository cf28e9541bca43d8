"""Every form of PTX's float instructions over chosen operands, run on a GPU: data/results/h200_float_instructions.json.

python float_instructions.py > h200_float_instructions.json     needs an NVIDIA GPU, CuPy and nvidia-smi

For each instruction the record has a checksum of its results' bytes, and for the approximate ones also the bits of some
results. `OPERANDS[type]` are the operands a, b and c, `INSTRUCTIONS` the texts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

COUNT = 16384
BITS = {"f32": "u4", "f64": "u8"}
DTYPE = {"f32": np.dtype("f4"), "f64": np.dtype("f8")}
SAMPLES = 512


def _mixed(count: int, seed: int) -> np.ndarray:
    """`count` uint64 numbers whose bits look random, the same on every computer (splitmix64)."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed << 32)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _edges(kind: str) -> np.ndarray:
    """Zeros, subnormal and smallest normal numbers, numbers near 1, ties, the largest, infinities, NaN; both signs."""
    dtype, bits = DTYPE[kind], np.dtype(BITS[kind])
    info = np.finfo(dtype)
    one, normal, top = (int(np.array(v, dtype).view(bits)) for v in (1.0, info.smallest_normal, np.inf))
    half = int(np.array(0.5, dtype).view(bits))
    positive = [0, 1, 2, 3, normal // 2, normal - 1, normal, normal + 1, half - 1, half, one - 1, one, one + 1, one + 2]
    positive += [int(np.array(v, dtype).view(bits)) for v in (1.5, 2, 3, 2.5, 10, 1 / 3, 0.1, 2.0 ** (info.nmant + 1))]
    positive += [top - 1, top - 2, top, top + (normal >> 1), (top + normal) - 1]
    positive += [int(np.array(2.0**e, dtype).view(bits)) for e in (info.maxexp - 1, info.maxexp - 2, info.minexp // 2)]
    positive += [positive[-2] + 1, positive[-2] + 3]  # their reciprocals are next to the smallest normal number
    sign = 1 << (8 * dtype.itemsize - 1)
    return np.array(positive + [p | sign for p in positive], bits).view(dtype)


def _operands(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dtype, bits = DTYPE[kind], np.dtype(BITS[kind])
    info, edges = np.finfo(dtype), _edges(kind)
    n = edges.size
    a, b, c = (_mixed(COUNT, seed).astype(bits).view(dtype) for seed in (1, 2, 3))
    with np.errstate(all="ignore"):
        # A third of the numbers close to 1, so that sums are of numbers of like size.
        near = np.arange(COUNT) % 3 == 0
        a, b, c = (np.where(near, np.ldexp(np.frexp(x)[0], (_mixed(COUNT, 9) % 12).astype(int)), x) for x in (a, b, c))
        a, b, c = (x.astype(dtype) for x in (a, b, c))
        # Addends that cancel the product, and products next to half a unit of the addend.
        place = np.arange(COUNT) % 11
        c = np.where(place == 1, -(a * b), c)
        c = np.where(place == 2, np.nextafter(-(a * b), dtype.type(0)), c)
        a = np.where(place == 3, np.spacing(np.abs(c)) / dtype.type(2) / b, a)
        b = np.where(place == 4, -a, b)
        b = np.where(place == 5, np.nextafter(a, dtype.type(0)), b)
        # Products and sums that are within rounding of the smallest normal number.
        few = (_mixed(COUNT, 8) % 1000 + 1).astype(float) * 2.0**-info.nmant
        scale, sign = 2.0 ** (info.minexp // 2), np.where(_mixed(COUNT, 10) & 1, -1.0, 1.0)
        a = np.where(place == 9, scale * (1 + few), a).astype(dtype)
        b = np.where(place == 9, scale * sign * (1 - few), b).astype(dtype)
        a = np.where(place == 10, scale * sign * few, a).astype(dtype)
        b = np.where(place == 10, scale * few, b).astype(dtype)
        c = np.where(place == 10, info.smallest_normal * -sign, c).astype(dtype)
        # For functions: angles and exponents, and numbers whose logarithm is small.
        a = np.where(place == 6, ((_mixed(COUNT, 4) % 20001).astype(float) - 10000) / 1000, a).astype(dtype)
        a = np.where(place == 7, 0.5 + (_mixed(COUNT, 5) % 15001).astype(float) / 10000, a).astype(dtype)
        a = np.where(place == 8, ((_mixed(COUNT, 6) % 32001).astype(float) - 16000) / 100, a).astype(dtype)
    pairs = np.arange(n * n)
    a[: n * n], b[: n * n] = edges[pairs // n], edges[pairs % n]
    c[: n * n] = edges[_mixed(n * n, 7) % np.uint64(n)]
    return a, b, c.astype(dtype)


def _instructions() -> Iterator[tuple[str, str]]:
    """(instruction with operands, type of its result); d, a, b, c are of the instruction's type, p and q predicates."""
    for kind in ("f32", "f64"):
        ftz = ("", ".ftz") if kind == "f32" else ("",)
        sat = ("", ".sat") if kind == "f32" else ("",)
        for mode in (".rn", ".rz", ".rm", ".rp"):
            for flush in ftz:
                for clamp in sat:
                    for op in ("add", "sub", "mul"):
                        yield f"{op}{mode}{flush}{clamp}.{kind} d, a, b", kind
                    yield f"fma{mode}{flush}{clamp}.{kind} d, a, b, c", kind
                yield f"div{mode}{flush}.{kind} d, a, b", kind
                yield f"rcp{mode}{flush}.{kind} d, a", kind
                yield f"sqrt{mode}{flush}.{kind} d, a", kind
        for flush in ftz:
            yield f"neg{flush}.{kind} d, a", kind
            yield f"abs{flush}.{kind} d, a", kind
            for op in ("min", "max"):
                for form in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs") if kind == "f32" else ("",):
                    yield f"{op}{flush}{form}.{kind} d, a, b", kind
            for word in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]:
                yield f"setp.{word}{flush}.{kind} p, a, b", "pred"
        yield f"copysign.{kind} d, a, b", kind
        yield f"add.{kind} d, a, b", kind
        for test in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]:
            yield f"testp.{test}.{kind} p, a", "pred"
        for word in ("and", "or", "xor"):
            yield f"setp.lt.{word}.{kind} p|q, a, b, r", "pred"
            yield f"setp.geu.{word}.{kind} q|p, a, b, !r", "pred"
        yield f"set.le.u32.{kind} i, a, b", "u32"
        yield f"set.gtu.xor.f32.{kind} f, a, b, r", "f32"
        yield f"selp.{kind} d, a, b, r", kind
    for flush in ("", ".ftz"):
        yield f"slct{flush}.f32.f32 d, b, c, a", "f32"
        yield f"div.full{flush}.f32 d, a, b", "f32"
        yield f"div.approx{flush}.f32 d, a, b", "f32"
        for op in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"):
            yield f"{op}.approx{flush}.f32 d, a", "f32"
    yield "tanh.approx.f32 d, a", "f32"
    yield "rcp.approx.ftz.f64 d, a", "f64"
    yield "rsqrt.approx.f64 d, a", "f64"
    yield "rsqrt.approx.ftz.f64 d, a", "f64"


OPERANDS = {kind: _operands(kind) for kind in BITS}
INSTRUCTIONS = list(_instructions())


def operand_type(text: str) -> str:
    """The type of an instruction's operands, "f32" or "f64"."""
    return text.split()[0].rpartition(".")[2]


def module() -> str:
    """PTX with one kernel per instruction, k0, k1, ...: (operands, results), one thread for each of COUNT elements.

    A predicate is stored as u32; r is the lowest bit of the element's number.
    """
    text = [".version 7.8", ".target sm_86", ".address_size 64"]
    for number, (instruction, result) in enumerate(INSTRUCTIONS):
        kind = operand_type(instruction)
        size = DTYPE[kind].itemsize
        loads = [f"ld.global.{kind} {name}, [at+{k * COUNT * size}];" for k, name in enumerate("abc")]
        store = {"pred": "u32", "u32": "u32"}.get(result, result)
        value = {"pred": "i", "u32": "i"}.get(result, "f" if " f," in instruction else "d")
        text += [
            f".visible .entry k{number}(.param .u64 inputs, .param .u64 outputs) {{",
            f".reg .{kind} a, b, c, d; .reg .f32 f; .reg .pred p, q, r; .reg .u32 t, i, j; .reg .u64 at, to;",
            "mov.u32 t, %ctaid.x; mov.u32 i, %ntid.x; mul.lo.u32 t, t, i; mov.u32 i, %tid.x; add.u32 t, t, i;",
            "and.b32 i, t, 1; setp.ne.u32 r, i, 0; setp.ne.u32 p, i, i; setp.ne.u32 q, i, i;",
            f"ld.param.u64 at, [inputs]; mad.wide.u32 at, t, {size}, at;",
            f"ld.param.u64 to, [outputs]; mad.wide.u32 to, t, {DTYPE.get(result, np.dtype('u4')).itemsize}, to;",
            *loads,
            f"{instruction};",
            *(["selp.u32 i, 1, 0, p; selp.u32 j, 2, 0, q; or.b32 i, i, j;"] if result == "pred" else []),
            f"st.global.{store} [to], {value};",
            "ret; }",
        ]
    return "\n".join(text) + "\n"


def checksum(results: np.ndarray) -> int:
    """CRC-32 of the results' bytes."""
    return zlib.crc32(np.ascontiguousarray(results).tobytes())


def sampled(results: np.ndarray) -> np.ndarray:
    """Every so many of the results, SAMPLES in all."""
    return results[:: COUNT // SAMPLES]


def is_approximate(instruction: str) -> bool:
    """Whether PTX leaves the last bits open."""
    return ".approx" in instruction or ".full" in instruction


def measure() -> Iterator[tuple[str, np.ndarray]]:
    """(instruction, its COUNT results on this computer's GPU)."""
    import cupy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.ptx"
        path.write_text(module())
        code = cupy.RawModule(path=str(path))
        inputs = {kind: cupy.asarray(np.concatenate(OPERANDS[kind])) for kind in BITS}
        for number, (instruction, result) in enumerate(INSTRUCTIONS):
            results = cupy.zeros(COUNT, DTYPE.get(result, np.dtype("u4")))
            kernel = code.get_function(f"k{number}")
            kernel((COUNT // 256,), (256,), (inputs[operand_type(instruction)], results))
            yield instruction, results.get()


def record(machine: dict, measured: Iterator[tuple[str, np.ndarray]]) -> dict:
    """What the JSON file holds."""
    checksums, samples = {}, {}
    for instruction, results in measured:
        checksums[instruction] = checksum(results)
        if is_approximate(instruction):
            samples[instruction] = sampled(results).tobytes().hex()
    return {
        "machine": machine,
        "command": "python data/probes/float_instructions.py",
        "what": f"CRC-32 of the {COUNT} results of each instruction, little-endian; samples: the bytes of every "
        f"{COUNT // SAMPLES}th result of the approximate ones, in hexadecimal",
        "checksums": checksums,
        "samples": samples,
    }


def main() -> None:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    gpu, driver, capability = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split(", ")
    machine = {"gpu": gpu, "compute_capability": capability.strip(), "driver": driver, "date": str(date.today())}
    json.dump(record(machine, measure()), sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    main()
