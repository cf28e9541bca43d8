"""A hundred kernels nobody wrote: random CUDA C++ over types, operators, intrinsics and control flow.

`kernels()` gives their source, the same every time. They find out which PTX the compiler emits for all sorts of code,
and whether the CPU machine and a GPU get the same numbers out of it (data/probes/compiled_kernels.py).

Every kernel is valid and gives one answer on any machine: divisors are odd or at least 1, loops are short, barriers and
warp functions stand where all threads pass, a thread writes its own results, and atomics only do what no order changes.
Approximate functions appear in kernels of their own, whose results nothing is decided by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

THREADS, BLOCKS, N = 64, 2, 120

INT, UNSIGNED, LONG, UNSIGNED_LONG = "int", "unsigned", "long long", "unsigned long long"
FLOAT, DOUBLE = "float", "double"
HALF, HALVES, BFLOAT = "__half", "__half2", "__nv_bfloat16"
WHOLE = (INT, UNSIGNED, LONG, UNSIGNED_LONG)

# Expressions by the type of their value. A name in braces is an operand of that type: i int, u unsigned, l long long,
# w unsigned long long, f float, d double, h half, p pair of halves, b bfloat16; k is a small literal.
LETTERS = {"i": INT, "u": UNSIGNED, "l": LONG, "w": UNSIGNED_LONG, "f": FLOAT, "d": DOUBLE}
LETTERS |= {"h": HALF, "p": HALVES, "b": BFLOAT}

EXPRESSIONS: dict[str, Sequence[str]] = {
    INT: (
        "{i} + {i}", "{i} - {i}", "{i} * {i}", "{i} & {i}", "{i} | {i}", "{i} ^ {i}", "~{i}", "-{i}", "{i} << {k}",
        "{i} >> {k}", "{i} << ({i} & 31)", "{i} >> ({i} & 31)", "{i} / ({i} | 1)", "{i} % ({i} | 1)", "{i} / 7",
        "{i} % 12", "min({i}, {i})", "max({i}, {i})", "abs({i})", "{i} < {i}", "{u} >= {u}", "{l} == {l}",
        "{f} < {f}", "{d} > {d}", "{i} ? {i} : {i}", "{f} <= {f} ? {i} : {i}", "{i} && {i}", "{i} || {u}",
        "__popc({u})", "__clz({i})", "__ffs({i})", "__mulhi({i}, {i})", "__mul24({i}, {i})", "__hadd({i}, {i})",
        "__rhadd({i}, {i})", "__dp4a({i}, {i}, {i})", "__dp2a_lo({i}, {i}, {i})", "(short){i}", "(signed char){i}",
        "(unsigned char){u}", "(unsigned short){i}", "(bool){i}", "(int){u}", "(int){l}", "__float2int_rn({f})",
        "(int){f}", "__float2int_ru({f})", "__double2int_rd({d})", "(int){d}", "__popcll({w})", "__clzll({l})",
        "__ffsll({l})", "__double2hiint({d})", "isinf({f}) ? 1 : 0", "__vabsdiffs4({i}, {i})", "{i} * {i} + {i}",
    ),
    UNSIGNED: (
        "{u} + {u}", "{u} - {u}", "{u} * {u}", "{u} & {u}", "{u} | {u}", "{u} ^ {u}", "{u} << {k}", "{u} >> {k}",
        "{u} >> ({u} & 31)", "{u} / ({u} | 1u)", "{u} % ({u} | 1u)", "{u} / 10u", "{u} % 1000u", "min({u}, {u})",
        "max({u}, {u})", "__umulhi({u}, {u})", "__umul24({u}, {u})", "__brev({u})", "__byte_perm({u}, {u}, {u})",
        "__funnelshift_l({u}, {u}, {u})", "__funnelshift_r({u}, {u}, {u})", "__funnelshift_lc({u}, {u}, {u})",
        "__usad({u}, {u}, {u})", "__uhadd({u}, {u})", "__vadd2({u}, {u})", "__vsub4({u}, {u})", "__vmaxs2({u}, {u})",
        "__vcmpgtu4({u}, {u})", "__vavgu4({u}, {u})", "__float2uint_rn({f})", "(unsigned){f}", "(unsigned){d}",
        "(unsigned){l}", "(unsigned){i}", "{u} * 2654435761u + {u}", "({u} >> {k}) & 255u", "{u} ? {u} : {u}",
        "__float_as_uint(fminf(fmaxf({f}, -1e6f), 1e6f))", "__dp4a({u}, {u}, {u})", "__vabsdiffu4({u}, {u})",
    ),
    LONG: (
        "{l} + {l}", "{l} - {l}", "{l} * {l}", "{l} & {l}", "{l} ^ {l}", "~{l}", "{l} << {k}", "{l} >> {k}",
        "{l} >> ({i} & 63)", "{l} / ({l} | 1)", "{l} % ({l} | 1)", "{l} / 1000", "min({l}, {l})", "max({l}, {l})",
        "llabs({l})", "__mul64hi({l}, {l})", "(long long){i}", "(long long){u}", "(long long){f}",
        "__double2ll_rn({d})", "(long long){i} * {i}", "{l} < {l} ? {l} : {l}", "{d} < {d} ? {l} : {l}",
        "(long long){i} * {i} + {l}", "__double_as_longlong(fmin(fmax({d}, -1e9), 1e9))",
    ),
    UNSIGNED_LONG: (
        "{w} + {w}", "{w} - {w}", "{w} * {w}", "{w} | {w}", "{w} ^ {w}", "{w} << {k}", "{w} >> {k}",
        "{w} >> ({u} & 63u)", "{w} / ({w} | 1ull)", "{w} % ({w} | 1ull)", "{w} % 97ull", "min({w}, {w})",
        "__umul64hi({w}, {w})", "__brevll({w})", "(unsigned long long){u} * {u}", "(unsigned long long){d}",
        "(unsigned long long){l}", "__float2ull_rz({f})", "{w} >= {w} ? {w} : {w}",
    ),
    FLOAT: (
        "{f} + {f}", "{f} - {f}", "{f} * {f}", "{f} / {f}", "-{f}", "{f} * {f} + {f}", "fmaf({f}, {f}, {f})",
        "fabsf({f})", "sqrtf(fabsf({f}))", "fminf({f}, {f})", "fmaxf({f}, {f})", "floorf({f})", "ceilf({f})",
        "truncf({f})", "rintf({f})", "copysignf({f}, {f})", "fdimf({f}, {f})", "__saturatef({f})",
        "__fadd_rz({f}, {f})", "__fadd_rd({f}, {f})", "__fmul_ru({f}, {f})", "__fmul_rz({f}, {f})",
        "__fmaf_rd({f}, {f}, {f})", "__fmaf_rz({f}, {f}, {f})", "__fdiv_ru({f}, {f})", "__frcp_rn({f})",
        "__frcp_rd({f})", "__fsqrt_rd(fabsf({f}))", "(float){i}", "(float){u}", "(float){l}", "(float){w}",
        "__int2float_rz({i})", "__uint2float_ru({u})", "(float){d}", "__double2float_rd({d})",
        "{f} < {f} ? {f} : {f}", "{i} ? {f} : {f}", "fmodf({f}, 3.5f)", "roundf({f})", "isnan({f}) ? 0.0f : {f}",
        "{f} == {f} ? {f} : 1.0f",
    ),
    DOUBLE: (
        "{d} + {d}", "{d} - {d}", "{d} * {d}", "{d} / {d}", "{d} * {d} + {d}", "fma({d}, {d}, {d})", "fabs({d})",
        "-{d}", "sqrt(fabs({d}))", "fmin({d}, {d})", "fmax({d}, {d})", "floor({d})", "ceil({d})", "trunc({d})",
        "rint({d})", "__dadd_ru({d}, {d})", "__dmul_rz({d}, {d})", "__fma_rd({d}, {d}, {d})", "__ddiv_rz({d}, {d})",
        "__drcp_rn({d})", "__dsqrt_ru(fabs({d}))", "(double){i}", "(double){u}", "(double){l}", "(double){w}",
        "(double){f}", "__ll2double_rz({l})", "__ull2double_rd({w})", "{d} <= {d} ? {d} : {d}", "copysign({d}, {d})",
        "__hiloint2double(1071644672 + ({i} & 1048575), {i})",
    ),
    HALF: (
        "__hadd({h}, {h})", "__hsub({h}, {h})", "__hmul_rn({h}, {h})", "__hfma({h}, {h}, {h})", "__hneg({h})",
        "__habs({h})", "__hmin({h}, {h})", "__hmax({h}, {h})", "__float2half_rn({f})", "__float2half_rz({f})",
        "__int2half_rn({i} & 1023)", "__low2half({p})", "__high2half({p})", "__hlt({h}, {h}) ? {h} : {h}",
        "__hadd_sat({h}, {h})", "htrunc({h})", "hrint({h})", "__double2half({d})",
        "__ushort2half_rn((unsigned short){u})", "__hfma_relu({h}, {h}, {h})", "__hge({h}, {h}) ? {h} : {h}",
    ),
    HALVES: (
        "__hadd2({p}, {p})", "__hsub2({p}, {p})", "__hmul2_rn({p}, {p})", "__hfma2({p}, {p}, {p})", "__hneg2({p})",
        "__habs2({p})", "__hmin2({p}, {p})", "__hmax2({p}, {p})", "__halves2half2({h}, {h})",
        "__floats2half2_rn({f}, {f})", "__lowhigh2highlow({p})", "__hgt2({p}, {p})", "__hle2({p}, {p})",
        "__hfma2_sat({p}, {p}, {p})", "__half2half2({h})",
    ),
    BFLOAT: (
        "__hadd({b}, {b})", "__hsub({b}, {b})", "__hmul_rn({b}, {b})", "__hfma({b}, {b}, {b})", "__hneg({b})",
        "__habs({b})", "__hmin({b}, {b})", "__hmax({b}, {b})", "__float2bfloat16_rn({f})",
        "__float2bfloat16_rz({f})", "__double2bfloat16({d})", "__int2bfloat16_rn({i})",
        "__hgt({b}, {b}) ? {b} : {b}",
    ),
}  # fmt: skip

FROM_HALVES = ("__half2float({h})", "__low2float({p})", "__high2float({p})", "__bfloat162float({b})")

APPROXIMATE: dict[str, Sequence[str]] = {
    FLOAT: (
        "sinf({f})", "cosf({f})", "tanf({f})", "asinf(__saturatef({f}))", "atanf({f})", "atan2f({f}, {f})",
        "expf({f})", "exp2f({f})", "expm1f({f})", "logf(fabsf({f}) + 0.5f)", "log2f(fabsf({f}) + 0.5f)",
        "log1pf(fabsf({f}))", "powf(fabsf({f}) + 0.5f, {f})", "tanhf({f})", "sinhf({f})", "cbrtf({f})",
        "rsqrtf(fabsf({f}) + 0.5f)", "erff({f})", "hypotf({f}, {f})", "__sinf({f})", "__cosf({f})", "__expf({f})",
        "__logf(fabsf({f}) + 0.5f)", "__fdividef({f}, 3.0f)", "__powf(fabsf({f}) + 0.5f, 0.7f)", "sinpif({f})",
        "erfcf({f})", "lgammaf(fabsf({f}) + 1.0f)", "normcdff({f})", "0.5f * {f} + {f}", "{f} - {f}",
    ),
    DOUBLE: (
        "sin({d})", "cos({d})", "exp({d})", "log(fabs({d}) + 0.5)", "pow(fabs({d}) + 0.5, {d})", "tanh({d})",
        "atan({d})", "cbrt({d})", "erf({d})", "hypot({d}, {d})", "rsqrt(fabs({d}) + 0.5)", "log1p(fabs({d}))",
        "0.5 * {d} + {d}",
    ),
}  # fmt: skip

# Warp functions by the type of their value; all lanes of the warp take part.
WARP: dict[str, Sequence[str]] = {
    INT: (
        "__shfl_down_sync(~0u, {i}, {k})", "__shfl_xor_sync(~0u, {i}, {k})", "__any_sync(~0u, {i} > 9)",
        "__all_sync(~0u, {i} != 7)", "__reduce_add_sync(~0u, {i})", "__reduce_max_sync(~0u, {i})",
        "__shfl_sync(~0u, {i}, {i} & 31)", "__shfl_up_sync(~0u, {i}, {k}, 8)",
    ),
    UNSIGNED: (
        "__ballot_sync(~0u, {i} & 1)", "__match_any_sync(~0u, {u} & 3u)", "__reduce_min_sync(~0u, {u})",
        "__reduce_xor_sync(~0u, {u})", "__reduce_or_sync(~0u, {u})",
    ),
    LONG: ("__shfl_xor_sync(~0u, {l}, {k})",),
    UNSIGNED_LONG: ("__shfl_down_sync(~0u, {w}, 1)",),
    FLOAT: ("__shfl_up_sync(~0u, {f}, {k})", "__shfl_xor_sync(~0u, {f}, 16)", "__shfl_sync(~0u, {f}, {i} & 15, 16)"),
    DOUBLE: ("__shfl_down_sync(~0u, {d}, {k})",),
}  # fmt: skip

ATOMICS = (
    "atomicAdd(&counts[{i} & 7], 1)", "atomicMax(&counts[8], {i})", "atomicMin(&counts[9], {i})",
    "atomicOr((unsigned*)&counts[10], {u})", "atomicXor((unsigned*)&counts[11], {u})",
    "atomicAnd((unsigned*)&counts[12], {u} | 255u)", "atomicAdd((unsigned long long*)&counts[14], {w})",
    "atomicSub(&counts[13], {i})",
)  # fmt: skip

OPERATORS = dict.fromkeys(WHOLE, ("+=", "^=", "-=")) | {FLOAT: ("+=", "-="), DOUBLE: ("+=", "-=")}


@dataclass(frozen=True)
class Flavour:
    """What a kernel is made of: the types of its variables, the expressions allowed, extra statements."""

    name: str
    types: tuple[str, ...]
    approximate: bool = False
    warp: bool = False
    shared: bool = False
    atomics: bool = False
    headers: tuple[str, ...] = ()


FLAVOURS = (
    Flavour("integers", (INT, UNSIGNED)),
    Flavour("wide", WHOLE),
    Flavour("floats", (FLOAT, INT)),
    Flavour("mixed", (*WHOLE, FLOAT, DOUBLE)),
    Flavour("doubles", (DOUBLE, LONG, INT)),
    Flavour("functions", (FLOAT, DOUBLE), approximate=True),
    Flavour("warps", (INT, UNSIGNED, LONG, UNSIGNED_LONG, FLOAT, DOUBLE), warp=True),
    Flavour("tiles", (INT, FLOAT, UNSIGNED), shared=True, warp=True),
    Flavour("atomics", (INT, UNSIGNED, UNSIGNED_LONG), atomics=True, shared=True),
    Flavour("halves", (HALF, HALVES, BFLOAT, FLOAT, INT), headers=("cuda_fp16.h", "cuda_bf16.h")),
)


@dataclass(frozen=True)
class Kernel:
    """One generated kernel: `name` is its `extern "C"` name. `exact`: the same numbers, bit by bit, on any machine."""

    name: str
    flavour: str
    source: str
    exact: bool


class Writer:
    """Writes one kernel."""

    def __init__(self, seed: int, flavour: Flavour):
        self.random = Random(seed).random
        self.flavour = flavour
        self.lines: list[str] = []
        self.variables: dict[str, list[str]] = {}
        self.indent = 1
        self.loops = 0

    def number(self, below: int) -> int:
        return int(self.random() * below)

    def choice(self, items: Sequence[str]) -> str:
        return items[self.number(len(items))]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    # --- expressions ------------------------------------------------------------------------------------------------

    def expressions(self, kind: str) -> Sequence[str]:
        flavour = self.flavour
        if flavour.approximate:
            return APPROXIMATE[kind]
        found = [*EXPRESSIONS[kind]]
        if HALF in flavour.types and kind == FLOAT:
            found += FROM_HALVES * 6
        return [text for text in found if all(LETTERS[c] in flavour.types for c in self.letters(text))]

    @staticmethod
    def letters(text: str) -> set[str]:
        return {text[i + 1] for i in range(len(text)) if text[i] == "{" and text[i + 1] != "k"}

    def fill(self, text: str, depth: int) -> str:
        """The text with operands in its braces."""
        out, i = "", 0
        while i < len(text):
            if text[i] == "{":
                letter = text[i + 1]
                out += str(1 + self.number(15)) if letter == "k" else self.expression(LETTERS[letter], depth - 1)
                i += 3
            else:
                out += text[i]
                i += 1
        return out

    def expression(self, kind: str, depth: int) -> str:
        if depth <= 0 or self.random() < 0.25:
            return self.choice(self.variables[kind])
        return f"({self.fill(self.choice(self.expressions(kind)), depth)})"

    # --- statements -------------------------------------------------------------------------------------------------

    def assign(self, depth: int = 2) -> None:
        kind = self.choice(self.flavour.types)
        target = self.choice(self.variables[kind])
        operator = self.choice(OPERATORS[kind]) if kind in OPERATORS and self.random() < 0.3 else "="
        self.line(f"{target} {operator} {self.expression(kind, depth)};")

    def condition(self) -> str:
        if self.flavour.approximate:
            return f"(i + {self.number(9)}) % {2 + self.number(4)} == 0"
        kind = INT if INT in self.flavour.types else self.flavour.types[0]
        return (
            f"{self.expression(kind, 1)} {self.choice(('<', '>', '==', '!=', '<=', '>='))} {self.expression(kind, 1)}"
        )

    def block(self, many: int, level: int) -> None:
        self.indent += 1
        for _ in range(many):
            self.statement(level)
        self.indent -= 1

    def statement(self, level: int) -> None:
        """An assignment, or, at the first levels, something with statements in it."""
        draw = self.random()
        if level >= 2 or draw < 0.6:
            self.assign()
        elif draw < 0.75:
            self.line(f"if ({self.condition()}) {{")
            self.block(2, level + 1)
            if self.random() < 0.5:
                self.line("} else {")
                self.block(2, level + 1)
            self.line("}")
        elif draw < 0.87:
            self.loops += 1
            counter = f"q{self.loops}"
            rounds = self.choice(("3", "5", "i % 4", "n % 7"))
            self.line(f"for (int {counter} = 0; {counter} < {rounds}; ++{counter}) {{")
            self.block(2, level + 1)
            if self.random() < 0.4:
                leave = self.choice(("break", "continue"))
                self.line(f"    if ({self.condition()}) {leave};")
                self.block(1, level + 1)
            self.line("}")
        elif draw < 0.94:
            self.line(f"switch ((i + {self.number(5)}) % 6) {{")
            for case in range(4):
                self.line(f"    case {case}:")
                self.block(1, 2)
                if self.random() < 0.8:
                    self.line("    break;")
            self.line("    default:")
            self.block(1, 2)
            self.line("}")
        else:
            self.loops += 1
            counter = f"q{self.loops}"
            self.line(f"int {counter} = {2 + self.number(3)};")
            self.line("do {")
            self.block(2, level + 1)
            self.line(f"}} while (--{counter} > 0);")

    def warp_statement(self) -> None:
        kind = self.choice([kind for kind in self.flavour.types if kind in WARP])
        found = [text for text in WARP[kind] if all(LETTERS[c] in self.flavour.types for c in self.letters(text))]
        self.line(f"{self.choice(self.variables[kind])} = {self.fill(self.choice(found), 1)};")

    def shared_statement(self) -> None:
        kind = self.choice([kind for kind in self.flavour.types if kind in LETTERS.values()])
        array = f"s{len(self.lines)}"
        there = self.choice(("63 - t", "(t + 1) % 64", "t ^ 32", "t * 5 % 64", "t / 2", "(i * 7) % 64"))
        self.line(f"__shared__ {kind} {array}[64];")
        self.line(f"{array}[t] = {self.expression(kind, 1)};")
        self.line("__syncthreads();")
        self.line(f"{self.choice(self.variables[kind])} = {array}[{there}];")

    # --- the kernel -------------------------------------------------------------------------------------------------

    def write(self, name: str) -> str:
        flavour = self.flavour
        self.line("int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, at = i < n ? i : n - 1;")
        first = {
            INT: "a[at]", UNSIGNED: "(unsigned)a[at] * 9u", LONG: "(long long)b[at]", UNSIGNED_LONG: "b[at]",
            FLOAT: "c[at]", DOUBLE: "d[at]", HALF: "__float2half(c[at])", BFLOAT: "__float2bfloat16(c[at])",
            HALVES: "__floats2half2_rn(c[at], c[n - 1 - at])",
        }  # fmt: skip
        second = {INT: "i - 30", UNSIGNED: "77u + i", LONG: "-5ll - i", UNSIGNED_LONG: "1ull << (i & 63)",
                  FLOAT: "0.75f", DOUBLE: "-1.25"}  # fmt: skip
        for number, kind in enumerate(flavour.types):
            self.variables[kind] = [f"v{number}a", f"v{number}b"]
            other = second.get(kind, first[kind])
            self.line(f"{kind} v{number}a = {first[kind]}, v{number}b = {other};")
        for part in range(3):
            if flavour.shared:
                self.shared_statement()
            for _ in range(3):
                self.statement(0 if part else 1)
            if flavour.warp:
                self.warp_statement()
                self.warp_statement()
        self.line("if (i >= n) return;")
        if flavour.atomics:
            for _ in range(3):
                self.line(f"{self.fill(self.choice(ATOMICS), 1)};")
        self.results()
        head = "const int* a, const unsigned long long* b, const float* c, const double* d"
        outputs = "int* counts, unsigned long long* whole, double* real, int n"
        body = "\n".join(self.lines)
        return f'extern "C" __global__ void {name}({head},\n    {outputs}) {{\n{body}\n}}\n'

    def results(self) -> None:
        """Every variable goes into the thread's two results."""
        whole, real = ["0ull"], ["0.0"]
        for kind, names in self.variables.items():
            for name in names:
                if kind in WHOLE:
                    whole.append(f"(unsigned long long){name} * {3 + 2 * len(whole)}ull")
                elif kind == HALVES:
                    real += [f"(double)__low2float({name})", f"(double)__high2float({name})"]
                elif kind == HALF:
                    real.append(f"(double)__half2float({name})")
                elif kind == BFLOAT:
                    real.append(f"(double)__bfloat162float({name})")
                else:
                    real.append(f"(double){name}")
        self.line(f"whole[i] = {' ^ '.join(whole)};")
        for place, text in enumerate(real[1:]):
            self.line(f"real[{place} * n + i] = {text};")


def kernels(count: int = 100) -> list[Kernel]:
    """The first `count` kernels, flavours in turn."""
    made = []
    for number in range(count):
        flavour = FLAVOURS[number % len(FLAVOURS)]
        name = f"corpus_{number:03}_{flavour.name}"
        source = "".join(f"#include <{header}>\n" for header in flavour.headers)
        source += Writer(number, flavour).write(name)
        made.append(Kernel(name, flavour.name, source, exact=not flavour.approximate))
    return made


def arguments() -> tuple:
    """Arguments of any of the kernels, afresh: random and extreme numbers, and room for the results."""
    rng = np.random.default_rng(11)
    a = rng.integers(-(2**31), 2**31, N).astype(np.int32)
    a[::3] = rng.integers(-50, 50, a[::3].size)
    a[:5] = [0, -1, 2**31 - 1, -(2**31), 1]
    b = rng.integers(0, 2**63, N).astype(np.uint64)
    b[::3] %= np.uint64(1000)
    c = (rng.random(N) * 8 - 4).astype(np.float32)
    c[::7] *= np.float32(1e4)
    d = rng.random(N) * 8 - 4
    d[::7] *= 1e6
    return a, b, c, d, np.zeros(16, np.int32), np.zeros(N, np.uint64), np.zeros((12, N)), np.int32(N)
