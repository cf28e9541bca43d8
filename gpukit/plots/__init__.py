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
    padded_rows(lengths, path)      what the formats of a sparse matrix store beside its elements
    lookups(panels, path)           the rows of a table that a warp fetches, and the sectors that this moves
    timeline(rows, path, ...)       who does what from when to when
    boxes(boxes, path)              what contains what
    lines(rows, path, x=, y=)       lines over a logarithmic axis, and where they cross
    additions(steps, path, n=...)   who adds what in each step of a reduction
    memory(rows, path)              how data lie in memory, and which sectors a warp moves
    tiles(panels, path)             tiles and what a warp touches in them

Inside of `style.on_slide()` figures are for a slide: its width, its text, no title of their own.
"""

from gpukit.plots.activity import draw as lanes
from gpukit.plots.bank_map import draw as banks
from gpukit.plots.class_results import draw as grades
from gpukit.plots.curves import draw as lines
from gpukit.plots.gantt import draw as timeline
from gpukit.plots.gathers import draw as lookups
from gpukit.plots.grid_sweep import draw as sweep
from gpukit.plots.grids import draw as tiles
from gpukit.plots.nested import draw as boxes
from gpukit.plots.padding import draw as padded_rows
from gpukit.plots.roofs import draw as roofline
from gpukit.plots.sector_map import draw as sectors
from gpukit.plots.speed_up import draw as amdahl
from gpukit.plots.strips import draw as memory
from gpukit.plots.tree import draw as additions
from gpukit.plots.waterfall import draw as ladder

__all__ = [
    "additions",
    "amdahl",
    "banks",
    "boxes",
    "grades",
    "ladder",
    "lanes",
    "lines",
    "lookups",
    "memory",
    "padded_rows",
    "roofline",
    "sectors",
    "sweep",
    "tiles",
    "timeline",
]
