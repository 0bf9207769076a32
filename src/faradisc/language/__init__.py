"""The two languages that requests are written in: expressions and PartiQL."""
