"""What is derived from the items of a table: a module per kind, and one for their filling.

    indexes.py      entries of secondary and vector indexes
    item_rows.py    what kinds share of which each row follows from one item
    stored_items.py checks a stored item
    collections.py  sizes of item collections, which are counters.py
    streams.py      the table's stream
    capture.py      changes captured for Kinesis
    expiry.py       the items in the order of their expiry
    history.py      earlier images, for point-in-time recovery
    replication.py  who wrote an item of a global table last, and what others must be sent
    features.py     any other, with a place in the state of every table
    kinds.py        the list of them
    filling.py      fills a new one, while its table is in use

engine/tables/derived.py has what each of them must be able to do. Nothing else may list them.
"""
