"""`gpukit bench ctr`: the ladder of speed, each rung one switch, and what it does to the quality."""
