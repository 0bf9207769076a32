"""Who is told of every charge, where traffic is recorded (`--record-trace`); the planner replays it.

Requests are recorded as they are charged: a batch is a line per item, a transaction a line per action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from faradisc.capacity.admission import Charge


class TraceRecorder(Protocol):
    def describe(
        self,
        table: str,
        *,
        read_units: int,
        write_units: int,
        on_demand: bool,
        sort_key: bool,
        items: int,
        size_bytes: int,
        partitions: int,
        profile: str | None,
        partition_caps: str | None,
        indexes: Mapping[str, tuple[int, int]],
    ) -> None:
        """A table, before its first request and whenever it changes. `profile`: whose limits are
        enforced, if any are; `partition_caps`: where they are not the profile's."""

    def request(
        self,
        now_ns: int,
        operation: str,
        table: str,
        charges: Sequence[Charge],
        *,
        key: str | None,
        grows_bytes: int,
        grows_items: int,
        refused: str | None,
    ) -> None:
        """A request and its charges; `refused` names the reason."""
