"""Encodings of sort keys, row keys, parts and stored records. Pure."""
