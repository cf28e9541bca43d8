"""The training step on a GPU, one switch after the other: what each of them costs and saves is `gpukit bench ctr`."""
