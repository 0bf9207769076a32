"""Attribute values and their encodings as stored records and ordered keys."""
