"""The kinds of derived things that a database knows."""

from __future__ import annotations

from faradisc.engine.derived.capture import CaptureKind
from faradisc.engine.derived.collections import CollectionKind
from faradisc.engine.derived.expiry import ExpiryKind
from faradisc.engine.derived.history import HistoryKind
from faradisc.engine.derived.indexes import IndexKind
from faradisc.engine.derived.streams import StreamKind
from faradisc.engine.tables.derived import Kind

KINDS: list[Kind] = [
    *(CollectionKind(), IndexKind(), StreamKind(), ExpiryKind(), CaptureKind(), HistoryKind()),
]
"""In the order in which their resources get their numbers."""
