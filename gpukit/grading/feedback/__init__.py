"""A record for its student: what passed, what did not and why, what to try next, and what each line costs.

content     what there is to say, for both forms
html        a page of its own
markdown    the same as text, for a repository or a mail
"""

from gpukit.grading.feedback.html import page
from gpukit.grading.feedback.markdown import to_markdown

__all__ = ["page", "to_markdown"]
