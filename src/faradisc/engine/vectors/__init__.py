"""Vector indexes: the vectors nearest to a query vector, found exactly.

    numbers.py      attribute values to 32-bit floats and back
    schema.py       the entry of an item, and the checks of its vector
    memory.py       which matrices are in memory, and which of their rows are outdated
    block.py        one matrix: the vectors of one index and HASH value (needs NumPy)
    searching.py    the search itself (needs NumPy)

An entry is a row like that of any index, with the vector packed into one binary value. Matrices are copies of
entries: they are built at the first search, and may be dropped at any time.

Only `block` and `searching` import NumPy, and they are imported at the first search: a table with vector
indexes is created and written without it.
"""
