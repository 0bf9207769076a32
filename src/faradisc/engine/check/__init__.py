"""The whole database verified, and mended where the rest of it says how.

    walk.py       Check: one walk over a snapshot, in bounded steps
    inventory.py  what there has to be: the catalog, the streams, and which part belongs to what
    rows.py       the items of a table, their sizes, counters and collections
    derived.py    what follows from the items: index entries and expiry rows, verified both ways
    past.py       the images that point-in-time recovery keeps
    logs.py       streams and captured changes: numbers without gaps, records that can be read, lineage
    backup_files.pythe files of backups
    system.py     idempotency tokens, progress of background jobs
    repair.py     rewrite what follows from something else, remove what belongs to nothing
    faults.py     what was found, and the report

Memory stays bounded by a page of rows and a few numbers per part, whatever the size of the database.
"""

from faradisc.engine.check.faults import Fault, Report
from faradisc.engine.check.walk import Check

__all__ = ["Check", "Fault", "Report"]
