"""Puts the facade in numba.cuda's place in every Python that a test of the suite starts."""

import contextlib
import linecache
import os
import sys

# The suite's own workers do it themselves, once their arguments are known.
if not any("numba_suite" in argument for argument in sys.orig_argv) and "GPUKIT_NUMBA_SUITE" in os.environ:
    from numba_suite import shims

    from gpukit.standin import stand_in

    _stack = contextlib.ExitStack()
    _stack.enter_context(stand_in())
    shims.install()
    if "-c" in sys.orig_argv:
        # Python before 3.13 keeps no source of `python -c`, and kernels are made from source.
        _code = sys.orig_argv[sys.orig_argv.index("-c") + 1]
        linecache.cache["<string>"] = (len(_code), None, _code.splitlines(keepends=True), "<string>")
