"""Differential fuzzing: random data and queries, answered with Springbok, without it, and by DuckDB."""
