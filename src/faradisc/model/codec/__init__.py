"""Encodings, as docs/formats/ describes them. Pure.

sortkey      key attributes as bytes that sort as values do
keyspace     hashes, slots, parts and row keys
item_record  the stored item and its size
"""
