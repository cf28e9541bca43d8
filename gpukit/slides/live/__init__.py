"""The live page: one HTML file in which kernels are edited and run, with Python, NumPy and the CPU machine inside.

cells.py     the cells of slides/lab/cells, with the kernels that they name
runtime.py   Pyodide's files and NumPy's wheel, checked
sources.py   which files of gpukit travel in the page
running.py   what runs a cell and describes its launches; in the page, in the builder and in the tests
page.py      all of it as one file, from page.html, page.css, page.js and worker.js; without Python
             it shows what each cell gives, and runs none
"""

# The environment's variable for the folder with Pyodide's files and NumPy's wheel, where no folder is named.
PYODIDE = "GPUKIT_PYODIDE"
