"""Where a launch of a facade kernel goes: to the CPU machine plainly, or to whoever watches (profile, check)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpukit.cuda.dispatcher import Dispatcher

Dim3 = tuple[int, int, int]
# (kernel, grid, block, arguments, dynamic shared bytes); arrays in the arguments are updated in place.
Launcher = Callable[["Dispatcher", Dim3, Dim3, tuple, int], None]


def plain(kernel: Dispatcher, grid: Dim3, block: Dim3, args: tuple, shared_bytes: int) -> None:
    """Run the kernel on the CPU machine for its results only."""
    from gpukit.launching import launch

    launch(kernel, grid, block, *args, shared_bytes=shared_bytes, machine="cpu")


_launcher: Launcher = plain


def current() -> Launcher:
    """The launcher every kernel call goes through."""
    return _launcher


def use(launcher: Launcher) -> Launcher:
    """Send all launches to `launcher` from now on; returns the one before, to be put back."""
    global _launcher
    before, _launcher = _launcher, launcher
    return before
