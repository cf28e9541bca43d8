"""Run in a child behind the walls: calls a student's host function and writes what it returns, one record a call.

A record is the nonce, the letter v (value), c (value and counts, `host_counts`) or e (error), the length (u32) and the
value or sentence as `data` packs it.
"""

import builtins
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from gpukit.sandbox import data, host_code, host_counts
from gpukit.sandbox.vocabulary import BUILTINS

_MOST_OF_A_SENTENCE = 300
_NO_MEMORY_OF_TORCH = "DefaultCPUAllocator: can't allocate memory"


def prepare(arguments: Sequence[str]) -> None:
    if "numpy" in arguments:
        import numpy
        import numpy.ma  # median and its like import it when they are called, which is too late

        numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")  # what a warning would say goes nowhere
    if "torch" in arguments:
        _prepare_torch()


def _prepare_torch() -> None:
    """Import PyTorch, and use what imports, looks at the processor or makes a thread when it is first used."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    with ExitStack() as stack:
        for mode in host_counts.modes(host_counts.Counts("")):
            stack.enter_context(mode)
        table = torch.ones(64, 32, requires_grad=True)
        rows = functional.embedding(torch.arange(16), table)
        logits = functional.linear(functional.relu(rows), torch.ones(1, 32)).squeeze(1)
        loss = functional.binary_cross_entropy_with_logits(logits, torch.zeros(16))
        (loss + torch.einsum("ij,ij->", rows, rows)).backward(retain_graph=True)
        torch.autograd.grad(loss, [rows])
        torch.unique(torch.arange(4), return_inverse=True)
        repr(table)


def main(arguments: Sequence[str]) -> None:
    nonce, source, file, function, names, calls, count = data.unpack(sys.stdin.buffer.read())
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr = _Nowhere()
    try:
        module = _module(source, file, names)
        called = module[function]
    except BaseException as error:
        sentence, called = _sentence(error, file), None
    sys.addaudithook(_refuse)
    for packed in calls:
        if called is None:
            kind, body = b"e", data.pack(sentence)
        else:
            kind, body = _call(called, packed, file, host_counts.Counts(file) if count else None)
        answers.write(nonce + kind + len(body).to_bytes(4, "little") + body)
        answers.flush()


def _module(source: str, file: str, names: Sequence[str]) -> dict[str, Any]:
    imports, tree = host_code.parts(source, names)
    module: dict[str, Any] = {
        "__name__": "student",
        # NumPy's own C code asks for __import__ here; what is not loaded yet, the filter below refuses.
        "__builtins__": {name: getattr(builtins, name) for name in (*BUILTINS, "__import__")},
    }
    for name, package, inner in imports:
        found = sys.modules.get(package) or __import__(package)
        module[name] = getattr(found, inner) if inner else found
    exec(compile(tree, file, "exec", dont_inherit=True), module)
    return module


def _call(
    function: Callable[..., Any], packed: bytes, file: str, counts: host_counts.Counts | None
) -> tuple[bytes, bytes]:
    try:
        with ExitStack() as stack:
            for mode in host_counts.modes(counts) if counts is not None else ():
                stack.enter_context(mode)
            value = function(*data.unpack(packed))
    except BaseException as error:
        return b"e", data.pack(_sentence(error, file))
    try:
        return (b"v", data.pack(value)) if counts is None else (b"c", data.pack((value, counts.rows())))
    except data.FormatError as error:
        advice = "return numbers, strings, lists, tuples, None or NumPy arrays"
        if str(error) == "a value of type Tensor":
            advice = "return x.detach().numpy(), or x.item() where it is one number"
        return b"e", data.pack(f"it returned {error}: {advice}")


def _sentence(error: BaseException, file: str) -> str:
    """What went wrong, at the last line of the student's file that was running."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str(error)
    except BaseException:
        message = ""
    name = type(error).__name__
    if isinstance(error, RuntimeError) and _NO_MEMORY_OF_TORCH in message:
        name, message = "MemoryError", ""
    if name == "MemoryError":
        message = message or "it asks for more memory than host code may have"
    message = message[:_MOST_OF_A_SENTENCE]
    said = "".join(character if character.isprintable() else " " for character in message)
    said = said.encode(errors="replace").decode()
    name = name[:_MOST_OF_A_SENTENCE].encode(errors="replace").decode()
    return f"{name}: {said}" * bool(said) + name * (not said) + (f" at {file}:{line}" if line else "")


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


# Events that Python raises for what host code does anyway.
_HARMLESS = ("object.__getattr__", "builtins.id")
# And for what PyTorch does: 2.11 for CUDA looks at frames in torch.autograd.grad. Host code has no name for a frame.
_HARMLESS_OF_TORCH = ("sys._getframe",)


def _refuse(event: str, details: tuple[object, ...]) -> None:
    """One more filter, for systems with few walls: no event that Python can be asked about. It is no wall itself."""
    if event not in _HARMLESS and not ("torch" in sys.modules and event in _HARMLESS_OF_TORCH):
        raise PermissionError(f"host code may not do this ({event})")
