"""Ordered bytes in atomic commits: the seam below the database, and the engines behind it.

    api.py          the seam: Store, ReadOnlyStore, Batch, Conflict and the errors an engine raises
    immediate.py    run(): drives a coroutine that never suspends, without an event loop
    memory.py       the smallest correct engine; nothing outlives the process
    rocks.py        the embedded default, on RocksDB; rocks_view.py is its layout and its reading half,
                    rocks_files.py opens its directory
    durability.py   when a commit counts as on disk: grouped syncs in a thread, or inline
    format.py       the FORMAT file of a data directory
    ordered.py      a set of keys kept in order, for memory.py
    testing/        the suite every engine passes, and two wrappers for tests

Nothing here knows of items, conditions, tables or indexes.
"""
