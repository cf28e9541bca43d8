"""`lab`: a link to a task of a lab, in the lab's own words."""

from __future__ import annotations

from gpukit.errors import GpukitError
from gpukit.labs import folders
from gpukit.slides.directives import Directive, Page
from gpukit.slides.model import page_of_lab


def expand(it: Directive, page: Page) -> str:
    """A Markdown link with the lab's number and title, and the task's number and what it asks for."""
    it.allow("task")
    try:
        lab = folders.find_lab(page.root / "labs", it.target)
    except GpukitError as error:
        raise it.error(str(error)) from error
    page.labs.append(lab.name)
    link = page_of_lab(lab.name)
    if "task" not in it.attributes:
        return f"[{lab.heading}]({link})"
    task = it.attributes["task"]
    tasks = lab.readme_tasks
    if task not in tasks:
        raise it.error(f"{lab.name} has no task {task}; it has {', '.join(tasks)}")
    return f"[{lab.heading.partition(':')[0]}, task {task}: {tasks[task]}]({link}#task-{task})"
