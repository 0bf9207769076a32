"""Writes recorded traffic in the format of docs/formats/trace.md; `trace_format.py` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from faradisc.capacity.config import SECOND_NS, Direction
from faradisc.records import dataclass

FORMAT = 1


@dataclass(frozen=True, slots=True)
class TraceCharge:
    """One charge of a request."""

    index: str | None
    """Global index; None: the table."""
    direction: Direction
    place: bytes
    """The location in the key space: 16 bytes of hash, then the key."""
    half_units: int
    eventual: bool = False


class TraceWriter:
    """Writes a trace; each call of `write` gets complete lines.

    The caller gives wall-clock nanoseconds; lines carry seconds since `start_ns`. A batch writes a line per
    item, a page that crosses partitions a line with a charge for each.
    """

    def __init__(self, write: Callable[[bytes], object], start_ns: int) -> None:
        self._write = write
        self._start_ns = start_ns
        moment = datetime.fromtimestamp(start_ns // SECOND_NS, UTC)
        # The header is cut to the second, so times are counted from there.
        self._start_ns -= start_ns % SECOND_NS
        self._line({"faradisc_trace": FORMAT, "start": moment.strftime("%Y-%m-%dT%H:%M:%SZ")})

    def _line(self, document: Mapping[str, Any]) -> None:
        self._write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))

    def describe(
        self,
        table: str,
        *,
        read_units: int = 0,
        write_units: int = 0,
        on_demand: bool = False,
        sort_key: bool = False,
        items: int = 0,
        size_bytes: int = 0,
        partitions: int | None = None,
        profile: str | None = None,
        partition_caps: str | None = None,
        indexes: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """Writes a table as it is now. `indexes`: read and write units of each global index."""
        more = {"partitions": partitions, "profile": profile, "partition_caps": partition_caps}
        self._line(
            {
                "describe": table,
                "mode": "on-demand" if on_demand else "provisioned",
                "read": read_units,
                "write": write_units,
                "sort_key": sort_key,
                "items": items,
                "bytes": size_bytes,
                **{name: value for name, value in more.items() if value is not None},
                "indexes": {name: list(rates) for name, rates in (indexes or {}).items()},
            }
        )

    def request(
        self,
        now_ns: int,
        operation: str,
        table: str,
        charges: Sequence[TraceCharge],
        *,
        key: str | None = None,
        grows_bytes: int = 0,
        grows_items: int = 0,
        refused: str | None = None,
        attributes: Sequence[str] | None = None,
        found: tuple[int, int] | None = None,
        item_bytes: int | None = None,
        changed_bytes: int | None = None,
    ) -> None:
        """Writes a request, admitted or `refused` for a reason. `key` is its partition key as text.
        `attributes`: those that a page was asked for, None for all. `found`: items that its filter left, of
        how many. `item_bytes`: of the item that a write has made; `changed_bytes`: of the attributes that it
        has changed."""
        line: dict[str, Any] = {
            "t": (now_ns - self._start_ns) / SECOND_NS,
            "op": operation,
            "table": table,
            "charges": [
                [charge.index or "", charge.direction, charge.place.hex(), charge.half_units]
                + (["eventual"] if charge.eventual else [])
                for charge in charges
            ],
        }
        if key is not None:
            line["key"] = key
        if grows_bytes or grows_items:
            line["grows"] = [grows_bytes, grows_items]
        if refused is not None:
            line["refused"] = refused
        if attributes is not None:
            line["attributes"] = attributes
        if found is not None:
            line["found"] = found
        if item_bytes is not None:
            line["size"] = item_bytes
        if changed_bytes is not None:
            line["changed"] = changed_bytes
        self._line(line)
