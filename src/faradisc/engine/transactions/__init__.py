"""Transactions: many items, one commit. They use the same reads and the same write path as single
requests."""
