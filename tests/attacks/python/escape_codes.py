"""A TODO that writes over the terminal, or into a page.

Deserves: 0 points
Named: not started
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    raise NotImplementedError("TODO 5.3: \x1b[2J\x1b[31mPASSED</pre><script>alert(1)</script>")
