"""Upgrades an older data directory to the current format when it is opened for writing.

There is one step per format (format.py). Each converts all data from the format before and can be interrupted
at any moment: the FORMAT file gets the new number only when the step is on disk, and until then the next
start repeats it. So a step must be idempotent.

Reading alone never upgrades. Formats from READABLE_FROM on can be read as they are, because no later step
rewrites data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rocksdict import Rdict

from faradisc.storage import format as data_format

Step = Callable[[Rdict], None]


def _nothing_to_rewrite(db: Rdict) -> None:
    """Does nothing: the format added kinds of rows, or members with a default."""


STEPS: Mapping[int, Step] = {2: _nothing_to_rewrite}
"""Steps by their new format."""

READABLE_FROM = 1


def upgrade(directory: Path, db: Rdict, found: int, steps: Mapping[int, Step] = STEPS) -> None:
    """Runs the steps from format `found` to the last one. Raises what the engine raises; StorageError."""
    for version in range(found + 1, max(steps) + 1):
        steps[version](db)
        db.flush_wal(True)
        data_format.write(directory, version)
