"""The heaviest keys of a stream in bounded memory: the space-saving sketch.

The sketch holds at most `size` keys. A new key replaces the lightest one and inherits its weight as a
possible error. So a weight is never too small, it is too large by at most `error`, and every key heavier than
total / size is held.

A heap finds the lightest key; its entries are corrected when they reach the top. An update is O(1), a
replacement O(log size) amortised.

Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
Streams"; its use: capacity.md sections 2.7 and 2.14.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heapreplace
from typing import Generic, TypeVar

from faradisc.records import dataclass

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class HeavyKey(Generic[Key]):
    key: Key
    weight: int
    error: int
    """By how much the weight may be too large."""

    @property
    def least_weight(self) -> int:
        return self.weight - self.error


class Sketch(Generic[Key]):
    __slots__ = ("_errors", "_heap", "_order", "_weights", "size", "total")

    def __init__(self, size: int) -> None:
        self.size = size
        self.total = 0
        self._weights: dict[Key, int] = {}
        self._errors: dict[Key, int] = {}
        self._heap: list[tuple[int, int, Key]] = []
        """(weight when pushed, order of arrival, key); the order keeps keys from being compared."""
        self._order = 0

    def add(self, key: Key, weight: int) -> None:
        self.total += weight
        weights = self._weights
        held = weights.get(key)
        if held is not None:
            weights[key] = held + weight
        elif len(weights) < self.size:
            weights[key] = weight
        else:
            self._replace_lightest(key, weight)

    def _replace_lightest(self, key: Key, weight: int) -> None:
        heap, weights = self._heap, self._weights
        if not heap:
            heap += [(held, position, other) for position, (other, held) in enumerate(weights.items())]
            heapify(heap)
            self._order = len(heap)
        while True:
            pushed, order, lightest = heap[0]
            now = weights[lightest]
            if now == pushed:
                break
            heapreplace(heap, (now, order, lightest))
        del weights[lightest]
        self._errors.pop(lightest, None)
        weights[key] = pushed + weight
        self._errors[key] = pushed
        self._order += 1
        heapreplace(heap, (pushed + weight, self._order, key))

    def top(self, count: int | None = None) -> list[HeavyKey[Key]]:
        """Returns the heaviest keys, heaviest first; equal weights in order of arrival."""
        ranked = sorted(self._weights.items(), key=lambda entry: -entry[1])
        return [HeavyKey(key, weight, self._errors.get(key, 0)) for key, weight in ranked[:count]]

    def __len__(self) -> int:
        return len(self._weights)
