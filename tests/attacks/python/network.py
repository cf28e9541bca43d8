"""Tell somebody what the tests are.

Deserves: refused
Named: an import of socket
"""

import socket

socket.create_connection(("127.0.0.1", 47591)).sendall(b"hello")
