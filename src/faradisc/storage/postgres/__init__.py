"""The engine over PostgreSQL, which several servers share.

    store.py        the engine: a call is one statement, a commit one call of a function of functions.sql
    reading.py      its reads; keys.py: keys that are too long for an index
    connecting.py   opens and prepares a database; pool.py: connections; errors.py: errors as sentences
    private.py      a PostgreSQL of one's own, in a directory
    sharded.py      parts that are spread by an extension, such as Citus

Several PostgreSQLs, which are places (docs/decisions/0026-places.md):

    routed.py       the engine over places; place.py: one of them
    placement.py    which place has which part
    joining.py      which place each PostgreSQL is
    share.py, shares.py  the batches of a commit at one place; the commit over several
    recovery.py     ends prepared transactions that a server left
    moving.py       moves parts while they are read and written
"""
