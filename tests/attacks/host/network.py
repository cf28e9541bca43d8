"""Call home.

Deserves: refused
Named: an import of socket
"""

import socket


def blocks_for(n, threads):
    socket.create_connection(("127.0.0.1", 47591))
    return 1
