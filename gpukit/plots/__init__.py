"""Figures for slides and reports, drawn from plain data: rows of a benchmark, or a trace.

Each writes one file, .png or .svg by its name. The modules also have `figure_of`, which gives the figure itself.

    ladder(rows, path, ...)         what each rung of a ladder adds to the one below it
    roofline(points, gpu, path)     kernels under the roofs of a GPU
    sweep(rows, path, sms=...)      bandwidth over the number of blocks
    amdahl(path)                    what a faster part does for the whole
    lanes(traces, path, ...)        which lanes work at each step
    sectors(trace, path, ...)       what each request moves, and how much of it is used
    banks(trace, path, ...)         bank conflicts of shared memory
    grades(tasks, costs, path)      what a class passed, and what it cost
"""

from gpukit.plots.activity import draw as lanes
from gpukit.plots.bank_map import draw as banks
from gpukit.plots.class_results import draw as grades
from gpukit.plots.grid_sweep import draw as sweep
from gpukit.plots.roofs import draw as roofline
from gpukit.plots.sector_map import draw as sectors
from gpukit.plots.speed_up import draw as amdahl
from gpukit.plots.waterfall import draw as ladder

__all__ = ["amdahl", "banks", "grades", "ladder", "lanes", "roofline", "sectors", "sweep"]
