"""How far a copy is: its newest group, as a data directory knows it, and what is shown of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from faradisc.engine.copying.format import CopyError, CopyGroup
from faradisc.files import replace_file

STATE_FILE = "COPY"
"""Of a data directory: which copy is its own, and how far it is known to be."""


@dataclass(frozen=True, slots=True)
class CopyPoint:
    """A point of a copy: its newest group."""

    copy: str
    number: int
    sequence: int
    chain: str

    def after(self, group: CopyGroup) -> CopyPoint:
        return CopyPoint(self.copy, group.number, group.last, group.chain)


def known_point(directory: Path) -> CopyPoint | None:
    """Returns the point up to which a data directory is known to agree with its copy. Raises CopyError."""
    try:
        return CopyPoint(**orjson.loads((directory / STATE_FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, OSError) as error:
        raise CopyError(f"{directory / STATE_FILE} cannot be read: {error}.") from None


def remember(directory: Path, point: CopyPoint) -> None:
    """Raises OSError."""
    replace_file(directory / STATE_FILE, orjson.dumps(asdict(point)) + b"\n")


@dataclass(slots=True)
class CopyStatus:
    """What is shown of a copy."""

    place: str
    lag_s: float
    """Age of the oldest synced commit that is not in the copy, at most; 0: none."""
    number: int
    """Of the newest group."""
    time_ns: int
    """When it was stored; 0: before this start."""
    stored_bytes: int
    """Since this start, compressed."""
    snapshot_ns: int
    """Of the newest complete snapshot; 0: there is none."""
    fault: str
    """What is wrong now, in a sentence; ""."""
