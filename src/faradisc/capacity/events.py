"""What the slow processes of a resource report: splits, refusals to split, growth. Values, never printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from faradisc.capacity.config import Direction

SplitReason = Literal["size", "raise", "warm", "on-demand", "heat", "admin"]


@dataclass(frozen=True, slots=True)
class SplitStarted:
    at_ns: int
    arn: str
    parent: str
    reason: SplitReason
    cuts: tuple[str, ...]
    """Places, hexadecimal."""
    ready_ns: int
    key: str | None = None
    """The key that is isolated, hexadecimal place."""


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
    """How many there are now."""


@dataclass(frozen=True, slots=True)
class SplitRefused:
    at_ns: int
    arn: str
    partition: str
    wanted: Literal["heat", "size"]
    cause: str
    """For people: the rule that forbids the split."""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class SplitDue:
    """A partition has outgrown its size; whoever knows the rows must call Resource.split_by_size."""

    at_ns: int
    arn: str
    partition: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CapacityGrown:
    """An on-demand resource serves more than before."""

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
    """An event as plain data, its kind under "event"."""
    return {"event": type(event).__name__, **asdict(event)}
