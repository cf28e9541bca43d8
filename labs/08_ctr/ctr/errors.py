"""What can be wrong with a click log, a model, or what is asked of them."""

from gpukit.errors import GpukitError


class CtrError(GpukitError):
    """A click log, a checkpoint or a setting that cannot be used, and what to do about it."""
