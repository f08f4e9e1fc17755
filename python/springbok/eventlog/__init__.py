"""Spark's event logs: their files, the executions in them, and what Springbok is expected to save."""
