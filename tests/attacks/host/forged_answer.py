"""An answer whose text is a record, a page and a terminal's commands.

Deserves: 0 points
Named: half a surrogate pair
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "\x1b[2Jmemory</pre><script>alert(1)</script>\ud83d\ude00\u202e"
