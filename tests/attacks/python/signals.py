"""Take the time limit's signal, and send one to the parent.

Deserves: refused
Named: an import of os
"""

import os
import signal

signal.signal(signal.SIGALRM, signal.SIG_IGN)
os.kill(os.getppid(), signal.SIGTERM)
