"""Transactions: many items, one commit. Ends in the same reads and the same write path."""
