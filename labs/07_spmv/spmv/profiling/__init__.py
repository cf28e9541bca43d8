"""`gpukit spmv`: what every way to multiply does with one matrix, and which of them it should be."""
