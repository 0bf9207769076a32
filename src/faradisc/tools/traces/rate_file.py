"""A file of rates: how many requests of which kind a table had in each second.

docs/formats/rates.md describes it for users; a line is one kind of request in one second:

    second,table,class,op,units_per_op,ops
    0,Orders,shop,PutItem,1,120

The plan describes the keys of each class (`classes:`, plan_of_rates.py). Lines that cannot be read are
skipped and counted; the first mistakes are kept.

Source: capacity.md section 3.3 (the columns).
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable
from fractions import Fraction

from faradisc.records import dataclass, field
from faradisc.tools.traces.errors import PlanError, nearest
from faradisc.tools.traces.trace_format import (
    HALF_UNITS_MAX,
    LINE_BYTES_MAX,
    SECONDS_MAX,
    ReadFile,
    TraceLineError,
)

HEADING = "second,table,class,op,units_per_op,ops"
MICRO = 1_000_000
"""Rates are kept in micro-requests per second, integers, so that a slow one is as exact as a fast one."""
OPS_MAX = 10_000_000
"""Requests per second of one kind."""
KINDS_MAX = 1000
"""Kinds of requests: each is work in every second of the run."""
NAME_MAX = 255
DIGITS_MAX = 40
_INDEX = "/index/"
_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class RateOperation:
    """How an operation of the API is charged."""

    base: str
    """The plan's operation: a batch counts as its items, a transaction as its actions."""
    step: int
    """Half units by which costs differ, and the least that it costs."""
    transaction: bool = False


OPERATIONS = {
    "GetItem": RateOperation("GetItem", 1),
    "Query": RateOperation("Query", 1),
    "Scan": RateOperation("Scan", 1),
    "BatchGetItem": RateOperation("GetItem", 1),
    "TransactGetItems": RateOperation("GetItem", 4, transaction=True),
    "PutItem": RateOperation("PutItem", 2),
    "UpdateItem": RateOperation("UpdateItem", 2),
    "DeleteItem": RateOperation("DeleteItem", 2),
    "BatchWriteItem": RateOperation("PutItem", 2),
    "TransactWriteItems": RateOperation("PutItem", 4, transaction=True),
}


class PerSecond:
    """A rate that is given for each second; 0 where it is not. Stored by the minute: gaps take no space."""

    __slots__ = ("_minutes", "most")

    def __init__(self) -> None:
        self._minutes: dict[int, array[int]] = {}
        self.most = 0

    def add(self, second: int, micro: int) -> None:
        """Raises TraceLineError for more than `OPS_MAX` in all."""
        minute, at = divmod(second, 60)
        held = self._minutes.get(minute)
        if held is None:
            held = self._minutes[minute] = array("q", bytes(60 * 8))
        if held[at] + micro > OPS_MAX * MICRO:
            raise TraceLineError(f"more than {OPS_MAX:,} requests of one kind in second {second}")
        held[at] += micro
        self.most = max(self.most, held[at])

    def micro(self, second: int) -> int:
        held = self._minutes.get(second // 60)
        return 0 if held is None else held[second % 60]


@dataclass(frozen=True, slots=True)
class RateKind:
    """What the requests of one rate have in common."""

    table: str
    index: str | None
    key_class: str
    operation: str
    """As the API calls it, one of `OPERATIONS`."""
    half_units: int | None
    """Cost of one request to its table, or to the index that it reads. None: that of an item of the table's
    size; the rate is one of half units then."""

    def __lt__(self, other: RateKind) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[str, str, str, str, int]:
        return self.table, self.index or "", self.key_class, self.operation, self.half_units or 0


@dataclass
class RateTarget:
    """The lines of one table or index."""

    first: int | str
    """Its number, or another description of its position."""
    lines: int = 0


@dataclass
class RateTrace(ReadFile):
    """All rates of a file."""

    rates: dict[RateKind, PerSecond] = field(default_factory=dict)
    start_s: int | None = None
    """Epoch seconds of its second 0; None where the file does not say it."""
    duration_s: int = 0
    assumptions: list[str] = field(default_factory=list)
    targets: dict[tuple[str, str | None], RateTarget] = field(default_factory=dict)
    """By table and index."""

    def add(self, kind: RateKind, second: int, micro: int) -> None:
        """Raises TraceLineError for too many kinds or requests."""
        rate = self.rates.get(kind)
        if rate is None:
            if len(self.rates) >= KINDS_MAX:
                raise TraceLineError(f"more than {KINDS_MAX:,} kinds of requests")
            rate = self.rates[kind] = PerSecond()
        rate.add(second, micro)
        self.duration_s = max(self.duration_s, second + 1)

    def saw(self, table: str, index: str | None, line: int | str) -> None:
        """Counts a line that was used."""
        self.lines_read += 1
        self.targets.setdefault((table, index), RateTarget(line)).lines += 1


def read_rates(file: str, lines: Iterable[bytes]) -> RateTrace:
    """Returns the rates of a CSV file. Raises PlanError for another heading."""
    trace = RateTrace(file)
    for number, line in enumerate(lines, 1):
        if number == 1:
            _check_heading(file, line)
        elif line.strip():
            try:
                _read(trace, number, line)
            except TraceLineError as mistake:
                trace.skip(number, str(mistake))
    return trace


def begins_rates(line: bytes) -> bool:
    """Returns whether a file with this first line is one of rates."""
    return line.decode("utf-8", "replace").lstrip().lower().startswith("second")


def _check_heading(file: str, line: bytes) -> None:
    found = line.decode("utf-8", "replace").strip()
    if [name.strip() for name in found.split(",")] != HEADING.split(","):
        what = f"the heading is not {HEADING}"
        raise PlanError(file, 1, what, "Write this line first; see docs/formats/rates.md.")


def _read(trace: RateTrace, number: int, line: bytes) -> None:
    second_text, target, key_class, operation_name, units_text, ops_text = _fields(line)
    if not second_text.isdecimal() or len(second_text) > DIGITS_MAX or int(second_text) >= SECONDS_MAX:
        raise TraceLineError("'second' should be whole seconds since the beginning, below 366 days")
    table, index = _target(target)
    if not 1 <= len(key_class) <= NAME_MAX:
        raise TraceLineError(f"'class' should have 1 to {NAME_MAX} characters")
    operation = OPERATIONS.get(operation_name)
    if operation is None:
        named = operation_name[:NAME_MAX]
        raise TraceLineError(f"{named!r} is not known. {nearest(named, OPERATIONS)}")
    if index is not None and operation_name not in ("Query", "Scan"):
        raise TraceLineError(f"{operation_name} is not for an index")
    half_units = 2 * _number("units_per_op", units_text)
    if not operation.step <= half_units <= HALF_UNITS_MAX:
        least, most = operation.step / 2, HALF_UNITS_MAX // 2
        raise TraceLineError(f"{operation_name} costs {least:g} to {most:,} units, not {units_text}")
    ops = _number("ops", ops_text)
    if ops > OPS_MAX:
        raise TraceLineError(f"'ops' is at most {OPS_MAX:,}")
    for cost, micro in _divided(half_units, operation.step, round(ops * MICRO)):
        trace.add(RateKind(table, index, key_class, operation_name, cost), int(second_text), micro)
    trace.saw(table, index, number)


def _fields(line: bytes) -> list[str]:
    if len(line) > LINE_BYTES_MAX:
        raise TraceLineError(f"longer than {LINE_BYTES_MAX:,} bytes")
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        raise TraceLineError("not UTF-8") from None
    try:
        fields = next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
    except csv.Error as error:
        raise TraceLineError(f"not CSV: {error}") from None
    if len(fields) != 6:
        raise TraceLineError(f"{len(fields)} fields, where 6 should be: {HEADING}")
    return [each.strip() for each in fields]


def _target(text: str) -> tuple[str, str | None]:
    """Reads a table, or an index as reports name it: Orders/index/by-status."""
    table, slash, index = text.partition(_INDEX)
    if not 1 <= len(table) <= NAME_MAX or len(index) > NAME_MAX or (slash and not index):
        raise TraceLineError("'table' should be a table's name, or TABLE/index/INDEX")
    return table, index or None


def _number(name: str, text: str) -> Fraction:
    if len(text) > DIGITS_MAX or not _NUMBER.fullmatch(text):
        raise TraceLineError(f"{name!r} should be a number, not {text[:DIGITS_MAX]!r}")
    return Fraction(text)


def _divided(half_units: Fraction, step: int, micro: int) -> list[tuple[int, int]]:
    """Returns costs and micro-requests with this mean cost. A mean that no request can cost is a mixture of
    the two costs beside it."""
    low = int(half_units // step) * step
    dearer = round((half_units - low) / step * micro)
    return [(low, micro - dearer), (low + step, dearer)] if dearer else [(low, micro)]
