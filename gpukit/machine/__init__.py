"""The CPU machine: a program of lane operations, and what runs it as a GPU would."""
