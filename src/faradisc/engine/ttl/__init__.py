"""Time to live: items that say when they expire are deleted then, through the one write path."""
