"""Import without the word import.

Deserves: refused
Named: __import__
"""

os = __import__("os")
os.system("touch /CANARY/written_by_dunder_import")
