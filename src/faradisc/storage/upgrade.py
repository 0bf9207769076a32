"""Bringing an older data directory to the present format, when it is opened for writing.

A step per rung of the ladder (format.py). Each leads from the format below to its own, over all that is
stored, and may be cut short at any moment: the FORMAT file says the new number only when the step is on disk,
and until then the next start does it again. So a step has to be harmless when it is done twice.

Reading alone never upgrades. Formats from READABLE_FROM on can be read as they are, because no step since
rewrote anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rocksdict import Rdict

from faradisc.storage import format as data_format

Step = Callable[[Rdict], None]


def _nothing_to_rewrite(db: Rdict) -> None:
    """The format added kinds of rows, or members that have a meaning when they are not there."""


STEPS: Mapping[int, Step] = {2: _nothing_to_rewrite}
"""By the format that a step leads to."""

READABLE_FROM = 1


def upgrade(directory: Path, db: Rdict, found: int, steps: Mapping[int, Step] = STEPS) -> None:
    """Do the steps from format `found` to the last one. Raises what the engine raises; StorageError."""
    for version in range(found + 1, max(steps) + 1):
        steps[version](db)
        db.flush_wal(True)
        data_format.write(directory, version)
