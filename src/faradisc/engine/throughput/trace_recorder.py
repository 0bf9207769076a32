"""Receives every charge while traffic is recorded (`--record-trace`); the planner replays the trace.

Requests are recorded as they are charged: a batch as one per item, a transaction as one per action.
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
        """Describes a table, before its first request and after each change. `profile`: the enforced one, or
        None; `partition_caps`: None for those of the profile."""

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
        attributes: Sequence[str] | None,
        found: tuple[int, int] | None,
        item_bytes: int | None,
        changed_bytes: int | None,
        encrypted: bool,
    ) -> None:
        """Records a request and its charges.

        `encrypted`: whether the table is, so that no key may be readable in the trace.
        `refused`: the reason of a throttle, or None. `attributes`: those that a page was asked for, None for
        all. `found`: items that the filter of a page left, and those it was given. `item_bytes`: of the item
        that a write has made, else None. `changed_bytes`: of the attributes that a write has changed in an
        item that existed, else None.
        """
