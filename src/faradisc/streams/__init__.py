"""Streams: what was changed in a table, in order, for 24 hours. Knows the store, not the tables."""
