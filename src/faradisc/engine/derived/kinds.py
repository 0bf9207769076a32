"""The kinds of derived things that a database knows."""

from __future__ import annotations

from faradisc.clock import SystemClock
from faradisc.engine.derived.capture import CaptureKind
from faradisc.engine.derived.collections import CollectionKind
from faradisc.engine.derived.expiry import ExpiryKind
from faradisc.engine.derived.history import HistoryKind
from faradisc.engine.derived.indexes import IndexKind
from faradisc.engine.derived.replication import ReplicationKind
from faradisc.engine.derived.streams import StreamKind
from faradisc.engine.tables.derived import DerivedKind, Kinds, LiveParts

KINDS: list[DerivedKind] = [
    *(IndexKind(), StreamKind(), ExpiryKind(), CollectionKind(), CaptureKind(), HistoryKind()),
    ReplicationKind(),
]
"""In the order in which `faradisc inspect` shows them."""


def kinds_of_check() -> Kinds:
    """Returns the kinds for looking at a store that a database may have open, or none."""
    return Kinds(KINDS, LiveParts.of_check(SystemClock()))
