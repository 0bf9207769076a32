"""Six patterns that are built on streams, each a module to read and to run. See README.md."""
