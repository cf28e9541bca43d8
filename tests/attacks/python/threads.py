"""A thread that changes the answers later.

Deserves: refused
Named: import
"""

import threading

threading.Thread(target=lambda: None, daemon=True).start()
