"""Values that went wrong: integers that did not fit, NaN and Inf made on the way, sums that stopped growing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpukit.machine.hazards.ledger import NOTE, WARNING, Entry, Hazard, Ledger, Names, Where, plural
from gpukit.machine.lanes import LaneSet
from gpukit.machine.program import Alu, Atomic, Store

Lanewise = np.ndarray | np.generic

# A sum that loses one addition in a hundred is off by far more than rounding; below that it is ordinary rounding.
ABSORBED_SHARE = 0.01
# A series or an iteration that has converged goes on adding ever smaller terms, and nothing is lost with them. What is
# lost counts when it is of the size of what the sum began with, or adds up to many units in the last place.
LIKE_THE_FIRST = 1e-3
LAST_PLACES = 64.0
FIRST_ADDITIONS = 8

_PRODUCTS = ("multiply", "mul", "fma")


@dataclass
class _Sum:
    """What happened to one accumulator line."""

    op: Alu | Atomic
    rounds: int = 0
    early: float = 0.0  # largest value among the first additions
    lost: float = 0.0  # what one lane lost, in units in the last place of its sum
    largest: float = 0.0  # largest value that was lost
    additions: int = 0
    absorbed: int = 0
    smallest: float = np.inf
    first: tuple | None = None


class NumericChecks:
    """Folds the numeric events of a launch."""

    def __init__(self, names: Names, ledger: Ledger):
        self.names = names
        self.ledger = ledger
        self.where = Where(names)
        self.sums: dict[int, _Sum] = {}

    # --- integers ----------------------------------------------------------------------------------------------

    def narrow(self, op: Alu | Store | Atomic, lanes: LaneSet, value: Lanewise, dtype: np.dtype) -> None:
        """The exact integers `value` (one per lane) do not fit `dtype`, and wrapped."""
        dtype = np.dtype(dtype)
        line = op.line

        def build(entry: Entry) -> Hazard:
            block, thread = entry.facts["place"]
            exact, stored = entry.facts["exact"], entry.facts["stored"]
            array = entry.facts["array"]
            where = f"{array}, {_an(dtype.name)} array" if array else _an(dtype.name)
            text = (
                f"{self.names.thread(thread)} of {self.names.block(block)} stores {exact:,} in {where}, which keeps "
                f"only {stored:,}"
            )
            wider = "uint64" if dtype.kind == "u" else "int64"
            advice = (
                f"Keep the value in a wider type ({wider}), or check its range first."
                if dtype.itemsize < 8
                else "Even 64 bits are not enough: check the range first."
            )
            details = {"value": exact, "stored": stored, "dtype": dtype.name}
            return self.where.hazard(
                "int_overflow", WARNING, line, text, advice,
                count=entry.count, array=array, block=block, threads=[thread], details=details,
            )  # fmt: skip

        entry = self.ledger.add(("int_overflow", line, dtype.name), lanes.n, build)
        if not entry.facts:
            exact = int(np.asarray(value).flat[0])
            bits = 8 * dtype.itemsize
            stored = exact % (1 << bits)
            if dtype.kind == "i" and stored >= 1 << (bits - 1):
                stored -= 1 << bits
            array = self.names.array(self._store_of(op) or op, "") or None
            entry.facts.update(place=self.where.thread(lanes, 0), exact=exact, stored=stored, array=array)

    def _store_of(self, op: Alu | Store | Atomic) -> Store | Atomic | None:
        """The store or atomic that a conversion is for."""
        if not isinstance(op, Alu):
            return op
        later = (o for block in self.names.program.blocks for o in block.ops if isinstance(o, Store | Atomic))
        return next((o for o in later if op.dst in o.src), None)

    def int_div(self, op: Alu, lanes: LaneSet) -> None:
        """These lanes divided an integer by zero."""

        def build(entry: Entry) -> Hazard:
            block, thread = entry.facts["place"]
            text = (
                f"{self.names.thread(thread)} of {self.names.block(block)} divides an integer by zero; the GPU does "
                "not stop, and the result is undefined"
            )
            return self.where.hazard(
                "division_by_zero", WARNING, op.line, text, "Test the divisor before dividing.",
                count=entry.count, block=block, threads=[thread],
            )  # fmt: skip

        entry = self.ledger.add(("division_by_zero", op.line), lanes.n, build)
        entry.facts.setdefault("place", self.where.thread(lanes, 0))

    # --- floats ------------------------------------------------------------------------------------------------

    def floats(self, op: Alu, result: Lanewise, operands: tuple[Lanewise, ...], lanes: LaneSet) -> None:
        """Look for a NaN or Inf that this operation made; one that only passed through is silent."""
        result = np.asarray(result)
        if result.dtype.kind not in "fc":
            return
        values = [np.asarray(v) for v in operands]
        values = [v for v in values if v.dtype.kind in "fciub"]
        nan = np.isnan(result)
        nan_in, inf_in, zero, wild = (np.zeros(result.shape, bool) for _ in range(4))
        for v in values:
            nan_in = nan_in | np.isnan(v)
            inf_in = inf_in | np.isinf(v)
        for factor in values[:2]:  # what follows them is added: a * b + c
            zero = zero | (factor == 0)
            wild = wild | ~np.isfinite(factor)
        padding = nan & zero & wild if _is_product(op) else np.zeros(result.shape, bool)
        for cause, which in (
            ("zero times", padding),
            ("nan", nan & ~nan_in & ~padding),
            ("inf", np.isinf(result) & ~nan_in & ~inf_in),
        ):
            if which.any():
                self._not_finite(op, cause, np.broadcast_to(which, (lanes.n,)), result, values, lanes)

    def _not_finite(
        self, op: Alu, cause: str, which: np.ndarray, result: np.ndarray, values: list[np.ndarray], lanes: LaneSet
    ) -> None:
        def build(entry: Entry) -> Hazard:
            block, thread = entry.facts["place"]
            operands, made = entry.facts["operands"], entry.facts["result"]
            inputs = " and ".join(_shown(v) for v in operands)
            text = f"{self.names.thread(thread)} of {self.names.block(block)} makes {_shown(made)} out of {inputs}"
            if cause == "zero times":
                text += ": zero times something that is not finite is NaN, not zero"
                advice = "Skip padding and zero coefficients with an `if` rather than multiplying by zero."
            elif cause == "nan":
                advice = "Find where these operands come from, and treat this case before the operation."
            else:
                advice = "Check for division by zero, log of zero or overflow before this operation."
            return self.where.hazard(
                "nan_propagation", NOTE, op.line, text, advice,
                count=entry.count, block=block, threads=[thread],
                details={"cause": cause, "operands": operands, "result": made},
            )  # fmt: skip

        entry = self.ledger.add(("nan_propagation", op.line, cause), int(np.count_nonzero(which)), build)
        if not entry.facts:
            first = int(np.argmax(which))
            entry.facts.update(
                place=self.where.thread(lanes, first),
                operands=[v.flat[first if v.size > 1 else 0].item() for v in values],
                result=result.flat[first if result.size > 1 else 0].item(),
            )

    def accumulated(self, op: Alu | Atomic, total: Lanewise, value: Lanewise, result: Lanewise, lanes: LaneSet) -> None:
        """`result` = `total` + `value`: count additions of something that left the accumulator as it was."""
        result = np.asarray(result)
        if result.dtype.kind not in "fc":
            return
        sums = self.sums.get(op.line)
        if sums is None:
            sums = self.sums[op.line] = _Sum(op)
        spread = lanes.n if result.ndim == 0 else 1  # a uniform value stands for every lane
        added = np.asarray(value) != 0
        sums.additions += int(np.count_nonzero(added)) * (lanes.n if added.ndim == 0 else 1)
        if sums.rounds < FIRST_ADDITIONS and added.any():
            sums.rounds += 1
            sums.early = max(sums.early, _largest(np.asarray(value)))
        same = (result == total) & added
        if not same.any():
            return
        same &= np.isfinite(result)
        n = int(np.count_nonzero(same))
        if not n:
            return
        sums.absorbed += n * spread
        position = int(np.argmax(same))
        if sums.first is None:
            numbers = [np.broadcast_to(np.asarray(v), (lanes.n,))[position].item() for v in (total, value)]
            sums.first = (*self.where.thread(lanes, position), *numbers, result.dtype.name)
        sums.smallest = min(sums.smallest, float(np.abs(result)[same].min()))
        gone = np.abs(np.broadcast_to(np.asarray(value), result.shape)[same])
        sums.largest = max(sums.largest, _largest(gone))
        sums.lost += float((gone / np.spacing(np.abs(result[same]))).max())

    def precision(self) -> list[Hazard]:
        """precision_loss findings, once the launch is over."""
        found = []
        for line, sums in self.sums.items():
            if not sums.absorbed or sums.absorbed < ABSORBED_SHARE * sums.additions:
                continue
            if sums.largest < LIKE_THE_FIRST * sums.early and sums.lost < LAST_PLACES:
                continue
            assert sums.first is not None
            block, thread, total, value, dtype = sums.first
            text = (
                f"{sums.absorbed:,} of {plural(sums.additions, 'addition')} changed nothing: from {sums.smallest:.10g} "
                f"on, the {dtype} accumulator is too coarse for what is added to it (first {self.names.thread(thread)} "
                f"of {self.names.block(block)}: {_shown(total)} + {_shown(value)} = {_shown(total)})"
            )
            advice = (
                "Accumulate in float64, or add up partial sums of similar size (a tree)."
                if dtype != "float64"
                else "Add up partial sums of similar size (a tree), or use compensated summation."
            )
            found.append(
                self.where.hazard(
                    "precision_loss", NOTE, line, text, advice,
                    count=sums.absorbed, block=block, threads=[thread],
                    details={
                        "absorbed": sums.absorbed, "additions": sums.additions,
                        "from_value": sums.smallest, "first_value": total, "dtype": dtype,
                    },
                )
            )  # fmt: skip
        return found


def _an(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" and not name.startswith("ui") else f"a {name}"


def _largest(values: np.ndarray) -> float:
    """Largest finite magnitude; 0 when there is none."""
    sizes = np.abs(values)
    return float(sizes.max(initial=0.0, where=np.isfinite(sizes)))


def _shown(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _is_product(op: Alu) -> bool:
    if isinstance(op.code, str):
        return "*" in op.code.replace("**", "")
    name = getattr(op.code, "__name__", "")
    return any(word in name for word in _PRODUCTS)
