"""An answer whose text is a page and a terminal's commands, and reads backwards.

Deserves: 0 points
Named: another answer
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "\x1b[2Jmemory</pre><script>alert(1)</script>\u202e"
