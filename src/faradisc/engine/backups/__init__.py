"""Backups on demand, the past of a table, and tables made from either."""
