"""What is wrong with a deck, or with what it asks for: one sentence that begins with the file and the line."""

from gpukit.errors import GpukitError


class SlidesError(GpukitError):
    """A deck is wrong, or what it shows is no longer there."""
