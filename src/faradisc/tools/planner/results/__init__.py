"""The results of a run: the outcome, its cost and findings, as text and as CSV tables."""
