"""The students' files as they are given out: made from the solution, or as `gpukit release` recorded them."""

from __future__ import annotations

import json

from gpukit.errors import GpukitError
from gpukit.labs import references, regions
from gpukit.labs.errors import LabError
from gpukit.labs.folders import Lab
from gpukit.labs.regions import CPP, PYTHON

KEY = "skeleton"  # of the lab's reference.json: language -> text


def skeletons(lab: Lab) -> dict[str, str]:
    """Language -> text of the file that students get. Raises LabError where there is no solution and no record."""
    if lab.has_solution:
        files = {language: str(lab.file("solution", language)) for language in lab.languages}
        return {language: regions.skeleton(lab.solution(language), file) for language, file in files.items()}
    path = lab.path / references.FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))[KEY]
        return {language: str(found[language]) for language in (PYTHON, CPP) if language in found}
    except (OSError, ValueError, KeyError, TypeError):
        what = "this does not hold the file as it was given out: get the lab's folder anew from your course"
        raise LabError(what, file=str(path)) from None


def skeleton(lab: Lab, language: str) -> str:
    """The same in one language. Raises GpukitError where the lab has none in it."""
    known = skeletons(lab)
    if language not in known:
        raise GpukitError(f"{lab.name} is answered in {' or '.join(known)}, not in {language}")
    return known[language]
