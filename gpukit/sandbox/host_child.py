"""Run in a child behind the walls: calls a student's host function and writes what it returns, one record a call.

A record is the nonce, the letter v (value) or e (error), the length (u32) and the value or sentence as `data` packs it.
"""

import builtins
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gpukit.sandbox import data, host_code
from gpukit.sandbox.vocabulary import BUILTINS

_MOST_OF_A_SENTENCE = 300


def prepare(arguments: Sequence[str]) -> None:
    if "numpy" in arguments:
        import numpy
        import numpy.ma  # median and its like import it when they are called, which is too late

        numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")  # what a warning would say goes nowhere


def main(arguments: Sequence[str]) -> None:
    nonce, source, file, function, names, calls = data.unpack(sys.stdin.buffer.read())
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
            kind, body = _call(called, packed, file)
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


def _call(function: Callable[..., Any], packed: bytes, file: str) -> tuple[bytes, bytes]:
    try:
        value = function(*data.unpack(packed))
    except BaseException as error:
        return b"e", data.pack(_sentence(error, file))
    try:
        return b"v", data.pack(value)
    except data.FormatError as error:
        return b"e", data.pack(f"it returned {error}: return numbers, strings, lists, tuples, None or NumPy arrays")


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
    if isinstance(error, MemoryError):
        message = message or "it asks for more memory than host code may have"
    message = message[:_MOST_OF_A_SENTENCE]
    said = "".join(character if character.isprintable() else " " for character in message)
    said = said.encode(errors="replace").decode()
    name = type(error).__name__[:_MOST_OF_A_SENTENCE].encode(errors="replace").decode()
    return f"{name}: {said}" * bool(said) + name * (not said) + (f" at {file}:{line}" if line else "")


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


# Events that Python raises for what host code does anyway.
_HARMLESS = ("object.__getattr__", "builtins.id")


def _refuse(event: str, details: tuple[object, ...]) -> None:
    """One more filter, for systems with few walls: no event that Python can be asked about. It is no wall itself."""
    if event not in _HARMLESS:
        raise PermissionError(f"host code may not do this ({event})")
