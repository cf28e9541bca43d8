"""The labs: what a lab's folder holds, and what its tests say to a student's file.

A lab is a folder `labs/NN_topic`; the folder is all there is to know, and nothing here lists the labs by name. Data
flows one way: the tagged source (`regions`) makes the student's file; a file becomes an `answers.Answer` without
running any of it; `running` calls the lab's tests, each with a `session.Session`, and gives plain outcomes, which
pytest, the grader, `gpukit watch` and the notebooks show.
"""

from gpukit.labs.folders import Lab, find_lab, find_labs
from gpukit.labs.testing import points

__all__ = ["Lab", "find_lab", "find_labs", "points"]
