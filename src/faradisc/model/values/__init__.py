"""Attribute values, numbers, sizes, paths and schemas. Pure; imports nothing above itself."""
