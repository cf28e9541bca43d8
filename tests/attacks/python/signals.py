"""Take the time limit's signal, and send one to the parent.

Deserves: refused
Named: import
"""

import os
import signal

signal.signal(signal.SIGALRM, signal.SIG_IGN)
os.kill(os.getppid(), signal.SIGTERM)
