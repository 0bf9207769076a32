"""Six patterns with streams, one module each. See README.md."""
