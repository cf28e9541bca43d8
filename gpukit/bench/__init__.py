"""Benchmarks of gpukit itself."""
