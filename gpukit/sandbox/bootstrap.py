"""What a child process starts with: the program's own imports, then the walls, then the program.

    python -P -B [-s -S] bootstrap.py MEMORY_BYTES CPU_SECONDS READABLE PATHS PROGRAM [ARGUMENT...]

READABLE and PATHS are paths, one a line. PROGRAM is a Python file of gpukit's, trusted: its top level and
`prepare(arguments)`, if it has that, run before the walls stand, `main(arguments)` behind them.
"""

import os
import sys

OUT_OF_MEMORY = 86  # exit status


def start(memory: str, cpu: str, readable: str, paths: str, program: str, *arguments: str) -> None:
    sys.path += paths.splitlines()
    from gpukit.sandbox import walls

    with open(program, encoding="utf-8") as stream:
        code = compile(stream.read(), program, "exec")
    names = {"__name__": "sandboxed", "__file__": program}
    exec(code, names)
    if "prepare" in names:
        names["prepare"](arguments)  # type: ignore[operator]
    walls.raise_all(int(memory), int(cpu), readable.splitlines())
    status = 1
    try:
        names["main"](arguments)  # type: ignore[operator]
        sys.stdout.flush()
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}"[:2000])
        sys.stderr.flush()
    finally:
        os._exit(status)  # nothing that was registered for the end runs


if __name__ == "__main__":
    start(*sys.argv[1:])
