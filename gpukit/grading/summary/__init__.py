"""The records of a class as a whole, for its instructor.

    model        the figures: who passed what, hazards, costs, what to talk about
    similarity   submissions that are the same, or the same but for names and comments
    html         a page for the projector, without names, and one for the instructor's desk
    markdown     the same as text

What is shown to a class names no student. Who needs a look, and why, is on a page of its own.
"""

from gpukit.grading.summary.model import Summary, summarize

__all__ = ["Summary", "summarize"]
