"""The operations and results of clients, which the checker reads and a failing run leaves behind.

Every value is a list to which elements are appended that are unique in the whole history. So a list that was
read names every write before it, in order; no other kind of value shows as much (the idea is Kingsbury and
Alvaro's: "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson


@dataclass(slots=True)
class Transaction:
    """One request: a single read or write is a transaction of one.

    outcome "ok": it took effect. "refused": it did not, for certain; what it saw counts as read.
    "unknown": the answer was lost.
    """

    name: int
    start_ns: int
    end_ns: int | None
    """None: the answer was lost; it may have taken effect at any time, or never."""
    outcome: str
    appends: dict[str, int] = field(default_factory=dict)
    """key -> the element appended to it."""
    reads: dict[str, list[int]] = field(default_factory=dict)
    """key -> the list that was there before this transaction's own append."""
    lengths: dict[str, int] = field(default_factory=dict)
    """key -> how long the list was found to be, by a condition that held, before the own append."""


def save(history: Iterable[Transaction], path: Path) -> None:
    """One transaction per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(asdict(each)) + b"\n" for each in history))


def load(path: Path) -> list[Transaction]:
    return [Transaction(**orjson.loads(line)) for line in path.read_bytes().splitlines()]
