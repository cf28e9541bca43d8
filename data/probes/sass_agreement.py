"""How well gpukit's model of the assembler agrees with ptxas: data/results/sass_agreement.json.

    pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm        # no GPU is needed
    python data/probes/sass_agreement.py --out data/results/sass_agreement.json [FILE.cu ...]

Each kernel of the corpus (data/probes/sass, tests/compiled/kernels, or the files named) is compiled to PTX by NVRTC,
and that PTX by ptxas. The memory instructions that the model expects are compared with those in the machine code: which
space, load, store or atomic, how many bytes a lane, how often each: once with ptxas told not to unroll loops (requests
alone), once as it is (requests and unrolling).

    python data/probes/sass_agreement.py FILE.cu --kernel NAME    # both lists of one kernel, by source line
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpukit.compilers.nvrtc import compile_cuda
from gpukit.errors import GpukitError
from gpukit.machine.frontends.ptx.assembler import assemble
from gpukit.machine.frontends.ptx.parser import parse
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import SIZES, Function, Instruction, Module, Symbol, Vector
from gpukit.machine.program import WHOLE_WARP

ROOT = Path(__file__).resolve().parents[2]
CORPUS = (ROOT / "data/probes/sass", ROOT / "tests/compiled/kernels", ROOT / "gpukit/kernels/cpp")
ARCHITECTURE = "90"

Counts = Counter[tuple[int, str]]  # (source line, "shared load 16") -> how often


@dataclass
class Tools:
    """The assembler and disassembler of one CUDA toolkit."""

    ptxas: Path
    nvdisasm: Path

    def version(self) -> str:
        text = subprocess.run([self.ptxas, "--version"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"V(\d+(?:\.\d+)+)", text)
        return found.group(1) if found else text

    def machine_code(self, ptx: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
            source.write_text(ptx)
            arguments = [self.ptxas, f"-arch=sm_{ARCHITECTURE}", "-lineinfo", source, "-o", cubin]
            subprocess.run(arguments, check=True, capture_output=True)
            arguments = [self.nvdisasm, "-g", "-c", cubin]
            return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


# --- what the machine code has -------------------------------------------------------------------------------------

_OPCODES = {
    "LDS": "shared load", "STS": "shared store", "LDG": "global load", "STG": "global store", "LD": "generic load",
    "ST": "generic store", "ATOMS": "shared atomic", "ATOMG": "global atomic", "RED": "global atomic",
    "REDG": "global atomic", "ATOM": "generic atomic", "LDGSTS": "copy to shared",
}  # fmt: skip
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)((?:\.[A-Z0-9_]+)*)\s")
_LINE = re.compile(r'//## File "[^"]*", line (\d+)')


def in_machine_code(text: str) -> dict[str, Counts]:
    """Kernel -> its memory instructions."""
    found: dict[str, Counts] = {}
    here: Counts = Counter()
    line = 0
    for row in text.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.([\w$]+)", row):
            here = found.setdefault(section.group(1), Counter())
            line = 0
        elif place := _LINE.search(row):
            line = int(place.group(1))
        elif "@!PT" not in row and (inst := _INSTRUCTION.search(row)) and inst.group(1) in _OPCODES:
            what = _OPCODES[inst.group(1)]
            here[line, what + ("" if "atomic" in what else f" {_width(inst.group(2).split('.'))}")] += 1
    return found


def _width(modifiers: list[str]) -> int:
    for modifier in modifiers:
        if modifier in ("U8", "S8"):
            return 1
        if modifier in ("U16", "S16"):
            return 2
        if modifier in ("64", "128"):
            return int(modifier) // 8
    return 4


# --- what the model expects ----------------------------------------------------------------------------------------


def expected(module: Module, kernel: Function) -> Counts:
    """The memory instructions of a kernel after `assemble`."""
    functions = [kernel, *_called(module, kernel)]
    storage = Storage()
    shared = [v for function in functions for v in function.variables if v.space == "shared"]
    named = {o.name for f in functions for s in f.body or () if isinstance(s, Instruction) for o in _symbols(s)}
    shared += [v for v in module.variables.values() if v.space == "shared" and v.name in named]
    storage.lay_out_shared(shared)
    counts: Counts = Counter()
    for function in functions:
        for statement in assemble(function, storage.shared).body or ():
            if isinstance(statement, Instruction):
                line = statement.location.line if statement.location else 0
                for what in _expected_of(statement):
                    counts[line, what] += 1
    return counts


def _symbols(inst: Instruction) -> Iterator[Symbol]:
    for operand in inst.operands:
        base = getattr(operand, "base", operand)
        if isinstance(base, Symbol):
            yield base


def _called(module: Module, kernel: Function) -> list[Function]:
    found: dict[str, Function] = {}
    work = [kernel]
    while work:
        for statement in work.pop().body or ():
            if isinstance(statement, Instruction) and statement.opcode == "call":
                for symbol in _symbols(statement):
                    callee = module.functions.get(symbol.name)
                    if callee is not None and callee.body and callee.name not in found:
                        found[callee.name] = callee
                        work.append(callee)
    return list(found.values())


def _expected_of(inst: Instruction) -> list[str]:
    if inst.opcode not in ("ld", "st", "atom", "red", "cp"):
        return []
    space = next(
        (
            m.split("::")[0]
            for m in inst.modifiers
            if m.split("::")[0] in ("global", "shared", "local", "const", "param")
        ),
        "generic",
    )
    if inst.opcode == "cp":
        return ["copy to shared " + str(inst.operands[2].value)] if inst.has("async") and inst.has("shared") else []
    if space in ("local", "const", "param"):
        return []
    if inst.opcode in ("atom", "red"):
        return [f"{space} atomic"] * (2 if inst.together == WHOLE_WARP else 1)  # for a whole warp, and for a part
    way = "load" if inst.opcode == "ld" else "store"
    if inst.requests is not None:
        return [f"{space} {way} {request.nbytes}" for request in inst.requests]
    operand = inst.operands[0 if way == "load" else 1]
    return [f"{space} {way} {SIZES[inst.type] * (len(operand.items) if isinstance(operand, Vector) else 1)}"]


# Why a kernel disagrees, by a part of its name.
REASONS = {
    "cub_sort": "ptxas turns the loop round and copies a part of it in front; each copy runs once",
    "layernorm": "the loop weighs 48 of the 49 that are unrolled here, and ptxas leaves it; found in 1 of 103 loops",
    "weighted_histogram": "ptxas makes the shared float atomic of a loop around a compare-and-swap, with a load",
    "compensated_sum": "ptxas writes out half of the rounds, here all are; an H200 counts the same requests",
    "function_pointers": "ptxas loads a half of a function's 8-byte address",
    "half2_atomics": "ptxas makes atomics on halves of loops around a 32-bit compare-and-swap",
    "bfloat2_atomics": "ptxas makes atomics on halves of loops around a 32-bit compare-and-swap",
    "last_warp_syncwarp": "a second copy for warps that are not together at bar.warp.sync; one of both runs",
}


# --- comparing -----------------------------------------------------------------------------------------------------


def without_unrolling(ptx: str) -> str:
    """The PTX with a pragma at every label, which keeps ptxas from unrolling the loop that may begin there."""
    return re.sub(r"^(\s*\$L_+BB\w+:)[ \t]*$", r'\1 .pragma "nounroll";', ptx, flags=re.MULTILINE)


def _totals(counts: Counts) -> Counter[str]:
    totals: Counter[str] = Counter()
    for (_, what), n in counts.items():
        totals[what] += n
    return totals


def compare(path: Path, tools: Tools) -> Iterator[dict]:
    """One record for each kernel of a file."""
    includes = (f"-I{path.parent}",)
    ptx = compile_cuda(path.read_text(), name=str(path), options=includes, architecture=f"compute_{ARCHITECTURE}").text
    module, as_it_is = parse(without_unrolling(ptx)), parse(ptx)
    real = in_machine_code(tools.machine_code(without_unrolling(ptx)))
    unrolled = in_machine_code(tools.machine_code(ptx))
    for name, kernel in module.functions.items():
        if not kernel.entry or kernel.body is None:
            continue
        model = expected(module, kernel)
        expect, have = _totals(model), _totals(real[name])
        whole, all_of_it = _totals(expected(as_it_is, as_it_is.functions[name])), _totals(unrolled[name])
        plain = Counter[str]()
        for statement in kernel.body:
            if isinstance(statement, Instruction):
                statement.requests = None
                plain.update(_expected_of(statement))
        record: dict = {
            "file": str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name,
            "kernel": name,
            "ptx": dict(sorted(plain.items())),
            "machine_code": dict(sorted(have.items())),
            "unrolled": all_of_it != have,
            "unrolling_agrees": whole == all_of_it,
        }
        if whole != all_of_it:
            record["with_unrolling"] = {
                "model": dict(sorted(whole.items())),
                "machine_code": dict(sorted(all_of_it.items())),
            }
        if expect != have:
            record["expected_and_not_there"] = dict(sorted((expect - have).items()))
            record["there_and_not_expected"] = dict(sorted((have - expect).items()))
        if expect != have or whole != all_of_it:
            record["reason"] = next((why for part, why in REASONS.items() if part in name), "")
        record["_model"], record["_real"] = model, real[name]
        yield record


def show(record: dict) -> None:
    """Both lists of a kernel, by source line."""
    print(record["file"], record["kernel"])
    for key in sorted({*record["_model"], *record["_real"]}):
        expect, have = record["_model"][key], record["_real"][key]
        print(
            f"  line {key[0]:5d}  {key[1]:20s} model {expect:4d}  machine code {have:4d}"
            + ("" if expect == have else "   <--")
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kernel", help="show the kernels whose name contains this")
    parser.add_argument("--tools", type=Path, default=Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin")
    chosen = parser.parse_args()
    tools = Tools(chosen.tools / "ptxas", chosen.tools / "nvdisasm")
    files = chosen.files or [path for folder in CORPUS for path in sorted(folder.glob("*.cu"))]
    records: list[dict] = []
    for path in files:
        try:
            records += compare(path.resolve(), tools)
        except (GpukitError, subprocess.CalledProcessError) as error:
            print(f"{path}: {str(error).splitlines()[0]}", file=sys.stderr)
    for record in records:
        if chosen.kernel and chosen.kernel in record["kernel"]:
            show(record)
        elif not chosen.kernel and "expected_and_not_there" in record:
            missing, more = record["expected_and_not_there"], record["there_and_not_expected"]
            print(f"{Path(record['file']).name}: {record['kernel']}\n    expected {missing}\n    there    {more}")
    agree = sum("expected_and_not_there" not in record for record in records)
    unrolled = [record for record in records if record["unrolled"]]
    both = sum(record["unrolling_agrees"] for record in records)
    print(f"{agree} of {len(records)} kernels agree without unrolling, {both} with it;")
    print(f"ptxas unrolls loops of {len(unrolled)}, {sum(r['unrolling_agrees'] for r in unrolled)} of these agree")
    if chosen.out:
        made = {
            "date": date.today().isoformat(),
            "command": "python data/probes/sass_agreement.py --out " + str(chosen.out),
            "ptxas": tools.version(),
            "architecture": f"sm_{ARCHITECTURE}",
            "kernels": len(records),
            "agree_without_unrolling": agree,
            "agree_with_unrolling": both,
            "unrolled_by_ptxas": len(unrolled),
            "disagree_without_a_reason": [r["kernel"] for r in records if r.get("reason") == ""],
            "of_these_agree": sum(record["unrolling_agrees"] for record in unrolled),
            "records": [{k: v for k, v in record.items() if not k.startswith("_")} for record in records],
        }
        chosen.out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
