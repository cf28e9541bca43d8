"""Import without the word import.

Deserves: refused
Named: nothing is called outside functions
"""

os = __import__("os")
os.system("touch /CANARY/written_by_dunder_import")
