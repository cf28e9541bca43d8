"""What can be wrong with a click log, a model, or what is asked of them."""

from gpukit.errors import GpukitError


class CtrError(GpukitError):
    """A click log, a checkpoint or a setting that cannot be used, and what to do about it."""


def in_short(error: BaseException) -> str:
    """Of an error that is not ours: its type, and what it says, on one line of 300 characters and less."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
