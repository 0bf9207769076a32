"""What happens to a resource over time: splits, rejected splits, growth."""

from __future__ import annotations

from typing import Any, Literal

from faradisc.capacity.config import Direction
from faradisc.records import asdict, dataclass

SplitReason = Literal["size", "raise", "warm", "on-demand", "heat", "admin"]


@dataclass(frozen=True, slots=True)
class SplitStarted:
    at_ns: int
    arn: str
    parent: str
    reason: SplitReason
    cuts: tuple[str, ...]
    """Keys, hexadecimal."""
    ready_ns: int
    key: str | None = None
    """The isolated key, hexadecimal."""


@dataclass(frozen=True, slots=True)
class Split:
    """The children have replaced their parent."""

    at_ns: int
    arn: str
    parent: str
    children: tuple[str, ...]
    reason: SplitReason
    cuts: tuple[str, ...]
    partitions: int
    """Number of partitions after the split."""


@dataclass(frozen=True, slots=True)
class SplitRefused:
    at_ns: int
    arn: str
    partition: str
    wanted: Literal["heat", "size"]
    cause: str
    """The rule that prevents the split, as a sentence."""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class SplitDue:
    """A partition may be full; a caller that knows its rows must call Resource.split_by_size."""

    at_ns: int
    arn: str
    partition: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CapacityGrown:
    """The capacity of an on-demand resource has grown."""

    at_ns: int
    arn: str
    direction: Direction
    units: int


@dataclass(frozen=True, slots=True)
class ShareBoosted:
    """Classic adaptive capacity has changed one partition's part of the table's rate."""

    at_ns: int
    arn: str
    partition: str
    direction: Direction
    units: str
    """The new rate as a fraction; the plain share when the boost was removed."""


Event = SplitStarted | Split | SplitRefused | SplitDue | CapacityGrown | ShareBoosted


def to_json(event: Event) -> dict[str, Any]:
    """Returns an event as plain data, with its class name as "event"."""
    return {"event": type(event).__name__, **asdict(event)}
