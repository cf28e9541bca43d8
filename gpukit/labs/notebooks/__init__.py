"""A lab as a notebook, and back.

build(lab)                       the notebook that students get, in the format of nbformat
student_source("lab.ipynb")      the text of student.py that is in a notebook; runs none of it
%load_ext gpukit.labs.notebooks  the cells' magics: %lab, %%task, %machine, %progress

What needs IPython or nbformat is imported when it is asked for: the grader reads notebooks without either.
"""

from __future__ import annotations

from typing import Any

from gpukit.labs.folders import Lab
from gpukit.labs.notebooks.reading import student_source


def build(lab: Lab, **options: Any) -> Any:
    """The notebook of a lab; for the options see `gpukit.labs.notebooks.building.build`."""
    from gpukit.labs.notebooks import building

    return building.build(lab, **options)


def load_ipython_extension(shell: Any) -> None:
    """What %load_ext calls."""
    from gpukit.labs.notebooks.magics import LabMagics

    shell.register_magics(LabMagics)


__all__ = ["build", "load_ipython_extension", "student_source"]
