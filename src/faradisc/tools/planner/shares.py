"""How the requests of a stream are divided over the partitions of a lane, second by second, in integers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from random import Random
from typing import TYPE_CHECKING

from faradisc.capacity.admission import Limiter as Lane
from faradisc.capacity.config import HALF_UNIT, SECOND_NS
from faradisc.capacity.key_watch import KeyWatch as Watch
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.tools.planner.gates import CellGate, Gate, LaneGate
from faradisc.tools.planner.simulation.recorder import DirectionRecord
from faradisc.tools.planner.workload.key_distributions import (
    BEHIND_ALL,
    BITS,
    GOLDEN,
    ONE,
    SORT_BYTES,
    Key,
    Shape,
)

if TYPE_CHECKING:
    from faradisc.tools.planner.steps import Step

FEW_KEYS = 8
"""Keys per stream and second that are followed by name; the heaviest ones."""


WATCHED_KEYS = 64
"""Keys of a watched partition that are looked at one by one; the heaviest ones."""
_WATCHED_PLACES = 48
"""Places by which keys' items are represented in a watched partition, each key's by its part of them. A watch
has room for them (64): of more, it would know those that it was told last, and not what is in the middle."""
_KEY_PLACES = 24
"""One key has no more than this."""
_TAIL_PLACES = 8
"""Nor has all that is without a name more than this at a time; these move."""


class Share:
    """What part of a stream goes to one partition."""

    __slots__ = (
        "_heavy", "_places", "_shape", "_whole", "calm", "cell", "denied", "gate", "hot", "owed",
        "refused_left", "taken", "unseen", "weight",
    )  # fmt: skip

    def __init__(
        self, cell: Cell, weight: int, shape: Shape, gate: CellGate, keys: Sequence[tuple[Key, int]] = ()
    ) -> None:
        """`keys`: its named ones, and what part of the stream's requests is for each here."""
        self.cell = cell
        self.gate = gate
        self.weight = weight
        """0: its keys have moved on, but some of their requests still come back."""
        self.owed = 0
        """What divisions of an index's writes have left over; may be negative."""
        self.refused_left = [0, 0]
        """Parts of refusals that are not counted yet: of the table as a whole, and here."""
        self.taken = 0
        """Requests of this step that were let through and are not charged (`Division.settle`)."""
        # What nobody has been told of yet (`Division.tell`).
        self.denied = 0
        """Refused attempts, for the book of keys."""
        self.calm = 0
        """Admitted requests that do not change their partition's bucket."""
        self.unseen = 0
        """Admitted requests, for the watch of a hot partition."""
        self._shape = shape
        self._whole = weight
        """What the weights of its keys are parts of."""
        self._heavy = sorted(keys, key=_by_weight)[:WATCHED_KEYS]
        self.hot = [(key.name, mine) for key, mine in self._heavy[:FEW_KEYS]]
        self._places: dict[tuple[str, int], list[bytes]] = {}

    def inherit(self, earlier: Share) -> None:
        """Those who come back have the keys that this partition had last."""
        self._shape, self._whole = earlier._shape, earlier._whole
        self._heavy, self.hot = earlier._heavy, earlier.hot

    @property
    def keys(self) -> list[tuple[Key, int]]:
        """Its keys and what part of the stream's requests is for each here: the heaviest `WATCHED_KEYS`."""
        return self._heavy

    @property
    def is_in_order(self) -> bool:
        """Whether its keys have a turn, and will be gone after it."""
        return self._shape.ordered and self.weight > 0

    @property
    def window(self) -> tuple[int, int] | None:
        """From when to when, of 0..ONE, its keys are asked for, if they follow one another."""
        if not self.is_in_order or not self._heavy or not self._shape.cuts:
            return None
        return self._shape.window(key for key, _ in self._heavy)

    def tell(self, record: DirectionRecord, half_units: int, nano: int, turn: int) -> None:
        """Tell what has been kept back: to the book of keys each key's part of the refused attempts, to the
        partition what it has served, to its watch at which keys. A request costs `half_units`, which are
        `nano` to a partition."""
        if self.denied:
            for name, weight in self.hot:
                count = self.denied * weight // self._whole
                if count:
                    record.keys.throttle(name, count)
        if self.calm:
            record.cell(self.cell).half_units += self.calm * half_units
            self.cell.spent += self.calm * half_units
            self.cell.charged += self.calm
        if self.unseen:
            room = self.gate.take_room(self.unseen)
            watch = self.cell.watch
            if watch is not None and is_told(self.cell, watch, self.gate.asked_ns):
                self._tell_watch(watch, nano, room, turn)
        self.denied = self.calm = self.unseen = 0

    def _tell_watch(self, watch: Watch, nano: int, room: int, turn: int) -> None:
        """Tell at which keys, a request taking `nano`, when there is `room` for so many places."""
        if self._shape.sort == "rising":
            number = min(room, self.unseen)
            for place in self._new_places(number, turn):
                watch.add(place, nano * self.unseen // number)
            return
        for place, count in self._places_of(self.unseen, turn):
            watch.add(place, nano * count)

    def place(self, random: Random) -> bytes:
        """The place of one of its requests."""
        part = self.cell.partition
        point = random.randrange(self._whole) if self._whole else 0
        for key, weight in self._heavy:
            point -= weight
            if point < 0:
                return self._shape.place_between(key, part.low, part.high, random.randrange(ONE))
        low, high = self.gate.bounds
        place = random.randrange(low, high).to_bytes(16, "big") if low < high else part.low
        return place + BEHIND_ALL if self._shape.sort == "rising" else place

    def placed_at(self, place: bytes, first_ns: int) -> bytes:
        """The place of a request that was first sent then: rising sort keys are times."""
        if self._shape.sort != "rising":
            return place
        return place[:-SORT_BYTES] + first_ns.to_bytes(SORT_BYTES, "big")

    def _places_of(self, count: int, turn: int) -> list[tuple[bytes, int]]:
        """Places that stand for `count` requests while the partition's keys are being watched: its heavy keys
        one by one, the rest by a few places that move from second to second. `turn` grows from call to
        call."""
        found: list[tuple[bytes, int]] = []
        rest = count
        for key, weight in self._heavy:
            mine = min(count * weight // self._whole, rest)
            if not mine:
                break
            part = min(max(_WATCHED_PLACES * weight // self._whole, 1), _KEY_PLACES)
            places = self._of_key(key, min(mine, part), turn)
            each, over = divmod(mine, len(places)) if places else (0, 0)
            found += [(place, each + (position < over)) for position, place in enumerate(places)]
            rest -= mine if places else 0
        if rest > 0:
            found += self._of_tail(rest, turn)
        return found

    def _new_places(self, number: int, turn: int) -> list[bytes]:
        """Of keys whose items are new each time a watch knows those that it was told last, all of one weight:
        so many of each key as it has of the requests, by turns."""
        upto = [limit * ONE // self._whole for limit in accumulate(weight for _, weight in self._heavy)]
        counts, _ = divide(number, [*upto, ONE], turn * GOLDEN % ONE)
        low, high = self.cell.partition.low, self.cell.partition.high
        places = [
            self._shape.sort_places(key, low, high, mine, turn)
            for (key, _), mine in zip(self._heavy, counts, strict=False)
        ]
        if counts[-1]:
            places.append([place for place, part in self._of_tail(counts[-1], turn) for _ in range(part)])
        # Key by key, the later ones would push out the earlier ones; but each key's rise.
        owners = [owner for owner, mine in enumerate(places) for _ in mine]
        ways = [iter(mine) for mine in places]
        return [
            next(ways[owner])
            for _, owner in sorted((at * GOLDEN % ONE, owner) for at, owner in enumerate(owners))
        ]

    def _of_key(self, key: Key, count: int, turn: int) -> list[bytes]:
        part = self.cell.partition
        places = self._places.get((key.name, count))
        if places is None:
            places = self._shape.sort_places(key, part.low, part.high, count, turn)
            self._places[(key.name, count)] = places
        return places

    def _of_tail(self, count: int, turn: int) -> list[tuple[bytes, int]]:
        low, high = self.gate.bounds
        if high - low < _TAIL_PLACES:
            return [(self.cell.partition.low, count)]
        number = min(count, _TAIL_PLACES)
        each, over = divmod(count, number)
        step = (high - low) // number
        shift = turn * GOLDEN % ONE * step >> BITS
        return [
            ((low + step * position + shift).to_bytes(16, "big"), each + (position < over))
            for position in range(number)
        ]


def _by_weight(pair: tuple[Key, int]) -> tuple[int, str]:
    key, weight = pair
    return -weight, key.name


def is_told(cell: Cell, watch: Watch, now: int) -> bool:
    """Whether a hot partition has come half the way to its split, or to the next look at it where one was
    refused. A watch has room for what it is told from then on, so that of what is counted or repeated it need
    not be told anything before."""
    part, needed_s = cell.partition, watch.config.hot_for_s
    return part.hot_s * 2 >= needed_s and (part.cooldown_until_ns - now) * 2 <= needed_s * SECOND_NS


class Few:
    """One of the few keys that are followed by name."""

    __slots__ = ("left", "name", "offered", "weight")

    def __init__(self, key: Key) -> None:
        self.name = key.name
        self.weight = key.weight
        self.left = ONE >> 1
        self.offered = 0
        """First attempts of which the book of keys has not been told in sum."""


class Crowd:
    """The partitions of a division that have refused nothing lately: requests for them have the same chances,
    so that they are counted together and divided only when they are charged."""

    __slots__ = ("_phase", "_upto", "asked", "denied", "shares", "taken", "tight", "weight")

    def __init__(self, shares: list[Share]) -> None:
        self.shares = shares
        self.weight = sum(share.weight for share in shares)
        self.asked = 0
        """Attempts of this step of which the gates have not been told."""
        self.taken = 0
        """Requests of this step that were let through and are not charged."""
        self.denied = 0
        """Refused attempts that the shares have not been told of."""
        self.tight: list[Share] = []
        """Those whose gates turn out to be short all the same (tools/planner/balance.py)."""
        self._upto = [upto * ONE // self.weight for upto in accumulate(share.weight for share in shares)]
        self._phase = 0

    def load_gates(self, nano: int, now: int, lasting_ns: int) -> None:
        """Tell the gates what is asked of them, each attempt costing so much."""
        each = self.asked * nano / self.weight
        self.asked = 0
        for share in self.shares:
            gate = share.gate
            gate.ask(now, lasting_ns)
            gate.load += share.weight * each

    def short(self) -> bool:
        """Whether some gate has less than is asked of it."""
        for share in self.shares:
            gate = share.gate
            # As `Gate.short`, written out: every second of an ordinary day asks every partition.
            if gate.load > gate.available or not gate.available:
                return True
        return False

    def divide(self, count: int) -> list[int]:
        counts, self._phase = divide(count, self._upto, self._phase)
        return counts

    def settle(self) -> None:
        """Let each have its part of what was taken."""
        if self.taken:
            for share, count in zip(self.shares, self.divide(self.taken), strict=True):
                share.taken += count
            self.taken = 0

    def tell(self) -> None:
        if self.denied:
            for share, count in zip(self.shares, self.divide(self.denied), strict=True):
                share.denied += count
            self.denied = 0


_NOBODY = Crowd([])
_REFUSES_FOR_NS = 60 * SECOND_NS
"""A partition is left to itself for so long after it has refused something."""


class Division:
    """A lane's partitions under one shape of keys. Rebuilt when keys or partitions change."""

    __slots__ = (
        "_apart", "_charges", "_crowd", "_earlier", "_half_units", "_phase", "_refusals",
        "_strangers", "_taken", "_upto", "few", "is_steady", "nano", "shape", "shares", "version",
    )  # fmt: skip

    def __init__(self, half_units: int, nano: int) -> None:
        """Of requests that cost `half_units`, which are `nano` to a partition."""
        self._half_units = half_units
        self.nano = nano
        self.shape: Shape | None = None
        self.version = -1
        self.shares: list[Share] = []
        self.few: list[Few] = []
        self._strangers: dict[Cell, Share] = {}
        self._earlier: dict[Cell, Share] = {}
        """By partition to which present keys send nothing, what it was to those that did last."""
        self._charges: list[tuple[CellGate, int]] = []
        """What each partition is charged for in this step, but for calm ones."""
        self._taken = 0
        """And the lane as a whole."""
        self._apart: list[Share] = []
        """All that are not in the crowd."""
        self._upto: list[int] = []
        """Of the crowd as a whole and of these: their weights, summed up."""
        self._phase = 0
        self._crowd = _NOBODY
        self._refusals = -1
        self.is_steady = True
        """Whether the keys have never changed, not even within a second."""

    def of(self, shape: Shape, record: DirectionRecord, gates: Gates) -> list[Share]:
        version = record.virtual.resource.partitions.next_number
        if shape is self.shape and version == self.version:
            return self.shares
        moved = version != self.version
        self.tell(record, strangers=moved)
        self.is_steady = self.is_steady and self.shape in (None, shape) and not shape.cuts
        self.shape, self.version = shape, version
        self._crowd, self._refusals = _NOBODY, -1
        if moved:
            self._earlier.clear()
        else:
            self._earlier.update([(share.cell, share) for share in self.shares])
        self.shares = []
        if moved:
            self._strangers = {}
        for cell in _cells_of(shape, record.lane):
            part = cell.partition
            keys = shape.keys_between(part.low, part.high)
            weight = shape.weight_between(part.low, part.high, keys)
            if weight:
                self.shares.append(Share(cell, weight, shape, gates.cell(cell), keys))
                self._welcome(cell, record)
        self.shares[0].weight += ONE - sum([share.weight for share in self.shares])
        heaviest = sorted(shape.keys, key=lambda key: (-key.weight, key.name))[:FEW_KEYS]
        self.few = [Few(key) for key in heaviest if key.name]
        return self.shares

    def _welcome(self, cell: Cell, record: DirectionRecord) -> None:
        """Keys are there again: those who come back after they have moved on will have these."""
        stranger = self._strangers.pop(cell, None)
        if stranger is not None:
            self._tell(stranger, record)

    def crowd(self, refusals: int) -> Crowd:
        """Those that have refused nothing lately, as long as keys do not change. `refusals` is another number
        whenever these may be others."""
        if refusals != self._refusals:
            self._refusals = refusals
            self._crowd.tell()
            self._crowd, self._apart = _NOBODY, self.shares
            if self.is_steady:
                quiet = [share for share in self.shares if not share.gate.refuses and share.weight]
                self._crowd = Crowd(quiet) if quiet else _NOBODY
                within = set(quiet)
                self._apart = [share for share in self.shares if share not in within]
            self._upto = list(accumulate([self._crowd.weight, *[share.weight for share in self._apart]]))
        return self._crowd

    @property
    def places(self) -> int:
        """Partitions that are asked one by one, and the crowd."""
        return len(self._apart) + 1

    def stranger(self, cell: Cell, gates: Gates) -> Share:
        """A partition to which these keys send nothing, and earlier ones did. Requires: there is a shape."""
        share = self._strangers.get(cell)
        if share is None:
            assert self.shape is not None
            share = self._strangers[cell] = Share(cell, 0, self.shape, gates.cell(cell))
            if cell in self._earlier:
                share.inherit(self._earlier[cell])
        return share

    def settle(self, gate: LaneGate, grows: int, items: int) -> None:
        """Note what has been taken in a step, for `charge`. Each request makes its partition grow by so many
        bytes and items."""
        record, half_units = gate.record, self._half_units
        self._crowd.settle()
        total = 0
        self._charges = []
        for share in (*self.shares, *self._strangers.values()):
            count = share.taken
            if not count:
                continue
            share.taken = 0
            total += count
            cell, mine = share.cell, share.gate
            if grows or items:
                part = cell.partition
                part.bytes = max(part.bytes + count * grows, 0)
                part.items = max(part.items + count * items, 0)
            if not half_units:
                continue
            if cell.watch is not None:
                share.unseen += count
                mine.unseen += count
            if mine.load <= mine.calm_below:
                share.calm += count
                continue
            mine.taken += count * self.nano
            record.cell(cell).half_units += count * half_units
            self._charges.append((mine, count))
        self._taken = total if half_units else 0
        gate.taken += self._taken * half_units * HALF_UNIT
        record.second_consumed += self._taken * half_units

    def charge(self, gate: LaneGate, step: Step, begin: int, end: int, *, eventual: bool = False) -> None:
        """Charge what was taken in a step, of the seconds from `begin` to `end`."""

        def between(count: int) -> int:
            return count * end // step.seconds - count * begin // step.seconds

        now = step.now + begin * SECOND_NS
        lane = gate.record.lane
        cells: list[tuple[Cell, int]] = []
        for mine, count in self._charges:
            if begin or mine.at_ns == now:
                cells.append((mine.cell, between(count)))
            else:
                portion = [(mine.cell, between(count))]
                lane.settle_partitions(portion, self._half_units, mine.at_ns, eventual=eventual)
        lane.settle_whole(self._half_units, between(self._taken), now if begin else gate.at_ns)
        lane.settle_partitions(cells, self._half_units, now, eventual=eventual)

    def tell(self, record: DirectionRecord, *, strangers: bool = True) -> None:
        """Tell whoever looks what has been kept back: before time passes in the core, before a sample is
        taken, before keys or partitions change (strangers stay what they are if it is but the keys), and in
        the end."""
        for few in self.few:
            if few.offered:
                record.keys.total(few.name, self._half_units, few.offered)
                few.offered = 0
        self._crowd.tell()
        for share in (*self.shares, *(self._strangers.values() if strangers else ())):
            self._tell(share, record)

    def _tell(self, share: Share, record: DirectionRecord) -> None:
        if share.denied or share.calm or share.unseen:
            record.turn += 1
            share.tell(record, self._half_units, self.nano, record.turn)

    def divide(self, count: int) -> tuple[int, list[tuple[Share, int]]]:
        """A second's requests: how many are for the crowd, and for each of the others. Requires: `crowd`."""
        (together, *counts), self._phase = divide(count, self._upto, self._phase)
        return together, list(zip(self._apart, counts, strict=True))


def _cells_of(shape: Shape, lane: Lane) -> Sequence[Cell]:
    """The partitions that a shape's requests may be for, in order of place."""
    if shape.tail or len(shape.keys) > FEW_KEYS:
        return lane.buckets
    found: set[int] = set()
    for key in shape.keys:
        first = bisect_right(lane.lows, key.prefix) - 1
        last = bisect_right(lane.lows, key.prefix + BEHIND_ALL)
        found.update(range(first, last))
    return [lane.buckets[position] for position in sorted(found)]


class Spans:
    """Where in 0..ONE the keys of each partition lie."""

    def __init__(self, shape: Shape, shares: Sequence[Share]) -> None:
        held: dict[str, list[tuple[int, int]]] = {}
        for number, share in enumerate(shares):
            part = share.cell.partition
            for key, weight in shape.keys_between(part.low, part.high):
                held.setdefault(key.name, []).append((number, weight))
        weights = [pair for key in shape.keys for pair in held.get(key.name, ())]
        for number, share in enumerate(shares):
            part = share.cell.partition
            weights.append((number, shape.tail_between(part.low, part.high)))
        self._upto: list[int] = []
        self._owners: list[int] = []
        reached = 0
        for number, weight in weights:
            reached += weight
            if self._owners and self._owners[-1] == number:
                self._upto[-1] = reached
            elif weight:
                self._upto.append(reached)
                self._owners.append(number)
        # What rounding has left over lies behind the last end.
        self._owners.append(self._owners[-1])

    def owners(self, points: Iterable[int]) -> list[int]:
        """Whose each point is: a position among the shares."""
        upto, owners = self._upto, self._owners
        return [owners[bisect_right(upto, point)] for point in points]


def divide(count: int, upto: list[int], phase: int) -> tuple[list[int], int]:
    """Requests by weights that are summed up to `ONE`, and the phase for the next time. They add up to
    `count`, and where rounding falls moves from time to time, so that in a while each has what its weight
    gives it."""
    phase = (phase + GOLDEN) % ONE
    counts = []
    before = 0
    for limit in upto:
        reached = (count * limit + phase) >> BITS
        counts.append(reached - before)
        before = reached
    return counts, phase


_LITTLE = 0.05
"""A bank here and there that runs out is made good by what it owes then."""


class Gates:
    """The gates of all lanes, as the present second finds them."""

    def __init__(self) -> None:
        self._lanes: dict[Lane, LaneGate] = {}
        self._cells: dict[Cell, CellGate] = {}
        self.refusals = 0
        """Grows when a partition begins to refuse, and when it has stopped."""

    def lane(self, record: DirectionRecord) -> LaneGate:
        gate = self._lanes.get(record.lane)
        if gate is None:
            gate = self._lanes[record.lane] = LaneGate(record)
        return gate

    def cell(self, cell: Cell) -> CellGate:
        gate = self._cells.get(cell)
        if gate is None:
            gate = self._cells[cell] = CellGate(cell)
        return gate

    def rates(self) -> list[float]:
        """What all of them earn, in an order of their own."""
        buckets = [gate.bucket or gate.debtor for gate in chain(self._lanes.values(), self._cells.values())]
        return [0.0 if bucket is None else bucket.rate / bucket.scale for bucket in buckets]

    def run_out(self, step: Step, now: int, lasting_ns: int) -> bool:
        """Whether gates that let everything through in a step, a good part of them all, will not in the time
        that begins now."""
        gates: Iterable[Gate] = chain(self._lanes.values(), self._cells.values())
        asked = [gate for gate in gates if gate.asked_ns == step.now]
        taken = sum([gate.taken for gate in asked]) * lasting_ns // step.lasting_ns
        return sum([gate.lacking(step, now, lasting_ns) for gate in asked]) > taken * _LITTLE

    def tidy(self, now: int) -> None:
        """Forget the gates of partitions that have split, and refusals of long ago."""
        self._cells = {cell: gate for cell, gate in self._cells.items() if cell.partition.state != "retired"}
        for gate in self._cells.values():
            if gate.refuses and now - gate.refused_ns > _REFUSES_FOR_NS:
                gate.refuses = False
                self.refusals += 1
