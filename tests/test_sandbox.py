"""The walls around a child process: each is proven by an attempt to break it, which works without the wall."""

import os
import platform
import random
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gpukit.sandbox import Limits, landlock, run, seccomp, strength
from gpukit.sandbox.gauge import FOR_CPP, FOR_HOST_CODE, WALLS

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls of Linux")
ROOT = Path(__file__).parents[1]
QUICK = Limits(seconds=5.0, cpu_seconds=5, memory_bytes=1 << 29)


@pytest.fixture
def child(tmp_path):
    """Runs `code` as main() of a child; `before` runs in it before the walls stand."""

    def start(code, before="", *, limits=QUICK, readable=(), **more):
        program = tmp_path / "program.py"
        body = textwrap.indent(textwrap.dedent(code).strip(), "    ")
        program.write_text(f"import ctypes, os, socket, sys\n{before}\ndef main(arguments):\n{body}\n")
        return run([program], limits=limits, readable=readable, **more)

    return start


# --- what must work ------------------------------------------------------------------------------------------------


def test_a_program_gets_its_input_and_answers(child):
    done = child(
        "sys.stdout.write(sys.stdin.read().upper() + arguments[0] if arguments else sys.stdin.read())", input=b"a"
    )
    assert (done.status, done.code, done.output, done.errors) == ("ok", 0, b"a", "")


def test_it_computes_behind_the_walls(child):
    code = "print(sum(x * x for x in range(10**5)), math.sqrt(2), sorted('cab'), int('9' * 999) % 7)"
    assert child(code, "import math").output.decode().split()[0] == str(sum(x * x for x in range(10**5)))


def test_it_reads_what_is_readable(child, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("hello")
    code = f"print(open({str(tmp_path / 'in' / 'a.txt')!r}).read(), os.listdir({str(tmp_path / 'in')!r}))"
    assert child(code, readable=[tmp_path / "in"]).output.strip() == b"hello ['a.txt']"


@linux
def test_its_surroundings_are_the_same_in_every_run(child):
    before = "seen = sorted(os.environ), os.listdir('.'), os.getsid(0) == os.getpid(), len(os.listdir('/proc/self/fd'))"
    os.environ["GPUKIT_SECRET"] = "x"
    try:
        runs = {
            child("print(seen, hash('a'), sys.flags.dont_write_bytecode, sys.flags.no_site)", before).output
            for _ in "ab"
        }
    finally:
        del os.environ["GPUKIT_SECRET"]
    (only,) = runs
    text = only.decode()
    assert "SECRET" not in text and "HOME" not in text.replace("PYTHONHOME", "").replace("CUDA_HOME", "")
    assert "[], True, 4)" in text  # stdin, stdout, stderr, and the listing itself


# --- what must not work --------------------------------------------------------------------------------------------

# name -> a deed that changes nothing outside its own folder; HERE is a file there.
DEEDS = {
    "read a file": "open('/etc/passwd').read()",
    "read its own program": "open(__file__).read()",
    "list a folder": "os.listdir('/')",
    "ask for a file": "os.stat('/etc/passwd')",
    "read memory of the parent": "os.close(os.open(f'/proc/{os.getppid()}/maps', os.O_RDONLY))",
    "create a file": "open(HERE + '.new', 'w')",
    "change a file": "open(HERE, 'r+b')",
    "make a folder": "os.mkdir(HERE + '.folder')",
    "rename a file": "os.rename(HERE, HERE + '.moved')",
    "delete a file": "os.unlink(HERE)",
    "change rights": "os.chmod(HERE, 0o777)",
    "make a link": "os.symlink('/etc/passwd', HERE + '.link')",
    "cut a file": "os.truncate(HERE, 1)",
    "a file in memory": "os.memfd_create('x')",
    "a TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))",
    "a local socket": "socket.socket(socket.AF_UNIX)",
    "a pair of sockets": "socket.socketpair()",
    "fork": "os.fork() or os._exit(0)",
    "start a program": "os.posix_spawn('/bin/true', ['true'], {})",
    "become a program": "os.execv('/bin/sh', ['sh', '-c', 'echo done'])",
    "a shell": "print('done' if os.system('true') == 0 else 1 / 0)",
    "signal the parent": "os.kill(os.getppid(), 0)",
    "signal the group": "os.killpg(os.getpgid(os.getppid()), 0)",
    "raise a limit": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "lower its priority": "os.nice(1)",
    "signals from a pipe": "fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())",
    "leave the folder": "os.chdir('/')",
    "change the mask": "os.umask(0)",
    "a pipe": "os.pipe()",
}  # fmt: skip


def deed_program(deed, here):
    return f"HERE = {str(here)!r}\ndef attempt():\n    {deed}\n"


@linux
@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_works_without_walls_and_not_behind_them(child, tmp_path, deed):
    here = tmp_path / "here"
    here.write_text("some text")
    free = f"import fcntl, os, resource, socket\n__file__ = {__file__!r}\n{deed_program(DEEDS[deed], here)}"
    done = subprocess.run(
        [sys.executable, "-c", free + "attempt()\nprint('done')"], capture_output=True, text=True, timeout=60
    )
    assert "done" in done.stdout, done.stderr

    for left in tmp_path.glob("here*"):
        left.rmdir() if left.is_dir() else left.unlink()
    here.write_text("some text")
    bound = child("attempt()\nprint('done')", f"import fcntl, resource\n{deed_program(DEEDS[deed], here)}")
    assert (bound.status, bound.output) == ("failed", b""), bound
    assert bound.errors.split(":")[0] in ("OSError", "PermissionError", "BlockingIOError", "ZeroDivisionError"), bound
    assert [p.name for p in tmp_path.glob("here*")] == ["here"] and here.read_text() == "some text"


WRITING = (
    "create a file",
    "change a file",
    "make a folder",
    "rename a file",
    "delete a file",
    "make a link",
    "cut a file",
)


@linux
@pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("deed", [*WRITING, "read a file", "list a folder", "read memory of the parent"])
def test_what_may_read_some_files_reads_and_writes_no_others(child, tmp_path, deed):
    here = tmp_path / "in" / "here"
    here.parent.mkdir()
    here.write_text("some text")
    done = child("attempt()\nprint('done')", deed_program(DEEDS[deed], here), readable=[here.parent])
    assert (done.status, done.output) == ("failed", b""), done
    assert here.read_text() == "some text" and len(list(here.parent.iterdir())) == 1


# Calls that have no function in Python: number on x86_64.
RAW = {
    "vfork": 58, "ptrace": 101, "mount": 165, "reboot": 169, "init_module": 175, "add_key": 248, "keyctl": 250,
    "unshare": 272, "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "seccomp": 317, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
    "io_uring_enter": 426, "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "landlock": 446,
    "prctl": 157, "personality": 135, "tkill": 200, "timer_create": 222, "shmget": 29, "mq_open": 240, "socket": 41,
}  # fmt: skip


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
def test_calls_of_the_system_that_nothing_needs_do_not_exist(child):
    code = f"""
        libc = ctypes.CDLL(None, use_errno=True)
        for number in {list(RAW.values())}:
            ctypes.set_errno(0)
            print(libc.syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno())
    """
    assert set(child(code).output.decode().splitlines()) == {"-1 38"}


@linux
def test_a_thread_is_no_way_round_the_walls(child):
    code = """
        def attempt():
            for deed in (lambda: open('/etc/passwd'), os.fork, socket.socket):
                try:
                    deed()
                    print('done')
                except OSError:
                    print('refused')
        thread = threading.Thread(target=attempt)
        try:
            thread.start()
            thread.join()
        except RuntimeError:
            print('refused')
    """
    assert set(child(code, "import threading").output.split()) == {b"refused"}


# --- limits --------------------------------------------------------------------------------------------------------


def test_a_program_without_end_is_ended(child):
    start = time.monotonic()
    done = child("while True: pass", limits=Limits(seconds=0.5))
    assert done.status == "timeout" and time.monotonic() - start < 5


@linux
def test_one_that_ignores_signals_is_ended(child):
    code = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    )
    assert child(code, "import signal", limits=Limits(seconds=0.5)).status == "timeout"
    assert child(code, "import signal", limits=Limits(seconds=20, cpu_seconds=1)).status in ("timeout", "killed")


@linux
def test_cpu_time_is_counted(child):
    assert child("while True: pass", limits=Limits(seconds=20, cpu_seconds=1)).status == "timeout"


def test_one_that_sleeps_is_ended(child):
    assert child("time.sleep(60)", "import time", limits=Limits(seconds=0.5)).status == "timeout"


@linux
@pytest.mark.parametrize(
    "code", ["bytearray(100 << 30)", "[0] * 10**11", "x = []\nwhile True: x.append(bytes(1 << 20))"]
)
def test_memory_is_limited(child, code):
    assert child(code).status == "memory"


def test_an_answer_has_a_size(child):
    done = child("while True: sys.stdout.write('x' * 65536)", limits=Limits(seconds=20, output_bytes=100_000))
    assert (done.status, len(done.output)) == ("output", 100_000)
    assert child("while True: sys.stderr.write('x' * 65536)", limits=Limits(seconds=20)).status == "output"
    just = child("sys.stdout.write('x' * 100_000)", limits=Limits(output_bytes=100_000))
    assert (just.status, len(just.output)) == ("ok", 100_000)


@linux
@pytest.mark.parametrize(
    ("code", "status", "number"),
    [
        ("os._exit(7)", "failed", 7),
        ("sys.exit(3)", "failed", 1),
        ("raise ValueError('so')", "failed", 1),
        ("ctypes.string_at(0)", "killed", -11),
        ("os.abort()", "killed", -6),
    ],
)
def test_how_a_program_ends_is_told(child, code, status, number):
    done = child(code)
    assert (done.status, done.code) == (status, number)


def test_what_was_registered_for_the_end_does_not_run(child):
    done = child("atexit.register(lambda: print('late'))\nprint('now')", "import atexit")
    assert (done.status, done.output.split()) == ("ok", [b"now"])


def test_input_that_nobody_reads_is_no_trouble(child):
    assert child("pass", input=bytes(1 << 22)).status == "ok"


# --- the filter, for both machines, as the kernel would read it ------------------------------------------------------

ALLOW, KILL, NO_SUCH_CALL = 0x7FFF0000, 0x80000000, 0x50026


def verdict(program, architecture, number, *arguments):
    """What the kernel makes of a system call: the filter, step by step."""
    words = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    place = loaded = 0
    while True:
        code, if_true, if_false, operand = program[place]
        place += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            loaded = int.from_bytes(words[operand : operand + 4], "little")
        else:
            assert code in (0x15, 0x45)
            place += if_true if (loaded == operand if code == 0x15 else loaded & operand) else if_false


MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {  # call -> x86_64, aarch64, from the tables of Linux
    "read": (0, 63), "write": (1, 64), "mmap": (9, 222), "exit_group": (231, 94), "openat": (257, 56),
    "clone": (56, 220),
    "tgkill": (234, 131), "prlimit64": (302, 261), "ioctl": (16, 29), "fcntl": (72, 25), "statx": (332, 291),
    "socket": (41, 198), "connect": (42, 203), "execve": (59, 221), "kill": (62, 129), "ptrace": (101, 117),
    "unlinkat": (263, 35), "mkdirat": (258, 34), "ftruncate": (77, 46), "prctl": (157, 167), "clone3": (435, 435),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_allows_computing_and_refuses_the_rest(machine):
    column = list(MACHINES).index(machine)
    closed, reading = (seccomp.program(machine, 77, reading=r) for r in (False, True))

    def ask(program, call, *arguments):
        return verdict(program, MACHINES[machine], NUMBERS[call][column], *arguments)

    for call in ("read", "write", "mmap", "exit_group"):
        assert ask(closed, call) == ask(reading, call) == ALLOW
    for call in (
        "socket",
        "connect",
        "execve",
        "kill",
        "ptrace",
        "unlinkat",
        "mkdirat",
        "ftruncate",
        "prctl",
        "clone3",
    ):
        assert ask(closed, call) == ask(reading, call) == NO_SUCH_CALL
    assert [ask(closed, "openat", 0, 0, 0), ask(closed, "statx")] == [NO_SUCH_CALL] * 2
    assert [ask(reading, "openat", 0, 0, 0o2000000), ask(reading, "statx")] == [ALLOW] * 2
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o20200000):  # write, both, create, cut, a file without a name
        assert ask(reading, "openat", 0, 0, flags) == NO_SUCH_CALL
    assert ask(closed, "clone", 0x3D0F00) == ALLOW  # a thread, as the C library makes it
    assert ask(closed, "clone", 0x1200011) == ask(closed, "clone", 17) == NO_SUCH_CALL  # a process
    assert {ask(closed, "mmap", 0, 0, 0, kind) for kind in (0x2, 0x22, 0x32)} == {ALLOW}
    assert {ask(closed, "mmap", 0, 0, 0, kind) for kind in (0x1, 0x3, 0x21)} == {NO_SUCH_CALL}  # shared
    assert (ask(closed, "tgkill", 77), ask(closed, "tgkill", 78)) == (ALLOW, NO_SUCH_CALL)
    assert (ask(closed, "prlimit64", 0, 7, 0), ask(closed, "prlimit64", 0, 7, 1 << 40)) == (ALLOW, NO_SUCH_CALL)
    assert (ask(closed, "ioctl", 0, 0x5401), ask(closed, "ioctl", 0, 0x5412)) == (ALLOW, NO_SUCH_CALL)
    assert [ask(closed, "fcntl", 0, c) for c in (1, 3, 4, 8, 1030)] == [ALLOW, ALLOW, NO_SUCH_CALL, NO_SUCH_CALL, ALLOW]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_knows_no_other_calls(machine):
    program = seccomp.program(machine, 77, reading=False)
    column = list(MACHINES).index(machine)
    known = {numbers[column] for numbers in seccomp.COMPUTING.values()} | {
        NUMBERS[c][column] for c in ("clone", "ioctl")
    }
    allowed = {n for n in range(1000) if verdict(program, MACHINES[machine], n, 0, 0x5401) == ALLOW}
    by_arguments = {NUMBERS[call][column] for call in ("clone", "ioctl", "mmap", "prlimit64")}
    assert allowed <= known | by_arguments and len(allowed) > 35
    high = random.Random(0).sample(range(1000, 1 << 31), 2000)
    assert not [
        n for n in (*high, *(0x40000000 + n for n in range(600))) if verdict(program, MACHINES[machine], n) == ALLOW
    ]


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_machine_end_the_process(machine):
    program = seccomp.program(machine, 77, reading=True)
    assert {verdict(program, other, 0) for other in (0x40000003, 0x40000028, 0)} == {KILL}


# --- how strong ----------------------------------------------------------------------------------------------------


@linux
@pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
def test_on_linux_every_wall_stands():
    found = strength()
    assert set(found.walls) == set(WALLS) and all(found.walls.values())
    assert not found.missing(FOR_HOST_CODE) and not found.missing(FOR_CPP)
    assert "can open no file" in found.sentence


# A process in which some calls of the system do not exist, as in old kernels and strict containers.
LESS = """
import ctypes, json, struct
numbers = {numbers}
code = [(0x20, 0, 0, 0), *(i for n in numbers for i in ((0x15, 0, 1, n), (6, 0, 0, 0x50026))), (6, 0, 0, 0x7FFF0000)]
raw = b"".join(struct.pack("=HBBI", *i) for i in code)
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(len(code), raw))) == 0
from gpukit.sandbox import strength
found = strength()
print(json.dumps([dict(found.walls), found.sentence, found.landlock]))
"""


def walls_without(*numbers):
    import json

    done = subprocess.run(
        [sys.executable, "-c", LESS.format(numbers=list(numbers))], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@linux
def test_without_landlock_host_code_is_as_confined_as_with_it():
    walls, sentence, version = walls_without(444, 445, 446)
    assert version == 0
    assert {wall for wall, stands in walls.items() if not stands} == {"some reads"}
    assert "some reads" not in FOR_HOST_CODE and "some reads" not in FOR_CPP
    assert sentence.endswith("students' code could read files besides the compiler's headers")


@linux
def test_without_a_filter_the_walls_that_fell_are_named():
    walls, sentence, _ = walls_without(317 if platform.machine() == "x86_64" else 277)
    assert not walls["network"] and "use the network" in sentence
    assert walls["memory"] and walls["time"]


@linux
def test_without_either_nothing_is_claimed():
    filters = 317 if platform.machine() == "x86_64" else 277
    walls, _, _ = walls_without(444, 445, 446, filters)
    assert not any(walls[wall] for wall in ("reads", "some reads", "network", "programs", "signals"))
    assert set(FOR_HOST_CODE) & {wall for wall, stands in walls.items() if not stands}
