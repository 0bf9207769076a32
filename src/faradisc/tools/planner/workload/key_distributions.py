"""Key distributions: which keys requests name, and where those keys lie in the key space.

A distribution gives a `KeyShape`: a few named keys with weights, and a tail, the rest, which is spread evenly
over the whole hash space because it consists of very many keys of little weight each. Both engines use the
same shapes: one draws keys from them, the other divides rates by them.

Weights are integers whose sum is `ONE`. Keys are placed by the server's own hash, so that a named key is in
the partition in which the server puts it.

Where a table has a sort key, a named key is an item collection, and `Sort` says which of its items requests
name: one item, all items evenly, or always a new item behind the last one (times, counters).

Sources: capacity.md sections 3.3 (the models), 1.8 (S-110 to S-113: good and bad key choices).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import log
from typing import Literal, Protocol

from faradisc.model.codec.keyspace import HASH_BYTES
from faradisc.records import dataclass, field, replace
from faradisc.tools.traces.trace_format import key_prefix

ONE = 1 << 40
"""The sum of a shape's weights."""
NAMED_KEYS_MAX = 1000
"""With more keys than this, the lighter ones have no names and are part of the tail."""
Sort = Literal["one", "spread", "rising"]
SORT_BYTES = 8
_LOCATIONS_MAX = 1 << 10
_LAST_SORT_KEY = b"\xff" * SORT_BYTES
_SORT_SPACE = 1 << (8 * SORT_BYTES)
HASH_SPACE = 1 << (8 * HASH_BYTES)


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A named partition key and its weight."""

    name: str
    weight: int
    prefix: bytes
    """The location of its first item: hash, then the key."""


@dataclass(frozen=True)
class KeyShape:
    """The keys of the requests of one or more seconds, with their weights."""

    keys: tuple[NamedKey, ...]
    tail: int
    """Weight of all keys without a name."""
    sort: Sort = "one"
    example: tuple[str, int] | None = None
    """A name for one of the many keys of an even tail, and its weight."""
    ordered: bool = False
    """Whether the requests of a second name the keys in this order, one key after another."""
    _cumulative: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cumulative", tuple(accumulate(key.weight for key in self.keys)))

    def draw(self, point: int, sort_point: int) -> tuple[NamedKey | None, bytes]:
        """Returns the key and the location at a point of 0..ONE-1. `sort_point`, of the same range, chooses
        the sort key; rising sort keys are that number itself."""
        position = bisect_right(self._cumulative, point)
        if position < len(self.keys):
            key = self.keys[position]
            return key, key.prefix + self._sort_bytes(sort_point)
        into = point - (self._cumulative[-1] if self._cumulative else 0)
        place = into * HASH_SPACE // max(self.tail, 1)
        return None, place.to_bytes(HASH_BYTES, "big") + self._sort_bytes(sort_point)

    def _sort_bytes(self, point: int) -> bytes:
        if self.sort == "one":
            return b""
        scaled = point if self.sort == "rising" else point * (_SORT_SPACE // ONE)
        return scaled.to_bytes(SORT_BYTES, "big")

    def weight_between(self, low: bytes, high: bytes | None) -> int:
        """Returns the weight of the locations from `low` (inclusive) to `high` (exclusive)."""
        return sum([weight for _, weight in self.keys_between(low, high)]) + self.tail_between(low, high)

    def keys_between(self, low: bytes, high: bytes | None) -> list[tuple[NamedKey, int]]:
        """Returns the named keys between two bounds, and the weight that each has there."""
        prefixes, keys = self._by_location
        # The bound `low` may lie within the collection of the key before it.
        first = max(bisect_left(prefixes, low) - 1, 0)
        last = len(keys) if high is None else bisect_left(prefixes, high)
        weights = [(key, self._key_weight(key, low, high)) for key in keys[first:last]]
        return [(key, weight) for key, weight in weights if weight]

    @cached_property
    def _by_location(self) -> tuple[list[bytes], list[NamedKey]]:
        keys = sorted(self.keys, key=lambda key: key.prefix)
        return [key.prefix for key in keys], keys

    def tail_between(self, low: bytes, high: bytes | None) -> int:
        """Returns the weight of the keys without a name between two bounds."""
        if not self.tail:
            return 0
        return self.tail * (hash_position(high) - hash_position(low)) // HASH_SPACE

    def _key_weight(self, key: NamedKey, low: bytes, high: bytes | None) -> int:
        """Returns the weight of a key's items between two bounds."""
        if self.sort == "spread":
            begin, end = _sort_position(low, key.prefix), _sort_position(high, key.prefix)
            return key.weight * (end - begin) // _SORT_SPACE
        location = key.prefix if self.sort == "one" else key.prefix + _LAST_SORT_KEY
        return key.weight if low <= location and (high is None or location < high) else 0

    def sample_locations(
        self, key: NamedKey, low: bytes, high: bytes | None, count: int, second: int
    ) -> list[bytes]:
        """Returns up to `count` locations of a key's items between two bounds, as requests of this second
        name them. Requires: `count` is at most `_LOCATIONS_MAX`."""
        if self.sort == "one":
            return [key.prefix]
        if self.sort == "rising":
            first = second * _LOCATIONS_MAX
            return [key.prefix + (first + index).to_bytes(SORT_BYTES, "big") for index in range(count)]
        begin, end = _sort_position(low, key.prefix), _sort_position(high, key.prefix)
        return [key.prefix + sort_key for sort_key in _sort_keys_between(begin, end, count)]


def hash_position(bound: bytes | None) -> int:
    """Returns the hash value at a bound of the key space, 0 to `HASH_SPACE`."""
    return HASH_SPACE if bound is None else int.from_bytes(bound[:HASH_BYTES].ljust(HASH_BYTES, b"\0"))


@lru_cache(maxsize=1024)
def _sort_keys_between(begin: int, end: int, count: int) -> list[bytes]:
    """Returns `count` sort keys at even distances, or none where the range is empty."""
    if begin >= end:
        return []
    width, parts = end - begin, 2 * count
    return [(begin + width * middle // parts).to_bytes(SORT_BYTES, "big") for middle in range(1, parts, 2)]


def _sort_position(bound: bytes | None, prefix: bytes) -> int:
    """Returns the position of a bound among the sort keys of a collection: 0 for a bound before it."""
    if bound is None:
        return _SORT_SPACE
    if bound[: len(prefix)] == prefix:
        return int.from_bytes(bound[len(prefix) :][:SORT_BYTES].ljust(SORT_BYTES, b"\0"))
    return 0 if bound < prefix else _SORT_SPACE


# --- Models -------------------------------------------------------------------------------------------


class KeyModel(Protocol):
    def shape(self, second: int, first: int, count: int) -> KeyShape:
        """Returns the keys of `count` requests of one second, the first of which is the `first`-th request of
        all. Returns the same object as long as the keys do not change."""

    def placed(self, draw: int) -> KeyModel:
        """Returns the model with its keys in other places (`key_prefix`)."""

    @property
    def words(self) -> str:
        """The distribution in words: "zipf over 1,000,000 keys"."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A distribution that does not change over time."""

    fixed: KeyShape
    words: str

    def shape(self, second: int, first: int, count: int) -> KeyShape:
        return self.fixed

    def placed(self, draw: int) -> Fixed:
        keys = (NamedKey(key.name, key.weight, key_prefix(key.name, draw)) for key in self.fixed.keys)
        return replace(self, fixed=replace(self.fixed, keys=tuple(keys)))


@dataclass(slots=True)
class Dates:
    """The key is the present hour, day or month, with one of several suffixes if there are any."""

    start_s: int
    """Epoch seconds of the beginning of the run."""
    period: Literal["hour", "day", "month"]
    suffixes: int
    sort: Sort
    draw: int = 0
    _name: str = ""
    _shape: KeyShape | None = None

    def shape(self, second: int, first: int, count: int) -> KeyShape:
        moment = datetime.fromtimestamp(self.start_s + second, UTC)
        name = moment.strftime({"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}[self.period])
        if self._shape is None or name != self._name:
            self._name = name
            self._shape = named([(name, ONE)], self.suffixes, self.sort, draw=self.draw)
        return self._shape

    def placed(self, draw: int) -> Dates:
        return Dates(self.start_s, self.period, self.suffixes, self.sort, draw)

    @property
    def words(self) -> str:
        return f"the {self.period}'s date{_divided(self.suffixes)}"


@dataclass(slots=True)
class Sequential:
    """One key after another, each for `per_key` requests in a row: an upload in the order of its source."""

    per_key: int
    sort: Sort
    draw: int = 0
    _present: tuple[int, int, int] = field(default=(-1, 0, 0), repr=False)
    _shape: KeyShape | None = field(default=None, repr=False)

    def shape(self, second: int, first: int, count: int) -> KeyShape:
        begin, end = first // self.per_key, (first + max(count, 1) - 1) // self.per_key
        # Seconds with the same single key share one shape.
        present = (second, first, count) if begin < end else (-1, begin, end)
        if self._shape is None or present != self._present:
            self._present = present
            self._shape = self._new_shape(first, count)
        return self._shape

    def _new_shape(self, first: int, count: int) -> KeyShape:
        per_key, count = self.per_key, max(count, 1)
        keys = range(first // per_key, (first + count - 1) // per_key + 1)
        if len(keys) > NAMED_KEYS_MAX or per_key == 1:
            return KeyShape((), ONE, self.sort)
        weights = []
        for number in keys:
            begin, end = max(number * per_key, first), min((number + 1) * per_key, first + count)
            weights.append((f"U{number + 1}", (end - begin) * ONE // count))
        return named(weights, 1, self.sort, ordered=True, draw=self.draw)

    def placed(self, draw: int) -> Sequential:
        return Sequential(self.per_key, self.sort, draw)

    @property
    def words(self) -> str:
        return f"one key after another, {self.per_key:,} requests each"


def named(
    weights: Sequence[tuple[str, int]],
    suffixes: int,
    sort: Sort,
    tail: int = 0,
    *,
    ordered: bool = False,
    draw: int = 0,
) -> KeyShape:
    """Returns a shape of named keys, each divided by suffixes; keys beyond NAMED_KEYS_MAX are in the tail."""
    keys: list[NamedKey] = []
    given = 0
    for name, weight in weights:
        if len(keys) + suffixes > NAMED_KEYS_MAX and (keys or suffixes > NAMED_KEYS_MAX):
            break
        for suffix in range(1, suffixes + 1):
            full = name if suffixes == 1 else f"{name}.{suffix}"
            keys.append(NamedKey(full, weight // suffixes, key_prefix(full, draw)))
        given += weight // suffixes * suffixes
    rest = ONE - given
    if keys and not tail and rest < len(keys) + suffixes:
        # The remainder of the divisions goes to the first key.
        keys[0] = NamedKey(keys[0].name, keys[0].weight + rest, keys[0].prefix)
        rest = 0
    return KeyShape(tuple(keys), rest, sort, ordered=ordered)


EVENLY_SPREAD = Fixed(KeyShape((), ONE), "evenly spread")
"""The keys of scans, and of indexes that the plan does not describe."""


def single(name: str, suffixes: int, sort: Sort) -> Fixed:
    return Fixed(named([(name, ONE)], suffixes, sort), f"one key{_divided(suffixes)}")


def _divided(suffixes: int) -> str:
    return f", divided by {suffixes} suffixes" if suffixes > 1 else ""


def uniform(count: int, sort: Sort) -> Fixed:
    """Returns the distribution in which all of `count` keys are equally frequent."""
    words = f"{count:,} keys, all equally often"
    if count <= NAMED_KEYS_MAX:
        weights = [(f"key-{number}", ONE // count) for number in range(1, count + 1)]
        return Fixed(named(weights, 1, sort), words)
    return Fixed(KeyShape((), ONE, sort, (f"any one of {count:,} keys", ONE // count)), words)


def zipf(count: int, exponent: float, suffixes: int, sort: Sort) -> Fixed:
    """Returns Zipf's law: the frequency of the key of rank r is proportional to r to the power -exponent."""
    shown = min(count, max(NAMED_KEYS_MAX // suffixes, 1))
    total = _harmonic(count, exponent)
    weights = [(f"key-{rank}", int(ONE * rank**-exponent / total) or 1) for rank in range(1, shown + 1)]
    return Fixed(
        named(weights, suffixes, sort, tail=count - shown),
        f"{count:,} keys, popularity by Zipf's law with exponent {exponent:g}",
    )


_EXACT_TERMS = 100_000


def _harmonic(count: int, exponent: float) -> float:
    """Returns the sum of r to the power -exponent for r of 1..count; beyond `_EXACT_TERMS`, its integral."""
    exact = min(count, _EXACT_TERMS)
    total = 0.0
    for rank in range(exact, 0, -1):
        total += rank**-exponent
    if count > exact:
        low, high = exact + 0.5, count + 0.5
        if exponent == 1:
            total += log(high / low)
        else:
            total += (high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)
    return total


def weighted(
    weights: Sequence[tuple[str, Fraction]], suffixes: int, sort: Sort, file: str | None = None
) -> Fixed:
    """Returns the distribution of keys with weights, heaviest first; those beyond `NAMED_KEYS_MAX` are in the
    tail. `file`: where they come from."""
    total = sum(weight for _, weight in weights)
    shown = weights[: max(NAMED_KEYS_MAX // suffixes, 1)]
    scaled = [(name, int(ONE * weight / total)) for name, weight in shown]
    source = "" if file is None else f" with the weights of {file.rsplit('/', 1)[-1]}"
    divided = _divided(suffixes).replace("divided", "each divided")
    words = f"{len(weights):,} keys{source}{divided}"
    return Fixed(named(scaled, suffixes, sort, tail=len(weights) - len(shown)), words)
