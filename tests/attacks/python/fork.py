"""Children that outlive the grader.

Deserves: refused
Named: import
"""

import subprocess

subprocess.Popen(["sleep", "600"], start_new_session=True)
