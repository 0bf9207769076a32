"""Which keys make a hot partition hot. A partition that is not hot has no watch and costs nothing.

Source: capacity.md section 2.7.
"""

from __future__ import annotations

from faradisc.capacity.config import HASH_BYTES, CapacityConfig
from faradisc.metrics.sketch import Sketch

_RECLAIM_EVERY = 256
"""Writes of unknown collections between two attempts to drop collections without a heavy key."""


class SortKeyOrder:
    """Counts how many writes of one item collection come behind its greatest sort key."""

    __slots__ = ("count", "greatest", "rising")

    def __init__(self, key: bytes) -> None:
        self.greatest = key
        self.count = 0
        self.rising = 0


class KeyWatch:
    """The keys of one hot partition in one direction, by weight."""

    __slots__ = ("collections", "config", "keys", "missed")

    def __init__(self, config: CapacityConfig) -> None:
        self.config = config
        self.keys: Sketch[bytes] = Sketch(config.sketch_keys)
        self.collections: dict[bytes, SortKeyOrder] = {}
        """By hash value; at most `sketch_keys`."""
        self.missed = 0

    def add(self, key: bytes, nano: int) -> None:
        self.keys.add(key, nano)
        order = self.collections.get(key[:HASH_BYTES])
        if order is not None:
            order.count += 1
            if key > order.greatest:
                order.greatest = key
                order.rising += 1
        elif len(self.collections) < self.config.sketch_keys:
            self.collections[key[:HASH_BYTES]] = SortKeyOrder(key)
        else:
            self.missed += 1
            if self.missed % _RECLAIM_EVERY == 0:
                self._drop_light_collections()

    def _drop_light_collections(self) -> None:
        heavy = {heavy.key[:HASH_BYTES] for heavy in self.keys.top()}
        self.collections = {h: order for h, order in self.collections.items() if h in heavy}
