"""Kernels that the quiz of this lab is about. Each has one load; read which address every lane asks for.

Try one:

    gpukit profile labs/03_coalescing/given.py:behind_one --grid 4 --block 64 -a x=float32[300] -a y=float32[256]
"""

from gpukit import cuda


@cuda.jit
def contiguous(x, y):
    """y[i] = x[i]. x, y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[i]
        y[i] = value


@cuda.jit
def behind_one(x, y):
    """y[i] = x[i + 1]. x: (n + 1,) float32; y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[i + 1]
        y[i] = value


@cuda.jit
def every_second(x, y):
    """y[i] = x[2 i]. x: (2 n,) float32; y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[2 * i]
        y[i] = value


@cuda.jit
def every_32nd(x, y):
    """y[i] = x[32 i]. x: (32 n,) float32; y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[32 * i]
        y[i] = value


@cuda.jit
def eight_bytes(x, y):
    """y[i] = x[i], each element 8 bytes wide. x, y: (n,) float64."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[i]
        y[i] = value


@cuda.jit
def one_address(x, y):
    """y[i] = x[5] for every i. x, y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = x[5]
        y[i] = value


@cuda.jit
def a_row_each(x, y):
    """y[r] = the sum of row r, a thread a row. x: (rows, columns) float32, row by row; y: (rows,) float32."""
    r = cuda.grid(1)
    if r < x.shape[0]:
        total = x.dtype.type(0)
        for c in range(x.shape[1]):
            total += x[r, c]
        y[r] = total


@cuda.jit
def a_column_each(x, y):
    """y[c] = the sum of column c, a thread a column. x: (rows, columns) float32, row by row; y: (columns,) float32."""
    c = cuda.grid(1)
    if c < x.shape[1]:
        total = x.dtype.type(0)
        for r in range(x.shape[0]):
            total += x[r, c]
        y[c] = total


@cuda.jit
def one_field(records, y):
    """y[i] = the mass of particle i, field 6 of 8. records: (n, 8) float32; y: (n,) float32."""
    i = cuda.grid(1)
    if i < y.size:
        value = records[i, 6]
        y[i] = value


@cuda.jit
def revenue(price, item, amount, money):
    """money[k] = what order k brings: its amount times the price of its item, looked up in a table.

    price: (items,) float32; item: (n,) int32, 0 to items - 1; amount, money: (n,) float32.
    """
    k = cuda.grid(1)
    if k < money.size:
        money[k] = amount[k] * price[item[k]]
