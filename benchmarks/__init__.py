"""Measurements: this library beside others, in one run. ``python -m benchmarks --help``."""
