"""Leave a file behind.

Deserves: refused
Named: a call
"""

STEPS = open("/CANARY/written_by_a_kernel_file", "w").write("was here")
