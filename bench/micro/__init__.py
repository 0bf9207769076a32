"""Timings of single pure functions, for work on the hot path: `python -m bench.micro [word ...]`."""
