"""One process of the suite: puts the facade in numba.cuda's place and runs test modules.

Usage: python -m numba_suite.worker OUTCOMES.jsonl MODULE...
Two lines per test are appended to the file, at its start and at its end, so that nothing is lost if the process dies.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import signal
import sys
import time
import types as python_types
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import TextIO

from gpukit.standin import stand_in
from numba_suite import shims
from numba_suite.runner import FAIL, PASS, SECONDS_PER_TEST, SKIP, expected_failures

PACKAGE = f"{shims.TESTS}.cudapy"


class _Recorder(unittest.TestResult):
    def __init__(self, file: TextIO):
        super().__init__()
        self._file = file
        self._started = time.perf_counter()

    def _write(self, entry: dict) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._started = time.perf_counter()
        self._write({"name": _name(test)})

    def _end(self, test: unittest.TestCase, status: str, reason: str = "") -> None:
        seconds = round(time.perf_counter() - self._started, 3)
        self._write({"name": _name(test), "status": status, "seconds": seconds, "reason": reason})

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._end(test, PASS)

    def addFailure(self, test: unittest.TestCase, err: tuple) -> None:
        self._end(test, FAIL, _reason(err))

    addError = addFailure

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: tuple | None) -> None:
        if err is not None:
            self._end(test, FAIL, _reason(err))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._end(test, SKIP, reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: tuple) -> None:
        self._end(test, SKIP, "numba expects it to fail")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._end(test, PASS, "numba expects it to fail")


class _Function(unittest.FunctionTestCase):
    """A test that is a function of its module."""

    def __init__(self, name: str, function: Callable[[], None]):
        super().__init__(function)
        self._name = name

    def id(self) -> str:
        return self._name


def _name(test: unittest.TestCase) -> str:
    return test.id().removeprefix(PACKAGE + ".")


def _reason(err: tuple) -> str:
    text = f"{type(err[1]).__name__}: {err[1]}"
    return " ".join(text.split())[:600]


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what runs for too long, where the system has timers."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _tests(module: python_types.ModuleType) -> Iterator[unittest.TestCase]:
    yield from _cases(unittest.defaultTestLoader.loadTestsFromModule(module))
    for name, value in list(vars(module).items()):
        if name.startswith("test_") and isinstance(value, python_types.FunctionType):
            yield _Function(f"{module.__name__}.{name}", value)


def main(file: str, modules: list[str]) -> None:
    warnings.simplefilter("ignore")
    with open(file, "a", encoding="utf-8") as out, stand_in():
        shims.install()
        recorder = _Recorder(out)
        left_out = {name for name, why in expected_failures().items() if why.startswith("not run")}
        for module_name in modules:
            try:
                module = importlib.import_module(f"{PACKAGE}.{module_name}")
            except (Exception, unittest.SkipTest) as error:
                entry = {"name": f"{module_name}.import", "status": FAIL, "seconds": 0, "reason": _reason((0, error))}
                out.write(json.dumps(entry) + "\n")
                continue
            for test in _tests(module):
                if _name(test) in left_out:
                    recorder.startTest(test)
                    recorder._end(test, FAIL, "not run")
                    continue
                with _time_limit(SECONDS_PER_TEST), contextlib.redirect_stdout(io.StringIO()):
                    try:
                        test.run(recorder)
                    except TimeoutError as error:
                        recorder._end(test, FAIL, str(error))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
