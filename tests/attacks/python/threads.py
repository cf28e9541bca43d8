"""A thread that changes the answers later.

Deserves: refused
Named: an import of threading
"""

import threading

threading.Thread(target=lambda: None, daemon=True).start()
