"""Children that outlive the grader.

Deserves: refused
Named: an import of subprocess
"""

import subprocess

subprocess.Popen(["sleep", "600"], start_new_session=True)
