"""JUnit XML, for whatever shows test results: a suite per student, "not started" is skipped.

There are no times in it, since a record has none.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from gpukit.grading import wording
from gpukit.grading.record import NOT_STARTED, PASSED, Item, Record

PATH = "junit.xml"


def export(records: Sequence[Record]) -> bytes:
    """The suites as XML in UTF-8. Characters that XML cannot hold are made visible ones."""
    root = ElementTree.Element("testsuites")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for record in sorted(records, key=wording.student_order):
        suite = ElementTree.SubElement(root, "testsuite", name=wording.visible(record.student))
        for name, value in _fill(suite, record).items():
            suite.set(name, str(value))
            totals[name] += value
    for name, value in totals.items():
        root.set(name, str(value))
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _fill(suite: ElementTree.Element, record: Record) -> dict[str, int]:
    """Add the test cases; how many there are of each kind. A submission that was not graded to the end is one error,
    and its tests are skipped: they all say the same."""
    made = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    lab = wording.visible(record.lab)
    if record.verdict:
        case = ElementTree.SubElement(suite, "testcase", classname=lab, name="submission")
        error = ElementTree.SubElement(case, "error", message=wording.visible(record.verdict), type=record.status)
        error.text = wording.visible("\n".join([record.verdict, *record.submission.notes]))
        made["tests"] += 1
        made["errors"] += 1
    for item in record.items:
        case = ElementTree.SubElement(suite, "testcase", classname=lab, name=wording.visible(item.test))
        made["tests"] += 1
        if item.status == NOT_STARTED or not record.graded:
            ElementTree.SubElement(case, "skipped", message=wording.one_line(item.message))
            made["skipped"] += 1
        elif item.status != PASSED:
            failure = ElementTree.SubElement(case, "failure", message=wording.one_line(item.message), type="failed")
            failure.text = _details(item)
            made["failures"] += 1
    return made


def _details(item: Item) -> str:
    hazards = [f"line {hazard.line}: {hazard.message} [{hazard.kind}]" for hazard in item.hazards]
    return wording.visible("\n".join([item.message, *hazards, f"Hint: {item.hint}" if item.hint else ""])).strip()
