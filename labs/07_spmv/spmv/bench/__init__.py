"""`gpukit bench spmv`: every way to multiply, and every library, on many matrices."""
