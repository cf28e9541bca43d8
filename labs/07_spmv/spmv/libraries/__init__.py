"""What others make of y = alpha A x + beta y: libraries on the processor and on a GPU."""
