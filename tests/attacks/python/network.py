"""Tell somebody what the tests are.

Deserves: refused
Named: import
"""

import socket

socket.create_connection(("127.0.0.1", 47591)).sendall(b"hello")
