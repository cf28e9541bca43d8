"""Run in a child behind the walls: tries what nothing of a student's may do, and prints which walls held."""

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Sequence

FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__init__.py")


def connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        made.settimeout(1.0)
        with contextlib.suppress(ConnectionRefusedError, TimeoutError):  # it got through; nobody is there
            made.connect(("127.0.0.1", 9))


def send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"", ("127.0.0.1", 9))


def read() -> None:
    with open(FOREIGN, "rb"):
        pass


def write() -> None:
    with open("written", "w"):
        pass


def fork() -> None:
    if sys.platform == "win32":
        raise NotImplementedError
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def take_memory() -> None:
    bytearray(1 << 29)


def signal_the_parent() -> None:
    os.kill(os.getppid(), 0)


def start_another() -> None:
    os.execv(sys.executable, [sys.executable, "-c", ""])


def try_to(wall: str, deed: Callable[[], None]) -> None:
    try:
        deed()
        held = False
    except (OSError, MemoryError):
        held = True
    except (NotImplementedError, AttributeError):
        held = False  # cannot be tried here, so nothing is known
    sys.stdout.write(f"{wall} {'held' if held else 'fell'}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    if arguments[0] == "reads":
        with open(__file__, "rb"):
            pass
        try_to("some reads", read)
    elif arguments[0] == "program":
        try_to("programs", start_another)
    elif sys.platform != "win32":
        deeds = (("memory", take_memory), ("reads", read), ("writes", write), ("network", connect), ("network", send))
        for wall, deed in (*deeds, ("processes", fork), ("signals", signal_the_parent)):
            try_to(wall, deed)
