"""What a run of a kernel looks like to a person: plain data, a terminal view, a notebook view."""

from gpukit.report.model import LineReport, Report

__all__ = ["LineReport", "Report"]
