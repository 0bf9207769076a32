"""Checks a whole database, and repairs what can be derived from other data.

    walk.py       Check: one walk over a snapshot, in bounded steps
    inventory.py  the catalog, the streams, and the owner of each part
    rows.py       the items of a table, their sizes, counters and collections
    derived.py    rows derived from items: index entries and expiry rows, verified both ways
    history.py    the images of point-in-time recovery
    logs.py       streams and captured changes: numbers without gaps, readable records, lineage
    backup_files.py  the files of backups
    system.py     idempotency tokens, progress of background jobs
    repair.py     rewrites derived data, removes data without an owner
    problems.py   the problems found, and the report
    explain.py    describes stored bytes for `faradisc inspect`

Memory is bounded by a page of rows and a few numbers per part, for any size of database.
"""

from faradisc.engine.check.problems import Problem, Report
from faradisc.engine.check.walk import Check

__all__ = ["Check", "Problem", "Report"]
