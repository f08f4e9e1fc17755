"""The commands of `python -m springbok`."""
