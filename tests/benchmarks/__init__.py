"""Measurements, run one at a time: ``python -m tests.benchmarks.storage --json``. Trust ratios within one run."""
