"""Ordered bytes in atomic commits: the storage interface of the database, and its engines.

    api.py          the interface: Store, ReadOnlyStore, Batch, Conflict and the errors of engines
    immediate.py    run(): runs a coroutine that never suspends, without an event loop
    memory.py       the smallest correct engine; data ends with the process
    rocks.py        the embedded default, on RocksDB; rocks_view.py has its layout and reads, rocks_disk.py
                    what is on disk, rocks_files.py opens its directory, rocks_log.py reads its log commit by
                    commit, rocks_following.py is a store that only such commits are written to,
                    rocks_reading.py reads a directory that another process may own
    durability.py   waits for syncs: grouped in a thread, or inline; sync_record.py: how far they came
    format.py       the FORMAT file of a data directory; upgrade.py: from older formats
    figures.py      what a store shows of itself, for metrics; rocks_figures.py: RocksDB
    postgres/       the engine that several servers share
    ordered.py      a set of keys kept in order, for memory.py
    testing/        the suite that every engine passes, and two wrappers for tests

Independent of items, conditions, tables and indexes.
"""
