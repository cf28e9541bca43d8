"""The command line. The only place that prints, writes files and chooses exit codes.

Exit codes: 0 all is well, 1 an error or (for `check`) a hazard of severity error, 2 wrong usage, 130 interrupted,
70 a bug in gpukit; a script's own exit code is kept. Everything a command needs is imported inside it, so that
`gpukit --help` costs nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpukit import __version__, plugins
from gpukit.cli import families, grading, labs, output, releasing, slides
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from gpukit.comparison import LevelComparison
    from gpukit.cuda.launching import Launcher
    from gpukit.registry import Family, Rung
    from gpukit.report import Report
    from gpukit.scripts import Launches

EXIT_ERROR, EXIT_BUG, EXIT_INTERRUPTED = 1, 70, 130

# FILE.py:kernel, FILE.cu:kernel or FILE.cu:kernel<256>. What follows the file's ending counts, so that
# C:\course\reduce.py:naive works.
KERNEL_TARGET = re.compile(r"(?P<file>.+\.(?:py|cu|cuh|ptx)):(?P<kernel>[A-Za-z_:$].*)")
KERNEL_FILES = (".py", ".cu", ".cuh", ".ptx")
LEVELS = ("source", "compiled", "both")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code and never lets a traceback of gpukit through."""
    _never_fail_on_characters()
    try:
        code = cli.main(args=None if argv is None else list(argv), prog_name="gpukit", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("gpukit: stopped.", err=True)
        return EXIT_INTERRUPTED
    except GpukitError as error:
        click.echo(f"gpukit: {error}{_quoted(error)}", err=True)
        return EXIT_ERROR
    except BrokenPipeError:
        return _reader_went_away()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "gpukit":
            raise
        click.echo(f"gpukit: this command needs {error.name}: python -m pip install {error.name}", err=True)
        return EXIT_ERROR
    except Exception as error:
        if os.environ.get("GPUKIT_TRACEBACK"):
            raise
        message = f"gpukit: this is a bug in gpukit, not in your kernel: {type(error).__name__}: {error}"
        click.echo(f"{message}\nPlease report it with what GPUKIT_TRACEBACK=1 prints.", err=True)
        return EXIT_BUG
    return code if isinstance(code, int) else 0


def _never_fail_on_characters() -> None:
    """A terminal that cannot show a character of the student's source shows '?' instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _quoted(error: GpukitError) -> str:
    """The source line an error is about, to print under it; '' where it cannot be read."""
    if not error.file or not error.line:
        return ""
    try:
        lines = Path(error.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return f"\n{error.line:7} | {lines[error.line - 1].rstrip()}" if error.line <= len(lines) else ""


def _reader_went_away() -> int:
    # Python flushes stdout at exit; without this it would complain there about the same broken pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_ERROR


# --- groups and shared options ---------------------------------------------------------------------------------------


class _TargetCommand(click.Command):
    """A command whose first argument is a script or FILE:kernel.

    What stands after a script belongs to the script; what stands after FILE:kernel are gpukit's own options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        target = next((arg for arg in args if arg.endswith(KERNEL_FILES) or KERNEL_TARGET.fullmatch(arg)), "")
        ctx.allow_interspersed_args = not target.endswith(KERNEL_FILES)
        return super().parse_args(ctx, args)


class _Shape(click.ParamType):
    """1 to 3 sizes: 256, 16,16 or 16x16x4."""

    name = "X[,Y[,Z]]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = re.split(r"[,x]", value.strip().strip("()").replace("_", "").replace(" ", ""))
        if not 1 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
            self.fail(f"{value!r} is not a shape; write 256, 16,16 or 8,8,4.", param, ctx)
        return tuple(int(part) for part in parts)


ARGUMENT_HELP = (
    "Once per parameter. VALUE is a number (42, 1.5, true, float32(1.5)), an array (float32[1048576]:ones, "
    "int32[64,64]:arange, float64[100]:random(7), int32[8]:full(3); zeros if no fill is given) or @FILE.npy. "
    "In CUDA C++ numbers take the parameter's type, and an array's may be left out: [1048576]:ones."
)
LEVEL_HELP = (
    "source: what the source says; compiled: what the compiler made of it, as the hardware counts. Python has both and "
    "source by default, CUDA C++ the compiled level only."
)


MACHINE_HELP = (
    "gpu: launch the kernel on this computer's GPU too, once, under Nsight Compute (ncu), and show the hardware's "
    "counters beside those of the CPU machine. With FILE:KERNEL."
)


def _launch_options(command: Callable) -> Callable:
    options = (
        click.argument("target", metavar="SCRIPT.py | FILE:KERNEL | FAMILY.RUNG"),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]..."),
        click.option("--grid", type=_Shape(), help="Blocks per axis, for FILE:KERNEL."),
        click.option("--block", type=_Shape(), help="Threads per block and axis, for FILE:KERNEL and FAMILY.RUNG."),
        click.option("--n", type=families.Size(), help="Size of the problem, for FAMILY.RUNG."),
        click.option("--arg", "-a", "specs", multiple=True, metavar="NAME=VALUE", help=ARGUMENT_HELP),
        click.option("--shared", type=click.IntRange(min=0), default=0, help="Dynamic shared memory, in bytes."),
        click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro, for a .cu file."),
        click.option("-I", "includes", multiple=True, metavar="FOLDER", help="Look for headers there, for a .cu file."),
        click.option(
            "--option",
            "compiler",
            multiple=True,
            metavar="OPTION",
            help="Any other option of the CUDA compiler, such as --option=--std=c++20, for a .cu file.",
        ),
        click.option(
            "--json", "json_file", type=click.Path(dir_okay=False), help="Write the report as JSON ('-': print)."
        ),
        click.option("--html", "html_file", type=click.Path(dir_okay=False), help="Write the report as a web page."),
        click.option(
            "--gpu", help="GPU to state occupancy for (H200 if none is named), and memory bound or compute bound."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _level_option(*levels: str) -> Callable:
    more = " both: side by side, with the reason for each difference." if "both" in levels else ""
    return click.option("--level", type=click.Choice(levels), help=LEVEL_HELP + more)


def _print_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"gpukit {__version__}")
        ctx.exit()


class _Commands(click.Group):
    """gpukit's own commands, and those that the labs here bring: these are looked for when none of gpukit's is meant,
    and in the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *plugins.commands()[0]})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name) or plugins.command(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from gpukit.registry import nearest

            guess = nearest(name, self.list_commands(ctx))
            ctx.fail(f"gpukit has no command {name!r}, and no lab here brings it{guess}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        if faults := plugins.commands()[1]:
            formatter.write("\nCannot be used:\n" + "".join(f"  {fault}\n" for fault in faults))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Run, profile and check CUDA kernels on any CPU, warp by warp."""


# --- commands --------------------------------------------------------------------------------------------------------


@cli.command(short_help="See what a GPU does to a kernel, in under 20 seconds.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the figures.")
def tour(out: Path | None) -> None:
    """See divergence, coalescing, reductions, a sparse product and a hazard, in under 20 seconds."""
    from gpukit import tour as guide

    guide.run(out or guide.DEFAULT_FOLDER, output.console())


@cli.command(cls=_TargetCommand, short_help="Run a CUDA script in Python, unmodified, on the CPU machine.")
@click.argument("script", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@_level_option("source", "compiled")
def run(script: str, arguments: tuple[str, ...], level: str | None) -> int:
    """Run a SCRIPT.py that uses numba.cuda or cupy.RawKernel, unmodified, on the CPU machine."""
    if KERNEL_TARGET.fullmatch(script):
        raise click.UsageError(f"gpukit run takes a script; to run one kernel use: gpukit profile {script}")
    from gpukit import scripts

    return _run_script(script, arguments, scripts.plain(level))


@cli.command(cls=_TargetCommand, short_help="Count what a kernel does, line by line.")
@_launch_options
@_level_option(*LEVELS)
@click.option("--machine", type=click.Choice(("cpu", "gpu")), default="cpu", help=MACHINE_HELP)
def profile(target: str, arguments: tuple[str, ...], machine: str, **options: Any) -> int:
    """Count what a kernel does, line by line: for a SCRIPT.py at each launch, or for one kernel of a .py, .cu or .ptx
    file, such as reduce.py:naive or 'reduce.cu:reduce<256>'; for a rung of a family, such as reduction.naive, with
    arguments of its own."""
    if machine == "gpu":
        return _profile_on_gpu(target, arguments, **options)
    return _measure(target, arguments, "profile", **options)


@cli.command(cls=_TargetCommand, short_help="Look for races, wrong barriers, bad indices and more.")
@_launch_options
@_level_option("source", "compiled")
def check(target: str, arguments: tuple[str, ...], **options: Any) -> int:
    """Look for races, wrong barriers, bad indices and more; exit code 1 if there is an error."""
    return _measure(target, arguments, "check", **options)


cli.add_command(families.list_kernels)
cli.add_command(families.bench)
cli.add_command(releasing.release)
cli.add_command(slides.slides)
cli.add_command(grading.grade)
cli.add_command(grading.autograder)
for command in labs.COMMANDS:
    cli.add_command(command)


@cli.command(short_help="Show what this machine has, lacks and how to add it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Show what this machine can do, what is missing and the command that adds it."""
    from gpukit import doctor as clinic

    checks = clinic.diagnose()
    if as_json:
        click.echo(json.dumps(clinic.to_dict(checks), indent=2))
        return
    console = output.console()
    console.print(clinic.render(checks), highlight=False)
    if any(" -e " in check.fix for check in checks):
        console.print("\nGive commands with -e in the folder that holds gpukit's pyproject.toml.", highlight=False)


# --- from a target to a report ---------------------------------------------------------------------------------------


def _measure(
    target: str,
    arguments: tuple[str, ...],
    mode: str,
    json_file: str | None,
    html_file: str | None,
    gpu: str | None,
    level: str | None,
    **launch: Any,
) -> int:
    """Profile or check a script or one kernel, show what was found, and give the exit code."""
    import gpukit
    from gpukit.gpus import find_gpu

    if gpu is not None:
        find_gpu(gpu)  # a misspelt name shows before a long run, not after it
    kernel = KERNEL_TARGET.fullmatch(target)
    if kernel is None and (named := families.rung_of(target)) is not None:
        return _measure_rung(*named, arguments, mode, json_file, html_file, gpu, level, launch)
    if launch.pop("n") is not None:
        raise click.UsageError("--n goes with FAMILY.RUNG, which makes its own arguments.")
    if kernel is None:
        _check_is_script(target)
        return _measure_script(target, arguments, mode, json_file, html_file, gpu, level, launch)
    if arguments:
        raise click.UsageError(f"unexpected {arguments[0]!r}; give the kernel's arguments with --arg NAME=VALUE.")
    with _errors_in(json_file, kernel["file"], kernel["kernel"]):
        run = _launcher(f"gpukit {mode}", kernel["file"], kernel["kernel"], gpu, **launch)
        if level == "both":
            _deliver_comparison(run(gpukit.compare_levels), json_file, html_file)
            return 0
        report = run(gpukit.profile, level=level)
    _deliver(report, json_file, html_file, gpu, hazards_only=mode == "check")
    return EXIT_ERROR if mode == "check" and report.errors else 0


def _measure_rung(
    family: Family,
    rung: Rung,
    arguments: tuple[str, ...],
    mode: str,
    json_file: str | None,
    html_file: str | None,
    gpu: str | None,
    level: str | None,
    launch: dict[str, Any],
) -> int:
    """Profile or check a rung of a family on its own problem: each launch of its plan."""
    from gpukit.bench import counting
    from gpukit.progress import launch_progress
    from gpukit.scripts import Launches

    n, block = launch.pop("n"), launch.pop("block")
    if arguments or any(launch.values()):
        raise click.UsageError(
            f"{family.name}.{rung.key} brings its grid and arguments; only --n and --block are yours to choose."
        )
    if level == "source" and rung.language == "CUDA C++":
        raise click.UsageError(f"{family.name}.{rung.key} is CUDA C++, which has no source level.")
    with families.planned(family, rung, n, block) as plan, launch_progress(rung.key) as progress:
        if level == "both":
            if len(plan.launches) > 1 and (json_file or html_file):
                raise click.UsageError(
                    f"{family.name}.{rung.key} has {len(plan.launches)} launches: leave out --level."
                )
            for comparison in counting.compare(plan, gpu=gpu, progress=progress):
                _deliver_comparison(comparison, json_file, html_file)
            return 0
        reports = counting.profile(plan, level=level, gpu=gpu, progress=progress)
    if len(reports) == 1:
        _deliver(reports[0], json_file, html_file, gpu, hazards_only=mode == "check")
    else:
        launches = Launches(gpu, level)
        for report in reports:
            launches.add(report)
        _deliver_launches(launches, mode, json_file, html_file, gpu)
    return EXIT_ERROR if mode == "check" and any(report.errors for report in reports) else 0


def _profile_on_gpu(
    target: str,
    arguments: tuple[str, ...],
    json_file: str | None,
    html_file: str | None,
    gpu: str | None,
    level: str | None,
    **launch: Any,
) -> int:
    """Show the counters of one launch on both machines. Counters that cannot be read are a warning, no error: the CPU
    machine's are there."""
    kernel = KERNEL_TARGET.fullmatch(target)
    if kernel is None and (named := families.rung_of(target)) is not None:
        place = named[1].place or "none"
        raise click.UsageError(f"--machine gpu takes FILE:KERNEL; the kernel of {target} is {place}.")
    if launch.pop("n") is not None:
        raise click.UsageError("--n goes with FAMILY.RUNG, which makes its own arguments.")
    if kernel is None:
        _check_is_script(target)
        raise click.UsageError(
            "--machine gpu takes FILE:KERNEL; a whole script profiles on a GPU by itself: ncu python SCRIPT.py."
        )
    if arguments:
        raise click.UsageError(f"unexpected {arguments[0]!r}; give the kernel's arguments with --arg NAME=VALUE.")
    if level == "both" or html_file is not None or gpu is not None:
        raise click.UsageError("--level both, --html and --gpu go with --machine cpu.")
    from gpukit.gpu import Gpu, profiling
    from gpukit.gpu.ncu import Spec

    with _errors_in(json_file, kernel["file"], kernel["kernel"]):
        run = _launcher("gpukit profile --machine gpu", kernel["file"], kernel["kernel"], gpu, **launch)
        spec = Spec(
            *(kernel["file"], kernel["kernel"], launch["grid"], launch["block"], launch["specs"], launch["shared"]),
            _compiler_options(launch["defines"], launch["includes"], launch["compiler"]),
        )
        found = run(profiling.on_both_machines, spec=spec, card=Gpu().card, level=level)
    if json_file is not None:
        output.write(json_file, json.dumps(found.to_dict(), indent=2) + "\n")
    if json_file != "-":
        from gpukit.gpu import terminal

        terminal.show(found, output.console())
    if found.why_not:
        click.echo(f"gpukit: {found.why_not}.", err=True)
    return 0


@contextlib.contextmanager
def _errors_in(json_file: str | None, file: str, kernel: str) -> Iterator[None]:
    """A kernel that does not compile or run leaves its error where its report would have been."""
    try:
        yield
    except GpukitError as error:
        if json_file is not None:
            what = {"message": str(error), "file": error.file or file, "line": error.line}
            output.write(json_file, json.dumps({"kernel": kernel, "file": file, "error": what}, indent=2) + "\n")
        raise


def _launcher(
    command: str,
    file: str,
    name: str,
    gpu: str | None,
    grid: tuple[int, ...] | None,
    block: tuple[int, ...] | None,
    specs: tuple[str, ...],
    shared: int,
    defines: tuple[str, ...],
    includes: tuple[str, ...],
    compiler: tuple[str, ...],
) -> Callable:
    """A function that calls `gpukit.profile` or its like with the kernel and arguments that were asked for."""
    from gpukit import targets
    from gpukit.progress import launch_progress

    options = _compiler_options(defines, includes, compiler)
    if grid is None or block is None:
        example = _example(command, file, name, options, grid, block)
        text = "one kernel needs --grid and --block" + ("." if example else ", for example --grid 64 --block 256.")
        raise click.UsageError(_with_example(text, example))
    target = targets.find(file, name, options)
    try:
        values = target.values(specs)
    except GpukitError as error:
        text = _with_example(str(error), target.example(command, grid, block))
        raise click.BadParameter(text, param_hint="--arg") from None

    def run(function: Callable, **more: Any) -> Any:
        with launch_progress(name) as progress:
            return function(
                target.kernel, grid, block, *values, shared_bytes=shared, gpu=gpu, progress=progress, **more
            )

    return run


def _compiler_options(defines: Sequence[str], includes: Sequence[str], compiler: Sequence[str]) -> tuple[str, ...]:
    return (*(f"-D{define}" for define in defines), *(f"-I{folder}" for folder in includes), *compiler)


def _example(
    command: str,
    file: str,
    name: str,
    options: Sequence[str],
    grid: tuple[int, ...] | None,
    block: tuple[int, ...] | None,
) -> str:
    """A whole command line for a kernel, '' where there is none to give."""
    from gpukit import targets

    try:
        return targets.find(file, name, options).example(command, grid, block)
    except GpukitError:
        return ""


def _with_example(text: str, example: str) -> str:
    return f"{text}\nFor example:\n\n    {example}\n" if example else text


def _measure_script(
    script: str,
    arguments: Sequence[str],
    mode: str,
    json_file: str | None,
    html_file: str | None,
    gpu: str | None,
    level: str | None,
    launch: dict[str, Any],
) -> int:
    """Run a script and report its launches; the script's exit code, or 1 if a check of a clean exit finds an error."""
    from gpukit.scripts import Launches

    if any(launch.values()) or level == "both":
        raise click.UsageError(
            "a script launches its kernels by itself; --grid, --block, --arg, --shared, the compiler's options and "
            "--level both go with FILE:KERNEL."
        )
    own = [name for name in arguments if name.partition("=")[0] in ("--json", "--html", "--gpu", "--level")]
    if own:
        click.echo(f"gpukit: {own[0]} after {script} goes to the script; before it, it is gpukit's.", err=True)
    launches = Launches(gpu, level)
    # With --json - the script prints to stderr, so that standard output is JSON and nothing else.
    with contextlib.redirect_stdout(sys.stderr) if json_file == "-" else contextlib.nullcontext():
        code = _run_script(script, arguments, launches.launch)
    if not launches.total:
        if code == 0:
            click.echo("gpukit: the script launched no kernel.", err=True)
        return code
    _deliver_launches(launches, mode, json_file, html_file, gpu)
    failed = mode == "check" and any(report.errors for report, _ in launches.reports)
    return max(code, EXIT_ERROR) if failed else code


def _run_script(script: str, arguments: Sequence[str], launcher: Launcher) -> int:
    """Run a script on the CPU machine; the exit code it ended with."""
    from gpukit import scripts

    _check_is_script(script)
    if not Path(script).is_file():
        raise GpukitError(f"there is no file {script}; give the path of a Python script or FILE:KERNEL.")
    return scripts.run_script(script, [script, *arguments], launcher)


def _check_is_script(target: str) -> None:
    """A file of C++ or PTX is no script: one of its kernels must be named."""
    from gpukit import levels, targets

    if levels.is_cpp_file(target):
        names = targets.shown_names(levels.load(target))
        known = ", ".join(names) or "none"
        text = f"{target} is no Python script; name one of its kernels: {target}:KERNEL ({known})."
        example = _example("gpukit check", target, names[0], (), None, None) if names else ""
        raise click.UsageError(_with_example(text, example))


# --- output ----------------------------------------------------------------------------------------------------------


def _deliver(report: Report, json_file: str | None, html_file: str | None, gpu: str | None, hazards_only: bool) -> None:
    """Print the report and write the files that were asked for."""
    from gpukit.gpus import DEFAULT_GPU
    from gpukit.report import html, terminal

    gpu = gpu or DEFAULT_GPU
    if html_file is not None:
        output.write(html_file, html.page([(report, "")], gpu))
    if json_file is not None:
        output.write(json_file, json.dumps(report.to_dict(gpu), indent=2) + "\n")
    if json_file == "-":
        return
    terminal.show(report, output.console(), gpu, hazards_only=hazards_only)


def _deliver_comparison(comparison: LevelComparison, json_file: str | None, html_file: str | None) -> None:
    """The same for a kernel at both levels."""
    from gpukit.comparison import html, terminal

    if html_file is not None:
        output.write(html_file, html.page(comparison))
    if json_file is not None:
        output.write(json_file, json.dumps(comparison.to_dict(), indent=2) + "\n")
    if json_file != "-":
        terminal.show(comparison, output.console())


def _deliver_launches(
    launches: Launches, mode: str, json_file: str | None, html_file: str | None, gpu: str | None
) -> None:
    """The same for the launches of a script: what is alike is shown once."""
    from gpukit.gpus import DEFAULT_GPU
    from gpukit.report import html, terminal

    gpu = gpu or DEFAULT_GPU
    groups = launches.groups
    if html_file is not None:
        output.write(html_file, html.page([(group.example, group.note) for group in groups], gpu))
    if json_file is not None:
        listed = [{"launches": times, **report.to_dict(gpu)} for report, times in launches.reports]
        output.write(json_file, json.dumps(listed, indent=2) + "\n")
    if json_file == "-":
        return
    console = output.console()
    if mode == "check":
        terminal.show_hazards(launches.reports, launches.total, console)
        return
    for group in groups:
        terminal.show(group.example, console, gpu, group.note)
        console.print()
    if len(groups) > 1:
        terminal.show_overview([(group.example, group.launches) for group in groups], console, gpu)
