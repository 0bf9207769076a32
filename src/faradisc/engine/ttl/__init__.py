"""Time to live: items are deleted at the time that one of their attributes names."""
