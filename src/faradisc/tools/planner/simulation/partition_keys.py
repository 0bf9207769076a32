"""The keys that requests name in one partition, for its heat watch and for the counts by key."""

from __future__ import annotations

from collections.abc import Iterator

from faradisc.model.codec.keyspace import HASH_BYTES
from faradisc.tools.planner.workload.key_distributions import (
    HASH_SPACE,
    SORT_BYTES,
    KeyShape,
    NamedKey,
    hash_position,
)

HEAVIEST = 24
"""Keys of a partition that are sampled in each second."""
SAMPLED = 8
"""Other named keys of it that are sampled in each second, and locations of keys without a name."""


class PartitionKeys:
    """The keys of one shape between two bounds."""

    def __init__(self, shape: KeyShape, low: bytes, high: bytes | None) -> None:
        self._shape, self._low, self._high = shape, low, high
        total = shape.weight_between(low, high) or 1
        keys = [(key, weight / total) for key, weight in shape.keys_between(low, high)]
        self.heaviest = sorted(keys, key=lambda pair: -pair[1])[:HEAVIEST]
        """The heaviest keys, with their parts of the partition's requests."""
        names = {key.name for key, _ in self.heaviest}
        self._others = [key for key, _ in keys if key.name not in names]
        self._tail = shape.tail_between(low, high) / total
        self._others_part = max(1 - self._tail - sum(part for _, part in self.heaviest), 0.0)

    def locations(self, second: int) -> Iterator[tuple[bytes, float]]:
        """Yields locations that requests of a second name, with their parts of these: of the heaviest keys,
        of some other named keys, and of some keys without a name; other ones in each second."""
        step = len(self._others) // SAMPLED
        others: list[NamedKey] = self._others[second % step :: step][:SAMPLED] if step else self._others
        for key, part in (*self.heaviest, *((key, self._others_part / len(others)) for key in others)):
            count = max(1, min(HEAVIEST, int(part * 2 * HEAVIEST)))
            found = self._shape.sample_locations(key, self._low, self._high, count, second + 1)
            for location in found:
                yield location, part / len(found)
        if self._tail > 0.01:
            begin, end = hash_position(self._low), hash_position(self._high)
            sort_key = b"" if self._shape.sort == "one" else (second + 1).to_bytes(SORT_BYTES, "big")
            for at in range(SAMPLED):
                offset = int((at + second * 0.618 % 1) / SAMPLED * (end - begin))
                location = min(begin + offset, HASH_SPACE - 1).to_bytes(HASH_BYTES, "big")
                yield location + sort_key, self._tail / SAMPLED
