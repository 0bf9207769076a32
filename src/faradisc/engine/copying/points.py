"""How far a copy is: its newest group, as a data directory knows it, and what is shown of it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Protocol

import orjson

from faradisc.engine.copying.format import CopyError, CopyGroup
from faradisc.engine.copying.place import CopyPlace
from faradisc.files import replace_file
from faradisc.records import asdict, dataclass, fields

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


@dataclass(frozen=True, slots=True)
class KnownLease:
    """What a data directory knows of the lease that its server had last, and of the copy's age."""

    holder: str = ""
    """Identity under which it had the lease; "": none, or in another directory."""
    ends: bool = False
    """Whether another server may have taken it since, as it ends by itself or was given back."""
    caught_up_ns: int = 0
    """When the copy had everything that was synced; 0: not known."""
    handed_over: bool = False
    """Whether another server has the newest state of these data: they are served no more."""


def known_point(directory: Path) -> CopyPoint | None:
    """Returns the point up to which a data directory is known to agree with its copy. Raises CopyError."""
    found = _known(directory)
    return CopyPoint(**{each.name: found[each.name] for each in fields(CopyPoint)}) if found else None


def known_lease(directory: Path) -> KnownLease:
    """Raises CopyError."""
    found = _known(directory)
    # A copy of the directory has another number of its own: the server of the first one may run.
    is_own = bool(found) and found.get("inode") == directory.stat().st_ino
    holder = found.get("holder", "") if is_own else ""
    return KnownLease(holder, bool(found.get("ends")), found.get("caught_up_ns", 0))


def was_primary(directory: Path) -> bool:
    """Returns whether a server has written its copy from these data, so that they may have commits which the
    copy lacks, and can follow none. Raises CopyError."""
    return bool(_known(directory).get("holder"))


def _known(directory: Path) -> dict[str, Any]:
    path = directory / STATE_FILE
    try:
        found = orjson.loads(path.read_bytes())
        if not found.keys() >= {each.name for each in fields(CopyPoint)}:
            raise ValueError("members are missing")
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, OSError) as error:
        raise CopyError(f"{path} cannot be read: {error}.") from None
    if found.get("handed_over"):
        raise CopyError(
            f"The data in {directory} were handed over to another server, which has their newest state: "
            "follow that one into a new directory."
        )
    return dict(found)


def forget(directory: Path) -> None:
    """Makes the data those of no copy. Raises OSError."""
    (directory / STATE_FILE).unlink(missing_ok=True)


def remember(directory: Path, point: CopyPoint, lease: KnownLease | None = None) -> None:
    """lease: that this process has. Raises OSError."""
    kept = asdict(point)
    if lease is not None:
        kept |= {**asdict(lease), "inode": directory.stat().st_ino}
    replace_file(directory / STATE_FILE, orjson.dumps(kept) + b"\n")


class CopyRecord:
    """What a data directory knows of its copy while a server writes that. Used by several threads."""

    def __init__(self, directory: Path, holder: str) -> None:
        self._directory = directory
        self._holder = holder
        self._lock = threading.Lock()
        self._written: tuple[CopyPoint, bool, bool] | None = None
        self.ends = self.handed_over = False

    def write(self, point: CopyPoint, caught_up_ns: int) -> bool:
        """Returns whether it has changed. Raises OSError."""
        with self._lock:
            known = point, self.ends, self.handed_over
            if known == self._written:
                return False
            remember(self._directory, point, KnownLease(self._holder, known[1], caught_up_ns, known[2]))
            self._written = known
            return True


class CopyKeys(Protocol):
    """The keys of encrypted tables that are the data directory's own (server/copy_keys.py)."""

    lacking: str
    """Why the copy alone does not restore encrypted tables; "" if it does."""

    def store(self, place: CopyPlace) -> None:
        """Called before each segment, which may be the first one that needs them. Raises BucketError."""


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
    waiting: str = ""
    """Who waits for the end of this server's lease; "" no server: it answers whatever the bucket does."""
    lacking: str = ""
    """Why the copy alone does not restore encrypted tables; "" if it does."""
