"""Is a rung right? Every kind of input, awkward lengths, every block size; outputs are poisoned first.

All-ones input is exact: the sum counts the elements that were added, so that one dropped element in 2^26 shows, which
no tolerance on random data would see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpukit import devices
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.registry import Array, Family, Plan, Problem, Rung


@dataclass(frozen=True)
class Failure:
    """One case that a rung gets wrong; `where` is the first bad index of the answer, () for a single number."""

    rung: str
    n: int
    kind: str
    block: int
    where: tuple[int, ...]
    got: object
    expected: object
    wrong: int  # how many elements of the answer
    size: int  # of how many
    bound: float = 0.0

    def __str__(self) -> str:
        at = f" at index {', '.join(map(str, self.where))}" if self.where else ""
        many = f" ({self.wrong:,} of {self.size:,} are wrong)" if self.size > 1 else ""
        allowed = f" within {self.bound:.3g}" if self.bound else ""
        case = f"n = {self.n:,}, {self.kind}, {self.block} threads a block"
        return f"{self.rung}: {case}: got {self.got}{at}, expected {self.expected}{allowed}{many}"


def cases(family: Family, lengths: Sequence[int] | None = None, blocks: Sequence[int] | None = None) -> Iterator[tuple]:
    """(n, kind, threads per block) of every case: awkward lengths with every block size."""
    for n in family.lengths if lengths is None else lengths:
        for kind in family.kinds:
            for block in family.blocks if blocks is None else blocks:
                yield n, kind, block


def check(
    family: Family,
    rungs: Iterable[Rung],
    device: Device,
    lengths: Sequence[int] | None = None,
    blocks: Sequence[int] | None = None,
    seed: int = 0,
) -> dict[str, list[Failure]]:
    """The failures of each rung by its key; an empty list for one that is right everywhere.

    Lengths and blocks default to the family's. All rungs get the same problems, made from `seed`.
    """
    found: dict[str, list[Failure]] = {rung.key: [] for rung in rungs}
    rungs = [family.rungs[key] for key in found]
    made: dict[tuple[int, str], Problem] = {}
    for n, kind, block in cases(family, lengths, blocks):
        if (n, kind) not in made:
            made.clear()  # one problem at a time: they may be large
            made[n, kind] = family.problem(n, kind, np.random.default_rng([seed, n]), device)
        for rung in rungs:
            failure = check_case(rung, made[n, kind], block, device)
            if failure is not None:
                found[rung.key].append(failure)
    return found


def check_case(rung: Rung, problem: Problem, block: int, device: Device) -> Failure | None:
    """What a rung gets wrong on one problem; None when it is right. Also wrong: inputs that a run changed."""
    before = {name: array.copy() for name, array in problem.arrays.items()}  # on the device: they may be large
    plan = rung.plan(problem, block, device)
    answer = answer_of(plan, device)
    for name, array in problem.arrays.items():
        if not _same_bytes(array, before[name]):
            raise GpukitError(f"{rung.key} of {rung.family} wrote to its input `{name}`, which belongs to all rungs")
    return compare(rung, problem, block, answer)


def _same_bytes(array: Array, before: Array) -> bool:
    """Whether an array holds the same bits; NaN is equal to itself that way."""
    word = next(word for word in (np.uint64, np.uint32, np.uint8) if array.nbytes % np.dtype(word).itemsize == 0)
    return bool((array.reshape(-1).view(word) == before.reshape(-1).view(word)).all())


def answer_of(plan: Plan, device: Device) -> np.ndarray:
    """What a plan answers, after its outputs were poisoned and what it destroys was restored."""
    devices.poison(plan)
    devices.restore(plan)
    devices.run(plan, device)
    device.synchronize()
    return np.asarray(plan.answer())


def compare(rung: Rung, problem: Problem, block: int, answer: np.ndarray) -> Failure | None:
    """The first place where an answer is further from the expected one than the problem's bound."""
    expected = np.asarray(problem.expected)
    if answer.shape != expected.shape:
        got, want = f"an answer of shape {answer.shape}", f"one of shape {expected.shape}"
        return Failure(rung.key, problem.n, problem.kind, block, (), got, want, expected.size, expected.size)
    error = np.abs(answer.astype(np.result_type(answer, expected, np.float64)) - expected)
    wrong = ~(error <= problem.bound)  # so that NaN is wrong
    if not wrong.any():
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    bound = float(np.broadcast_to(problem.bound, expected.shape)[where])
    values = answer[where].item(), expected[where].item()
    return Failure(rung.key, problem.n, problem.kind, block, where, *values, int(wrong.sum()), expected.size, bound)
