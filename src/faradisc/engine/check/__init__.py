"""Checks a whole database, and repairs what can be derived from other data.

    walk.py       Check: one walk over a snapshot, in bounded steps
    inventory.py  the catalog, the streams, and the owner of each part
    rows.py       the items of a table, their sizes and counters
    logs.py       streams: numbers without gaps, readable records, lineage
    backup_files.py  the files of backups
    sealed.py     opens encrypted rows of a directory that no database has open
    system.py     idempotency tokens, progress of background jobs
    repair.py     rewrites derived data, removes data without an owner
    explain.py    describes stored bytes for `faradisc inspect`

What a table has beside its items verifies, repairs and describes itself (engine/derived/).

Memory is bounded by a page of rows and a few numbers per part, for any size of database.
"""

from faradisc.engine.check.walk import Check
from faradisc.engine.inspection.problems import Problem, Report

__all__ = ["Check", "Problem", "Report"]
