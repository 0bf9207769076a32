"""Which keys are asked for: models of key choices, and where their keys lie.

A model gives a *shape*: a few named keys with weights, and a *tail*, the rest, which is spread evenly over
the whole hash space because it consists of very many keys of little weight each. Both engines use the same
shapes: one draws keys from them, the other divides rates by them.

Weights are integers that add up to `ONE`. Keys are placed by the server's own hash, so the partition of a
named key is the one the server would choose.

Where a table has a sort key, a named key is an item collection, and `Sort` says where in it the requests go:
to one item, all over it, or always behind its end (times, counters).

Sources: capacity.md sections 3.3 (the models), 1.8 (S-110 to S-113: which are good and which bad).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import log
from typing import Literal, Protocol

from faradisc.model.codec.keyspace import HASH_BYTES, hash_of
from faradisc.model.codec.sortkey import encode_component

BITS = 40
ONE = 1 << BITS
"""The sum of a shape's weights."""
GOLDEN = 679_535_556_991
"""ONE divided by the golden ratio, odd: its multiples fill 0..ONE more evenly than any other's."""
SILVER = 455_432_628_211
"""ONE times the fractional part of the square root of 2, odd, for what must not move in step with keys."""
NAMED_KEYS_MAX = 1000
"""More keys than this are not named one by one: the lighter ones become the tail."""
Sort = Literal["one", "spread", "rising"]
SORT_BYTES = 8
_CALL_MOST = 1 << 10
BEHIND_ALL = b"\xff" * SORT_BYTES
"""No sort key of a collection lies behind this."""
_SORT_SPACE = 1 << (8 * SORT_BYTES)
_HASH_SPACE = 1 << (8 * HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Key:
    """A named key and its weight."""

    name: str
    weight: int
    prefix: bytes
    """Where its collection begins: hash, then the key."""


def key_prefix(name: str) -> bytes:
    """Where the items of a partition key of type S lie."""
    return hash_of(name.encode()) + encode_component({"S": name})


@dataclass(frozen=True)
class Shape:
    keys: tuple[Key, ...]
    tail: int
    """Weight of all keys without a name."""
    sort: Sort = "one"
    example: tuple[str, int] | None = None
    """What one of the many keys of an even tail is called, and its weight."""
    ordered: bool = False
    """Whether the requests of a second take the named keys in their order, one key after another."""
    _upto: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_upto", tuple(accumulate(key.weight for key in self.keys)))

    def draw(self, point: int, sort_point: int) -> tuple[Key | None, bytes]:
        """The key and the place at a point of 0..ONE-1; `sort_point` likewise places the sort key; rising
        sort keys are this number."""
        position = bisect_right(self._upto, point)
        if position < len(self.keys):
            key = self.keys[position]
            return key, key.prefix + self._sort_bytes(sort_point)
        into = point - (self._upto[-1] if self._upto else 0)
        return None, place_in_tail(Fraction(into, max(self.tail, 1))) + self._sort_bytes(sort_point)

    def _sort_bytes(self, point: int) -> bytes:
        if self.sort == "one":
            return b""
        scaled = point if self.sort == "rising" else point * (_SORT_SPACE // ONE)
        return scaled.to_bytes(SORT_BYTES, "big")

    def weight_between(
        self, low: bytes, high: bytes | None, keys: Sequence[tuple[Key, int]] | None = None
    ) -> int:
        """What part of the requests goes to the places of low (inclusive) to high (exclusive), of which these
        are the named keys, if that is known (`keys_between`)."""
        named = sum([weight for _, weight in (self.keys_between(low, high) if keys is None else keys)])
        return named + self.tail_between(low, high)

    def keys_between(self, low: bytes, high: bytes | None) -> list[tuple[Key, int]]:
        """The named keys there, and what part of all requests is for each."""
        prefixes, keys = self._by_place
        # The bound `low` may lie within the collection of the key before it.
        first = max(bisect_left(prefixes, low) - 1, 0)
        last = len(keys) if high is None else bisect_left(prefixes, high)
        shares = [(key, self.share_of_key(key, low, high)) for key in keys[first:last]]
        return [(key, share) for key, share in shares if share]

    @cached_property
    def _by_place(self) -> tuple[list[bytes], list[Key]]:
        keys = sorted(self.keys, key=lambda key: key.prefix)
        return [key.prefix for key in keys], keys

    def tail_between(self, low: bytes, high: bytes | None) -> int:
        if not self.tail:
            return 0
        return self.tail * (_hash_position(high) - _hash_position(low)) // _HASH_SPACE

    @property
    def cuts(self) -> Sequence[int]:
        """Where in 0..ONE one key ends and the next one begins, if they are taken in order."""
        return self._upto[:-1] if self.ordered else ()

    def window(self, keys: Iterable[Key]) -> tuple[int, int]:
        """From when to when, of 0..ONE, some of its keys are asked for, if they are taken in order."""
        names = {key.name for key in keys}
        mine = [
            (upto - key.weight, upto)
            for key, upto in zip(self.keys, self._upto, strict=True)
            if key.name in names
        ]
        return mine[0][0], mine[-1][1]

    def during(self, begin: int, end: int) -> Shape:
        """What is asked for in a part of the second, `begin` to `end` of 0..ONE."""
        if not self.ordered:
            return self
        keys: list[Key] = []
        left = ONE
        for key, upto in zip(self.keys, self._upto, strict=True):
            within = min(upto, end) - max(upto - key.weight, begin)
            if within > 0:
                weight = within * ONE // (end - begin)
                keys.append(Key(key.name, weight, key.prefix))
                left -= weight
        first = keys[0]
        found = self._alone.get(first.name) if len(keys) == 1 else None
        if found is None:
            keys[0] = replace(first, weight=first.weight + left)
            found = Shape(tuple(keys), 0, self.sort, ordered=True)
            if len(keys) == 1:
                self._alone[first.name] = found
        return found

    @cached_property
    def _alone(self) -> dict[str, Shape]:
        """What is asked for while one key has its turn, by its name, as far as that was needed."""
        return {}

    def share_of_key(self, key: Key, low: bytes, high: bytes | None) -> int:
        """What part of all requests is for this key and lies between the bounds."""
        if self.sort == "one":
            return key.weight if _holds(key.prefix, low, high) else 0
        if self.sort == "rising":
            return key.weight if _holds(key.prefix + BEHIND_ALL, low, high) else 0
        begin, end = _sort_position(low, key.prefix), _sort_position(high, key.prefix)
        return key.weight * (end - begin) // _SORT_SPACE

    def sort_places(self, key: Key, low: bytes, high: bytes | None, count: int, turn: int) -> list[bytes]:
        """Up to `count` places of a key between bounds, for whoever looks at keys one by one. `turn` grows
        from call to call and stands for the passing of requests. Requires: no more than `_CALL_MOST`."""
        if self.sort == "one":
            return [key.prefix]
        if self.sort == "rising":
            # Each call lies behind the one before, as the requests' sort keys do.
            first = turn * _CALL_MOST
            return [key.prefix + (first + index).to_bytes(SORT_BYTES, "big") for index in range(count)]
        begin, end = _sort_position(low, key.prefix), _sort_position(high, key.prefix)
        return [key.prefix + sort_key for sort_key in _sort_keys_between(begin, end, count)]

    def place_between(self, key: Key, low: bytes, high: bytes | None, point: int) -> bytes:
        """The place of a key's item at a point of 0..ONE-1 between bounds; if sort keys rise, the last."""
        if self.sort == "one":
            return key.prefix
        if self.sort == "rising":
            return key.prefix + BEHIND_ALL
        begin, end = _sort_position(low, key.prefix), _sort_position(high, key.prefix)
        return key.prefix + (begin + (end - begin) * point // ONE).to_bytes(SORT_BYTES, "big")


def place_in_tail(part: Fraction) -> bytes:
    """The place at a part 0..1 of the hash space."""
    return int(part * _HASH_SPACE).to_bytes(HASH_BYTES, "big")


def _hash_position(bound: bytes | None) -> int:
    return _HASH_SPACE if bound is None else int.from_bytes(bound[:HASH_BYTES].ljust(HASH_BYTES, b"\0"))


def _holds(place: bytes, low: bytes, high: bytes | None) -> bool:
    return low <= place and (high is None or place < high)


@lru_cache(maxsize=1024)
def _sort_keys_between(begin: int, end: int, count: int) -> list[bytes]:
    """So many sort keys at even distances, if there is anything between these positions."""
    if begin >= end:
        return []
    width, parts = end - begin, 2 * count
    return [(begin + width * middle // parts).to_bytes(SORT_BYTES, "big") for middle in range(1, parts, 2)]


def _sort_position(bound: bytes | None, prefix: bytes) -> int:
    """A bound as a position among the sort keys of a collection: before it 0, behind it the end."""
    if bound is None:
        return _SORT_SPACE
    if bound[: len(prefix)] == prefix:
        return int.from_bytes(bound[len(prefix) :][:SORT_BYTES].ljust(SORT_BYTES, b"\0"))
    return 0 if bound < prefix else _SORT_SPACE


# --- Models -------------------------------------------------------------------------------------------


class KeyModel(Protocol):
    def shape(self, second: int, first: int, count: int) -> Shape:
        """The keys of `count` requests of one second, the first of which is the model's `first`-th. As long
        as keys do not change it is the same object."""

    @property
    def words(self) -> str:
        """For people: "zipf over 1,000,000 keys"."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Models whose keys do not change over time."""

    fixed: Shape
    words: str

    def shape(self, second: int, first: int, count: int) -> Shape:
        return self.fixed


@dataclass(slots=True)
class Dates:
    """The key is the present hour, day or month, perhaps with one of several suffixes."""

    start_s: int
    """Epoch seconds of the beginning of the run."""
    period: Literal["hour", "day", "month"]
    suffixes: int
    sort: Sort
    _name: str = ""
    _shape: Shape | None = None

    def shape(self, second: int, first: int, count: int) -> Shape:
        moment = datetime.fromtimestamp(self.start_s + second, UTC)
        name = moment.strftime({"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}[self.period])
        if self._shape is None or name != self._name:
            self._name = name
            self._shape = named([(name, ONE)], self.suffixes, self.sort)
        return self._shape

    @property
    def words(self) -> str:
        suffixed = f", divided by {self.suffixes} suffixes" if self.suffixes > 1 else ""
        return f"the {self.period}'s date{suffixed}"


@dataclass(slots=True)
class Sequential:
    """One key after another, each for so many requests in a row: an upload in the source's order."""

    per_key: int
    sort: Sort
    prefix: str = "U"
    _asked: tuple[int, int, int] = field(default=(-1, 0, 0), repr=False)
    _shape: Shape | None = field(default=None, repr=False)

    def shape(self, second: int, first: int, count: int) -> Shape:
        begin, end = first // self.per_key, (first + max(count, 1) - 1) // self.per_key
        # Seconds of one and the same key have the same shape.
        asked = (second, first, count) if begin < end else (-1, begin, end)
        if self._shape is None or asked != self._asked:
            self._asked = asked
            self._shape = self._new_shape(first, count)
        return self._shape

    def _new_shape(self, first: int, count: int) -> Shape:
        last = first + max(count, 1) - 1
        keys = range(first // self.per_key, last // self.per_key + 1)
        if len(keys) > NAMED_KEYS_MAX or self.per_key == 1:
            return Shape((), ONE, self.sort)
        total = last - first + 1
        weights = [
            (
                f"{self.prefix}{number + 1}",
                (min((number + 1) * self.per_key, last + 1) - max(number * self.per_key, first))
                * ONE
                // total,
            )
            for number in keys
        ]
        return named(weights, 1, self.sort, ordered=True)

    @property
    def words(self) -> str:
        return f"one key after another, {self.per_key:,} requests each"


def named(
    weights: Sequence[tuple[str, int]], suffixes: int, sort: Sort, tail: int = 0, *, ordered: bool = False
) -> Shape:
    """A shape of named keys, each divided by suffixes; what is beyond NAMED_KEYS_MAX joins the tail."""
    keys: list[Key] = []
    given = 0
    for name, weight in weights:
        if len(keys) + suffixes > NAMED_KEYS_MAX and (keys or suffixes > NAMED_KEYS_MAX):
            break
        for suffix in range(1, suffixes + 1):
            full = name if suffixes == 1 else f"{name}.{suffix}"
            keys.append(Key(full, weight // suffixes, key_prefix(full)))
        given += weight // suffixes * suffixes
    rest = ONE - given
    if keys and not tail and rest < len(keys) + suffixes:
        # Nothing but the remainder of divisions: the first key has it.
        keys[0] = Key(keys[0].name, keys[0].weight + rest, keys[0].prefix)
        rest = 0
    return Shape(tuple(keys), rest, sort, ordered=ordered)


def single(name: str, suffixes: int, sort: Sort) -> Fixed:
    divided = f", divided by {suffixes} suffixes" if suffixes > 1 else ""
    return Fixed(named([(name, ONE)], suffixes, sort), f"one key{divided}")


def uniform(count: int, sort: Sort, prefix: str = "key") -> Fixed:
    """All of `count` keys equally often."""
    words = f"{count:,} keys, all equally often"
    if count <= NAMED_KEYS_MAX:
        weights = [(f"{prefix}-{number}", ONE // count) for number in range(1, count + 1)]
        return Fixed(named(weights, 1, sort), words)
    return Fixed(Shape((), ONE, sort, (f"any one of {count:,} keys", ONE // count)), words)


def zipf(count: int, exponent: float, suffixes: int, sort: Sort, prefix: str = "key") -> Fixed:
    """The key of rank r is asked for in proportion to r to the power of -exponent."""
    shown = min(count, max(NAMED_KEYS_MAX // suffixes, 1))
    total = _harmonic(count, exponent)
    weights = [(f"{prefix}-{rank}", int(ONE * rank**-exponent / total) or 1) for rank in range(1, shown + 1)]
    return Fixed(
        named(weights, suffixes, sort, tail=count - shown),
        f"{count:,} keys, popularity by Zipf's law with exponent {exponent:g}",
    )


_EXACT_TERMS = 100_000


def _harmonic(count: int, exponent: float) -> float:
    """The sum of r to the power of -exponent for r of 1..count; beyond many terms, its integral."""
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


def weighted(weights: Sequence[tuple[str, Fraction]], suffixes: int, sort: Sort) -> Fixed:
    """A few keys with the weights they have."""
    total = sum(weight for _, weight in weights)
    scaled = [(name, int(ONE * weight / total)) for name, weight in weights]
    divided = f", each divided by {suffixes} suffixes" if suffixes > 1 else ""
    return Fixed(named(scaled, suffixes, sort), f"{len(weights)} keys{divided}")


def listed(weights: Sequence[tuple[str, Fraction]], suffixes: int, sort: Sort, file: str) -> Fixed:
    """The keys of a file, the heaviest first. Those beyond `NAMED_KEYS_MAX` become the tail."""
    total = sum(weight for _, weight in weights)
    shown = weights[: max(NAMED_KEYS_MAX // suffixes, 1)]
    scaled = [(name, int(ONE * weight / total)) for name, weight in shown]
    divided = f", each divided by {suffixes} suffixes" if suffixes > 1 else ""
    words = f"{len(weights):,} keys with the weights of {file.rsplit('/', 1)[-1]}{divided}"
    return Fixed(named(scaled, suffixes, sort, tail=len(weights) - len(shown)), words)
