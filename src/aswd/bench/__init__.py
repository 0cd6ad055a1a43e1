"""Benchmarks: what the numbers of the README are measured with."""
