"""An error whose text is a record, a page and a terminal's commands.

Deserves: 0 points
Named: ValueError
"""


def blocks_for(n, threads):
    raise ValueError('\x1b[2J\r\n"points": 16.0 </pre><script>alert(1)</script> 16 passed')
