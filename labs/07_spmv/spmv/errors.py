"""What can be wrong with a matrix."""

from gpukit.errors import GpukitError


class MatrixError(GpukitError):
    """A matrix that is malformed, or of a kind that no kernel here takes."""
