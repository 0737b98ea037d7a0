"""Benchmarks: each module has `run() -> rows`; ratios within one run, never timed tests."""
