"""The commands about families of kernels: `gpukit list`, `gpukit bench`, and FAMILY.RUNG as a target."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpukit import files
from gpukit.cli import output
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from gpukit.registry import Family, Plan, Rung

KERNEL_SUFFIXES = (".py", ".cu", ".cuh", ".ptx")
RUNG_TARGET = re.compile(r"(?P<family>[A-Za-z_]\w*)\.(?P<rung>(?:cpp:)?[A-Za-z_]\w*)")


class Size(click.ParamType):
    """A size as people write it: 1048576, 1_048_576, 2^20, 2**20 or 1<<20."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.replace("_", "").replace(",", "").replace(" ", "")
        power = re.fullmatch(r"(\d+)(\^|\*\*|<<)(\d+)", text)
        if re.fullmatch(r"[+-]?\d{1,30}", text):
            size = int(text)
        elif power and len(power[1]) <= 9 and int(power[3]) <= 200:
            base, exponent = int(power[1]), int(power[3])
            size = base << exponent if power[2] == "<<" else base**exponent
        else:
            self.fail(f"{value!r} is not a size; write a whole number such as 1048576, or 2^20.", param, ctx)
        if size < 1:
            self.fail(f"{value} leaves nothing to measure; give 1 or more.", param, ctx)
        return size


# --- gpukit bench ----------------------------------------------------------------------------------------------------


class _Benchmarks(click.Group):
    """`gpukit bench machine`, and a command for each family there is: a lab's own, where the lab brings one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from gpukit import registry

        return [*super().list_commands(ctx), *registry.families()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        known = super().get_command(ctx, name)
        if known is not None or name.startswith("-"):
            return known
        from gpukit import plugins, registry

        if name not in registry.own_families() and (plugin := plugins.named(name)) is not None:
            known = plugin.bench()
        return known or _family_command(registry.find_family(name))  # its error names the families there are


@click.group(cls=_Benchmarks, short_help="Measure a family of kernels, or the CPU machine itself.")
def bench() -> None:
    """Check, count and time every rung of a family of kernels; or time the CPU machine itself.

    \b
        gpukit bench reduction
        gpukit bench reduction --machine gpu --out reduction.json --plot figures
        gpukit bench machine

    `gpukit list` shows the families.
    """


@bench.command(name="machine", short_help="Time the CPU machine against numba's simulator.")
@click.option("--quick", is_flag=True, help="A smaller comparison: seconds instead of minutes.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write the measurements as JSON.")
def bench_machine(quick: bool, json_file: str | None) -> None:
    """Time the CPU machine against numba's simulator on the same kernels, and its peak memory."""
    from gpukit.bench import machine

    result = machine.measure(quick, say=lambda text: click.echo(f"{text} ...", err=True))
    machine.show(result, output.console())
    if json_file is not None:
        output.write(json_file, json.dumps(result, indent=2) + "\n")


def _family_command(family: Family) -> click.Command:
    about = family.document.strip().partition("\n")[0]
    options = [
        click.Option(
            ["--machine"],
            type=click.Choice(["cpu", "gpu"]),
            default="cpu",
            show_default=True,
            help="cpu: counters, and times that say nothing about a GPU; gpu: an NVIDIA GPU.",
        ),
        click.Option(["--n"], type=Size(), help=f"Size: {family.size}."),
        click.Option(["--block"], type=int, metavar="THREADS", help=f"Threads per block; {family.block} by default."),
        click.Option(["--rung", "rungs"], multiple=True, metavar="NAME", help="Measure this rung, and the one it is "
                     "compared with; may be given several times."),
        click.Option(["--seed"], type=click.IntRange(min=0), default=0, show_default=True, help="Of random input."),
        click.Option(["--repeats"], type=click.IntRange(min=1), help="Timed runs of each rung."),
        click.Option(["--out"], type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON."),
        click.Option(["--plot"], type=click.Path(path_type=Path), metavar="FOLDER", help="Draw figures there."),
        click.Option(["--recorded"], is_flag=True, help="Show the newest recording on a GPU, and measure nothing."),
        click.Option(["--published"], is_flag=True, help="Show figures that others published, too."),
    ]  # fmt: skip

    def measure(**given: Any) -> int:
        return _bench_family(family, **given)

    help_text = f"{about}\n\nEvery rung is checked first; one that is wrong is not timed. Exit code 1 if any is wrong."
    return click.Command(family.name, params=list(options), callback=measure, help=help_text, short_help=about)


def _bench_family(
    family: Family,
    machine: str,
    n: int | None,
    block: int | None,
    rungs: tuple[str, ...],
    seed: int,
    repeats: int | None,
    out: Path | None,
    plot: Path | None,
    recorded: bool,
    published: bool,
) -> int:
    """Measure a family, or take what was measured; show it, write what was asked for; 1 if a rung is wrong."""
    from gpukit.bench import family as measuring
    from gpukit.bench import figures, table
    from gpukit.bench import recorded as recordings

    if recorded and (machine != "cpu" or n or block or rungs or repeats):
        raise click.UsageError(
            "a recording is as it was made: --recorded goes with --out, --plot and --published, not with "
            "--machine gpu, --n, --block, --rung or --repeats."
        )
    if out is not None:
        output.refuse_unwritable(out)
    if plot is not None:
        output.make_folder(plot)
    console = output.console()
    if recorded:
        found = recordings.newest(family.name)
        if found is None:
            raise GpukitError(
                f"no recording of {family.name} on a GPU comes with gpukit; measure it where there is one"
            )
        result = found
        console.print(f"Recorded, not measured here: data/results/{result['file']}\n", style="bold", highlight=False)
    else:
        result = _measured(family, machine, n=n, block=block, rungs=rungs, seed=seed, repeats=repeats)
    table.show(result, console)
    if "recorded" in result:
        console.print()
        table.show_recorded(result["recorded"], family.name, console)
    if published:
        console.print()
        table.show_published(result, recordings.published(family.name), console)
    if out is not None:
        files.write_whole(out, json.dumps(result, indent=1) + "\n")
    if plot is not None:
        for path in figures.draw(result, family, plot, lambda text: click.echo(f"gpukit: {text}", err=True)):
            click.echo(f"wrote {path}")
    return 1 if any(entry["status"] == measuring.WRONG for entry in result["rungs"]) else 0


def _measured(family: Family, machine: str, **given: Any) -> dict[str, Any]:
    """A family measured here and now, with progress where somebody looks."""
    from gpukit import devices
    from gpukit.bench import family as measuring
    from gpukit.progress import step_progress

    device = devices.device(machine)
    with step_progress(f"bench {family.name}") as say:
        return measuring.measure(family, device, command=output.typed(), say=say, **given)


# --- gpukit list -----------------------------------------------------------------------------------------------------


@click.command(name="list", short_help="List the families of kernels, or the kernels of files.")
@click.argument("names", nargs=-1, metavar="[FAMILY | FILE | FOLDER]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_kernels(names: tuple[str, ...], as_json: bool) -> None:
    """List the families of kernels that gpukit and the labs here bring, one FAMILY in detail, or the kernels of files
    and folders.

    What is listed can be run: `gpukit profile FAMILY.RUNG`, `gpukit profile FILE:KERNEL`.
    """
    from gpukit import plugins, registry

    known = registry.families()
    chosen = [known[name] for name in names if name in known]
    paths = [Path(name) for name in names if name not in known]
    for path in paths:
        if not path.exists():
            raise click.BadParameter(_no_such(str(path), known), param_hint="[FAMILY | FILE | FOLDER]...")
    if not names:
        for fault in plugins.families()[1]:
            click.echo(f"gpukit: {fault}", err=True)
        _list_families(list(known.values()), as_json, details=False)
    if chosen:
        _list_families(chosen, as_json, details=True)
    if paths:
        _list_files(paths, as_json)


def _no_such(name: str, known: Iterable[str]) -> str:
    from gpukit.registry import nearest

    return f"there is no family, file or folder {name!r}{nearest(name, known)}; the families: {', '.join(known)}."


def _list_families(families: list[Family], as_json: bool, details: bool) -> None:
    from gpukit.bench import listing

    if as_json:
        click.echo(json.dumps([listing.to_dict(family) for family in families], indent=2))
        return
    console = output.console()
    for place, family in enumerate(families):
        if place:
            console.print()
        console.print(listing.detailed(family) if details else listing.brief(family), highlight=False)
    if not details:
        console.print(
            "\ngpukit list FAMILY says more; gpukit bench FAMILY checks and measures all of its rungs; gpukit profile "
            "and gpukit check take one: FAMILY.RUNG.",
            highlight=False,
        )


def _list_files(paths: list[Path], as_json: bool) -> None:
    """FILE:KERNEL of each kernel; a file that cannot be read is one line on stderr."""
    import gpukit
    from gpukit.targets import shown_names

    found = []
    for file in _kernel_files(paths):
        try:
            found += [{"file": str(file), "kernel": name} for name in shown_names(gpukit.load(file))]
        except GpukitError as error:
            click.echo(f"gpukit: {error}", err=True)
    if not found:
        raise GpukitError("no kernels found; a kernel is @cuda.jit in a .py file or __global__ in a .cu file")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for kernel in found:
        click.echo(f"{kernel['file']}:{kernel['kernel']}")


def _kernel_files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.rglob("*") if file.suffix in KERNEL_SUFFIXES) if path.is_dir() else [path]
        files += [file for file in inside if file.name != "__init__.py"]
    return files


# --- FAMILY.RUNG -----------------------------------------------------------------------------------------------------


def rung_of(target: str) -> tuple[Family, Rung] | None:
    """The family and rung that a target such as reduction.naive or reduction.cpp:naive names; None for anything else.

    Raises GpukitError when the family has no such rung.
    """
    found = RUNG_TARGET.fullmatch(target)
    if found is None or target.endswith(KERNEL_SUFFIXES) or Path(target).exists():
        return None
    from gpukit import plugins, registry

    name = found["family"]
    if name not in registry.own_families() and plugins.named(name) is None:
        known = registry.families()
        if name not in known and not registry.nearest(name, known):
            return None
    return (family := registry.find_family(name)), registry.find_rung(family, found["rung"])


@contextlib.contextmanager
def planned(family: Family, rung: Rung, n: int | None, block: tuple[int, ...] | None) -> Iterator[Plan]:
    """A rung on its own problem on the CPU machine: n elements (the family's size by default), `block` threads.

    Raises GpukitError where it does not run there, or has no kernel.
    """
    import numpy as np

    from gpukit.bench import memory, running
    from gpukit.devices import CpuMachine

    cpu = CpuMachine()
    if rung.kernel is None:
        raise GpukitError(f"{family.name}.{rung.key} is no kernel: it runs on the host, which is not counted")
    why = running.why_not(rung, cpu).text
    if why:
        raise GpukitError(f"{family.name}.{rung.key}: {why}")
    size = n or family.cpu_n
    threads = family.block
    if block is not None:
        if len(block) != 1:
            raise click.UsageError(f"--block of {family.name}.{rung.key} is one number of threads")
        threads = block[0]
    memory.refuse_too_large(family, [rung], size, threads, cpu)
    with memory.errors_as_sentences(family, size, cpu):
        problem = family.problem(size, family.kinds[-1], np.random.default_rng([0, size]), cpu)
        yield rung.plan(problem, threads, cpu)
