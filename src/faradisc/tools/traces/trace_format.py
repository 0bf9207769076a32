"""Recorded traffic: one JSON document per line, written by `trace_writer.py`, replayed by the planner.

docs/formats/trace.md is the format's description; `FORMAT` its version. Three kinds of lines:

    {"faradisc_trace":1,"start":"2026-11-02T00:00:00Z"}           first, and once
    {"describe":"Orders","mode":"provisioned","read":10,...}      a table, before its first request
    {"t":1.25,"op":"PutItem","table":"Orders",...}                a request

A request carries its charges as the server worked them out (`charges`), or, written by other tools, sizes
from which they are worked out here (`pk`, `new`, ...).

Lines that cannot be read are skipped and counted; the first mistakes are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from faradisc.capacity import units
from faradisc.capacity.config import CapacityConfig, parse_caps, profile
from faradisc.model.codec.keyspace import hash_of
from faradisc.model.codec.sortkey import encode_component
from faradisc.records import dataclass, field
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_writer import FORMAT, TraceCharge

MISTAKES_SHOWN = 5
STARTS_MAX_S = 32_472_057_600
"""The end of the year 2998: calendars end in 9999, and a run has moments behind its beginning."""
PLACE_BYTES_MAX = 16 + 2048 + 1024 + 16
CHARGES_MAX = 256
HALF_UNITS_MAX = 2 * 400_000
SECONDS_MAX = 366 * 86_400
SIZE_MAX = 1 << 24
"""Bytes a line may say an item, or a page of items, has: far more than the service takes."""
PARTITIONS_MAX = 10_000
TABLE_BYTES_MAX = PARTITIONS_MAX * 10 * (1 << 30)
RATE_MAX = 1 << 32
READS = ("GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems")
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
LINE_BYTES_MAX = 1 << 21
"""Longer lines are skipped: 256 charges with the longest keys make a shorter one."""


@dataclass(frozen=True, slots=True)
class Described:
    """A table as a trace describes it."""

    name: str
    on_demand: bool
    read_units: int
    write_units: int
    sort_key: bool
    items: int
    size_bytes: int
    indexes: Mapping[str, tuple[int, int]]
    partitions: int | None = None
    """None: as many as units and size need."""
    config: CapacityConfig = field(default_factory=CapacityConfig)
    """Its profile, and partition caps."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as a trace describes it."""

    at_s: float
    operation: str
    table: str
    key: str | None
    charges: tuple[TraceCharge, ...]
    grows_bytes: int
    grows_items: int
    refused: str | None = None
    attributes: tuple[str, ...] | None = None
    """Those that a page was asked for; None: all, or not known."""
    found: tuple[int, int] | None = None
    """Items that the filter of a page left, and those that it was given."""
    item_bytes: int | None = None
    """Of the item that a write has made."""
    changed_bytes: int | None = None
    """Of the attributes that a write has changed in an item."""


def key_prefix(name: str, draw: int = 0) -> bytes:
    """Returns the location prefix of the items of a partition key of type S. `draw`: 0 for the place that the
    server gives it, other numbers for other places, since the service's own hash is not known."""
    place = hash_of((f"{name}#{draw}" if draw else name).encode())
    return place + encode_component({"S": name})


class TraceLineError(ValueError):
    """What is wrong with a line."""


def epoch_seconds(text: str) -> int:
    """Returns a moment in ISO 8601, UTC unless it has a time zone. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


@dataclass
class ReadFile:
    """How much of a file could be used."""

    file: str
    lines_read: int = 0
    skipped: int = 0
    mistakes: list[str] = field(default_factory=list)
    """The first `MISTAKES_SHOWN`."""

    def skip(self, line: int | str, what: str, count: int = 1) -> None:
        """Counts lines that were not used."""
        self.skipped += count
        if len(self.mistakes) < MISTAKES_SHOWN:
            self.mistakes.append(f"{self.file}:{line}: {what}")

    def nothing(self, what: str, remedy: str) -> PlanError:
        """Returns the error for a file without anything that can be used, which `what` says."""
        if self.mistakes:
            what += f"; {self.skipped} lines could not be read, the first: {self.mistakes[0]}"
        return PlanError(self.file, None, what, remedy)


@dataclass
class Trace(ReadFile):
    """A trace, read line by line; `lines` begins anew with each call."""

    lines: Callable[[], Iterable[bytes]] = field(kw_only=True)
    start_s: int = 0
    duration_s: int = 0
    tables: dict[str, Described] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)
    """Tables that requests name."""
    line: int = 0
    """Number of the line read last."""

    @classmethod
    def scan(cls, file: str, lines: Callable[[], Iterable[bytes]]) -> Trace:
        """Reads a trace once for its tables and its length."""
        trace = cls(file, lines=lines)
        last = 0.0
        for request in trace.requests():
            last = max(last, request.at_s)
            trace.mentioned.add(request.table)
        trace.duration_s = int(last) + 1
        return trace

    def requests(self) -> Iterator[Recorded]:
        """Yields the requests in the order of the file. Each call counts bad lines anew."""
        self.skipped = self.lines_read = 0
        self.mistakes = []
        for number, line in enumerate(self.lines(), 1):
            self.line = number
            if not line.strip():
                continue
            try:
                found = self._read(line)
            except TraceLineError as mistake:
                self.skip(number, str(mistake))
                continue
            self.lines_read += 1
            if found is not None:
                yield found

    def _read(self, line: bytes) -> Recorded | None:
        if len(line) > LINE_BYTES_MAX:
            raise TraceLineError(f"longer than {LINE_BYTES_MAX:,} bytes")
        try:
            document = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise TraceLineError(f"not JSON: {error}") from None
        if not isinstance(document, dict):
            raise TraceLineError("not an object")
        if "faradisc_trace" in document:
            self._header(document)
            return None
        if "describe" in document:
            table = read_description(document)
            if table.name not in self.mentioned or table.name not in self.tables:
                self.tables[table.name] = table
            return None
        return read_request(document)

    def _header(self, document: Mapping[str, Any]) -> None:
        if document["faradisc_trace"] != FORMAT:
            raise TraceLineError(f"format {document['faradisc_trace']!r}; this program reads {FORMAT}")
        try:
            start_s = epoch_seconds(str(document.get("start")))
        except ValueError:
            raise TraceLineError("start is not a moment such as 2026-11-02T00:00:00Z") from None
        if not 0 <= start_s <= STARTS_MAX_S:
            raise TraceLineError("start lies in one of the years 1970 to 2998")
        self.start_s = start_s


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise TraceLineError(f"{name!r} should be a text")
    return value


def _count(document: Mapping[str, Any], name: str, most: int) -> int:
    value = document.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TraceLineError(f"{name!r} should be a whole number that is not negative")
    if value > most:
        raise TraceLineError(f"{name!r} is at most {most}, not {value}")
    return value


def read_description(document: Mapping[str, Any]) -> Described:
    """Raises: TraceLineError."""
    indexes = document.get("indexes", {})
    if not isinstance(indexes, dict) or not all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(rate) is int and 0 <= rate <= RATE_MAX for rate in pair)
        for pair in indexes.values()
    ):
        raise TraceLineError("'indexes' should hold pairs of read and write units")
    mode = document.get("mode")
    if mode not in ("on-demand", "provisioned"):
        raise TraceLineError("'mode' should be on-demand or provisioned")
    return Described(
        _text(document, "describe"),
        mode == "on-demand",
        _count(document, "read", RATE_MAX),
        _count(document, "write", RATE_MAX),
        document.get("sort_key") is True,
        _count(document, "items", TABLE_BYTES_MAX),
        _count(document, "bytes", TABLE_BYTES_MAX),
        {name: (pair[0], pair[1]) for name, pair in indexes.items()},
        _count(document, "partitions", PARTITIONS_MAX) or None,
        _config(document),
    )


def _config(document: Mapping[str, Any]) -> CapacityConfig:
    try:
        config = profile(_text(document, "profile")) if "profile" in document else CapacityConfig()
        if "partition_caps" in document:
            config = config.with_partition_caps(*parse_caps(_text(document, "partition_caps")))
    except ValueError as mistake:
        raise TraceLineError(str(mistake)) from None
    if not config.enforce:
        raise TraceLineError("'profile' should be one that refuses something, or left out")
    return config


def read_request(document: Mapping[str, Any]) -> Recorded:
    """Raises: TraceLineError."""
    at_s = document.get("t")
    if not isinstance(at_s, int | float) or isinstance(at_s, bool) or not 0 <= at_s <= SECONDS_MAX:
        raise TraceLineError("'t' should be seconds since the trace began")
    operation = _text(document, "op")
    table = _text(document, "table")
    if "charges" in document:
        charges = _charges(document["charges"])
        grows = document.get("grows", [0, 0])
        if not isinstance(grows, list) or len(grows) != 2 or not all(type(each) is int for each in grows):
            raise TraceLineError("'grows' should be bytes and items")
        if max(map(abs, grows)) > SIZE_MAX:
            raise TraceLineError(f"'grows' lies between -{SIZE_MAX} and {SIZE_MAX}")
        key = document.get("key")
        if key is not None and not isinstance(key, str):
            raise TraceLineError("'key' should be a text")
        refused, attributes = document.get("refused"), document.get("attributes")
        if refused is not None and not isinstance(refused, str):
            raise TraceLineError("'refused' should be a text")
        if attributes is not None and not (
            isinstance(attributes, list) and all(isinstance(name, str) for name in attributes)
        ):
            raise TraceLineError("'attributes' should be a list of names")
        return Recorded(
            at_s,
            operation,
            table,
            key,
            charges,
            grows[0],
            grows[1],
            refused,
            None if attributes is None else tuple(attributes),
            _found(document.get("found")),
            _count(document, "size", SIZE_MAX) if "size" in document else None,
            _count(document, "changed", SIZE_MAX) if "changed" in document else None,
        )
    return _from_sizes(document, at_s, operation, table)


def _found(pair: object) -> tuple[int, int] | None:
    if pair is None:
        return None
    if not isinstance(pair, list) or len(pair) != 2 or not all(type(each) is int for each in pair):
        raise TraceLineError("'found' should be items that a filter left, and those it was given")
    if not 0 <= pair[0] <= pair[1] <= SIZE_MAX:
        raise TraceLineError("a filter leaves no more items than it is given")
    return pair[0], pair[1]


def _charges(entries: object) -> tuple[TraceCharge, ...]:
    if not isinstance(entries, list) or not 1 <= len(entries) <= CHARGES_MAX:
        raise TraceLineError(f"'charges' should be a list of 1 to {CHARGES_MAX}")
    found = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) not in (4, 5):
            raise TraceLineError("a charge is [index, R or W, place, half units]")
        index, direction, place, half_units = entry[:4]
        if not isinstance(index, str) or direction not in ("R", "W") or not isinstance(place, str):
            raise TraceLineError("a charge is [index, R or W, place, half units]")
        if type(half_units) is not int or not 0 <= half_units <= HALF_UNITS_MAX:
            raise TraceLineError(f"half units lie between 0 and {HALF_UNITS_MAX}, not at {half_units!r}")
        try:
            where = bytes.fromhex(place)
        except ValueError:
            raise TraceLineError(f"a place is written in hexadecimal, not {place[:40]!r}") from None
        if not 16 <= len(where) <= PLACE_BYTES_MAX:
            raise TraceLineError("a place has 16 bytes of hash, then the key")
        found.append(TraceCharge(index or None, direction, where, half_units, len(entry) == 5))
    return tuple(found)


# --- Lines without charges ------------------------------------------------------------------------------


def _from_sizes(document: Mapping[str, Any], at_s: float, operation: str, table: str) -> Recorded:
    """Returns a request given by key and sizes, with the charges that the service computes for it."""
    key = _text(document, "pk")
    sort = document.get("sk", "")
    if not isinstance(sort, str):
        raise TraceLineError("'sk' should be a text")
    place = key_prefix(key) + sort.encode()
    old, new = _count(document, "old", SIZE_MAX), _count(document, "new", SIZE_MAX)
    if operation in READS:
        consistent = document.get("cr") is True
        half_units = units.read_half_units(new or old, consistent=consistent)
        if operation == "TransactGetItems":
            half_units = 2 * units.read_half_units(new or old, consistent=True)
        index = document.get("index")
        where = index if isinstance(index, str) else None
        charge = TraceCharge(where, "R", place, half_units, not consistent)
        return Recorded(at_s, operation, table, key, (charge,), 0, 0)
    if operation not in WRITES:
        raise TraceLineError(f"{operation!r} is not known; reads: {', '.join(READS)}")
    cost = units.write_units(old, new) * (2 if operation == "TransactWriteItems" else 1)
    charges = [TraceCharge(None, "W", place, 2 * cost)]
    entries = document.get("idx", {})
    if not isinstance(entries, dict):
        raise TraceLineError("'idx' should hold [old key, old size, new key, new size] by index")
    for name, entry in entries.items():
        charges += _index_charges(name, entry)
    gained = int(not old and bool(new)) - int(bool(old) and not new)
    return Recorded(at_s, operation, table, key, tuple(charges), new - old, gained, item_bytes=new or None)


def _index_charges(name: str, entry: object) -> list[TraceCharge]:
    """Returns one charge, or one in the old and one in the new partition where the key has changed."""
    if (
        not isinstance(entry, list)
        or len(entry) != 4
        or not (_is_entry(*entry[:2]) and _is_entry(*entry[2:]))
    ):
        raise TraceLineError(f"index {name!r} should have [old key, old size, new key, new size]")
    old_key, old_size, new_key, new_size = entry
    if old_key is None and new_key is None:
        return []
    if old_key is not None and new_key is not None and old_key != new_key:
        return [
            TraceCharge(name, "W", key_prefix(key), 2 * units.write_units(0, size))
            for key, size in ((old_key, old_size), (new_key, new_size))
        ]
    old, new = (old_size if old_key is not None else None), (new_size if new_key is not None else None)
    cost = units.index_write_units(old, new, key_changed=False)
    return [TraceCharge(name, "W", key_prefix(new_key or old_key), 2 * cost)]


def _is_entry(key: object, size: object) -> bool:
    return key is None or (isinstance(key, str) and type(size) is int and 0 <= size <= SIZE_MAX)
