"""Springbok measured: suites, layouts and arms, run by `python -m benchmarks` from the repository's root."""
