"""What turns source into a program: one package per language."""
