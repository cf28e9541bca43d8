"""Leave a file behind.

Deserves: refused
Named: nothing is called outside functions
"""

STEPS = open("/CANARY/written_by_a_kernel_file", "w").write("was here")
