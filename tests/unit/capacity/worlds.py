"""Small worlds for the capacity tests: resources under a clock of their own, loads, tallies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from faradisc.capacity.config import SECOND_NS, CapacityConfig, profile
from faradisc.capacity.events import Event
from faradisc.capacity.partitions import Partition
from faradisc.capacity.resource import Resource
from faradisc.capacity.topology import EvenSizes

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/T"
INDEX = f"{TABLE}/index/g1"
START = 1_790_000_000 * SECOND_NS - 1_790_000_000 * SECOND_NS % (86_400 * SECOND_NS)
"""Midnight UTC of some day."""


def place(key: str, sort: str = "") -> bytes:
    """A place in the key space, as a row key begins: 16 bytes of hash, then the key."""
    return blake2b(key.encode(), digest_size=16).digest() + key.encode() + b"\0\0" + sort.encode()


def inside(part: Partition) -> bytes:
    """Some place of a partition."""
    return part.low.ljust(16, b"\0") + b"k"


def table(name: str = "aws", *, config: CapacityConfig | None = None, **settings: Any) -> Resource:
    return Resource(TABLE, "Table", config or profile(name), START, **settings)


@dataclass
class CountedCall:
    """What a load has met."""

    passed: Counter[Any] = field(default_factory=Counter)
    throttled: Counter[Any] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    first_throttle_s: float | None = None
    events: list[Event] = field(default_factory=list)

    @property
    def passes(self) -> int:
        return sum(self.passed.values())

    @property
    def throttles(self) -> int:
        return sum(self.throttled.values())


def write(resource: Resource, where: bytes, now: int, units: int = 1) -> str | None:
    """One write; the reason when it was throttled."""
    bucket = resource.writes.admit(where, now)
    if bucket is None:
        return resource.writes.refuse(where, now).reason
    resource.writes.take(bucket, where, units * 2, now)
    return None


def read(
    resource: Resource, where: bytes, now: int, half_units: int = 2, *, eventual: bool = False
) -> str | None:
    bucket = resource.reads.admit(where, now)
    if bucket is None:
        return resource.reads.refuse(where, now).reason
    resource.reads.take(bucket, where, half_units, now, eventual)
    return None


Request = Callable[[Resource, bytes, int], str | None]


def load(
    resource: Resource,
    streams: Iterable[tuple[bytes, int]],
    seconds: int,
    *,
    start_s: float = 0,
    request: Request = write,
) -> CountedCall:
    """Evenly timed requests: each stream is a place and its requests per second."""
    seen = CountedCall()
    begin = START + int(start_s * SECOND_NS)
    streams = list(streams)
    for second in range(seconds):
        moments = sorted(
            (begin + second * SECOND_NS + (i * SECOND_NS) // rate, where)
            for where, rate in streams
            for i in range(rate)
        )
        for now, where in moments:
            if now >= resource.due:
                seen.events += resource.advance(now)
            refused = request(resource, where, now)
            if refused is None:
                seen.passed[where] += 1
            else:
                seen.throttled[where] += 1
                seen.reasons[refused] += 1
                if seen.first_throttle_s is None:
                    seen.first_throttle_s = (now - begin) / SECOND_NS
    return seen


def settle_splits(resource: Resource, now: int) -> list[Event]:
    """Let every split that is under way finish; size splits find their data evenly spread."""
    events = resource.advance(now)
    for event in list(events):
        if type(event).__name__ == "SplitDue":
            part = resource.partitions.by_id(event.partition)  # type: ignore[union-attr]
            assert part is not None
            events += resource.split_by_size(part.id, EvenSizes(part), now)
    return events + resource.advance(now + 3600 * SECOND_NS)
