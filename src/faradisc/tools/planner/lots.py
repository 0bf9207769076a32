"""The state of one stream in the fluid engine, and the lots its requests are divided into.

A retry has the keys of the attempt before it. Where one partition of a global index refuses and the others
do not, those who come back are for that one, and another round must not scatter them over all. So a
partition of an index that refuses gets a *lot* of its own: the stream's requests for it, with
turnstiles of their own. Partitions that are asked about equally much of what they earn refuse equally often,
and have one together, named after the one that led the way. The rest is one lot. With several indexes there
is a lot for each combination.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, product
from math import frexp, prod
from operator import sub
from typing import TYPE_CHECKING

from faradisc.capacity.config import HALF_UNIT
from faradisc.capacity.partitions import PartitionBucket as Cell
from faradisc.tools.planner.shares import Division, Gates, Share, divide
from faradisc.tools.planner.simulation.recorder import FlowRecord
from faradisc.tools.planner.together import Lane, Parts, Stretch, lane_of, stretches
from faradisc.tools.planner.turnstile import Turnstile
from faradisc.tools.planner.workload.key_distributions import BITS, GOLDEN, ONE, Shape
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.planner.workload.streams import Stream

if TYPE_CHECKING:
    from faradisc.tools.planner.steps import Step

_APART = 2 * 31_415_926_535
"""Keeps streams from being rounded in step."""
LOTS_MAX = 12
"""Partitions of indexes that would make more lots share one with the rest."""
_IN_ORDER_MAX = 64
"""The same where keys of an index follow one another: requests come back for each that has had its turn
lately, and would be held back by others (17 % off, with two indexes)."""
_PLACES_FEW = 120
_PLACES_MAX = 1200
"""Lots are few, or as many as that, if they are no more than this, divided by the partitions of the table
that each is divided over."""
_STEPS = (4, 2, 1)
"""Steps between a burden and twice of it: partitions of the same are in one lot. Larger steps, if lots were
not few."""

LotKey = tuple[Cell | None, ...]
"""Per index the partition that leads those which a lot's requests are for; None: any that has no lot of its
own."""

Portions = list[tuple[Share, int]]
"""Partitions of the table, and how many requests are for each."""

Back = dict[Cell | None, list[int]]
"""Requests that come back, per attempt, by partition of the table; None: of its crowd."""


class Lot:
    __slots__ = ("_retries", "cells", "turnstiles")

    def __init__(self, cells: LotKey, retries: Retries) -> None:
        self.cells = cells
        self.turnstiles: dict[Cell | None, Turnstile] = {}
        """By partition of the table. Those that have refused nothing lately, its crowd (shares.py), have one
        in common: None."""
        self._retries = retries

    @property
    def waiting(self) -> int:
        """Requests that will come back."""
        return sum([turnstile.waiting for turnstile in self.turnstiles.values()])

    def turnstile(self, cell: Cell | None) -> Turnstile:
        found = self.turnstiles.get(cell)
        if found is None:
            found = self.turnstiles[cell] = Turnstile(self._retries)
        return found

    def back(self, tick: int, part: float) -> Back:
        """The requests that come back in this tick, or a part of them."""
        found: Back = {}
        for cell, turnstile in self.turnstiles.items():
            if turnstile.waiting:
                row = turnstile.back(tick, part)
                if row is not None:
                    found[cell] = row
        return found

    def bequeath(self, heirs: list[tuple[Lot, int]]) -> None:
        """Divide all requests among the lots that take this one's place, by their weights."""
        upto = list(accumulate(weight for _, weight in heirs))
        for cell, turnstile in self.turnstiles.items():
            turnstile.bequeath([heir.turnstile(cell) for heir, _ in heirs], upto)


class StreamState:
    """One stream under way."""

    __slots__ = (
        "_gates", "_leads", "_lots", "_ordered", "_parts", "_phase", "_shares", "_stretches", "_table",
        "_together", "_turns", "_upto", "among", "asked", "division", "first", "flow", "gate", "indexes",
        "number", "retries", "shape", "stream",
    )  # fmt: skip

    def __init__(self, stream: Stream, flow: FlowRecord, retries: Retries, number: int, gates: Gates) -> None:
        self.stream = stream
        self.flow = flow
        self.retries = retries
        self.number = number
        self.gate = gates.lane(stream.record)
        self._gates = gates
        lane = stream.record.lane
        nano = stream.half_units * (lane.eventual_half if stream.eventual else HALF_UNIT)
        self.division = Division(stream.half_units, nano)
        self.indexes = [Division(index.half_units, index.half_units * HALF_UNIT) for index in stream.indexes]
        self.shape: Shape | None = None
        """Of the latest second with requests."""
        self.asked = 0
        """Attempts in the present step."""
        self.first = 0
        """How many of them are first ones."""
        self.among = (0, 1)
        """Which of its flow's requests those of the latest second are among, the first's number and how many:
        for indexes whose keys follow one another."""
        rest: tuple[Cell | None, ...] = (None,) * len(stream.indexes)
        self._lots = {rest: Lot(rest, retries)}
        self._leads: list[dict[Cell, Cell]] = [{} for _ in stream.indexes]
        """Per index: by partition, after which one its lot is named."""
        self._shares: list[list[Share]] = []
        self._parts: list[dict[Cell | None, Parts]] = []
        self._upto: list[int] = [ONE]
        self._phase = 0
        self._turns: list[Lane | None] = []
        """The keys of the table and of each index, if they follow one another."""
        self._ordered: list[int] = []
        """The indexes whose keys have turns."""
        self._stretches: list[Stretch] = []
        """What the turns of the second are together."""
        self._together = False
        """Whether several of these have a key of their own at each moment of the second."""
        self._table: list[Share] = []
        """The table's partitions, if its keys do: then lots are for some of them only, and `_upto` has their
        weights, partition by partition, for one lot after the other."""

    def count_between(self, count: int, begin: int, end: int, second: int) -> int:
        """How many of a second's requests come from `begin` to `end` of 0..ONE. Where rounding falls moves
        from second to second, each stream's in its own way: single requests come in all parts by turns."""
        phase = (second + 1) * (GOLDEN + self.number * _APART) % ONE
        return (count * end + phase >> BITS) - (count * begin + phase >> BITS)

    # --- Lots ---------------------------------------------------------------------------------

    def lots(self, count: int, tick: int | None, part: float) -> Iterator[tuple[Lot, int, Portions, Back]]:
        """The requests of a step by lot: how many there are for the first time in the table's crowd and at
        each of its other partitions, and who comes back, or such a part of them; None: nobody does."""
        lots = self._lots.values()
        if len(self._upto) == 1:
            counts = [count]
        else:
            counts, self._phase = divide(count, self._upto, self._phase)
        width = self._width
        for number, lot in enumerate(lots):
            back = lot.back(tick, part) if lot.turnstiles and tick is not None else {}
            mine = counts[number * width : (number + 1) * width]
            if self._table:
                portions = [pair for pair in zip(self._table, mine, strict=True) if pair[1]]
                if portions or back:
                    yield lot, 0, portions, back
            elif mine[0] or back:
                yield lot, *self.division.divide(mine[0]), back

    @property
    def _width(self) -> int:
        """How many weights each lot has."""
        return len(self._table) or 1

    def parts(self, lot: Lot, index: int) -> Parts:
        """The partitions of an index that a lot's requests are for."""
        return self._parts[index][lot.cells[index]]

    def follow(self, table: list[Share], shares: list[list[Share]]) -> None:
        """Learn how the requests are divided over the partitions of the table and of each index in this
        second."""
        same = len(shares) == len(self._shares) and all(map(_is, shares, self._shares))
        if same and (table is self._table or not self._together):
            return
        self._shares = shares
        self._table = []
        shapes = [self.division.shape, *(index.shape for index in self.indexes)]
        self._turns = [lane_of(shape, some) for shape, some in zip(shapes, [table, *shares], strict=True)]
        in_order = [lane for lane in self._turns if lane is not None]
        self._ordered = [index for index, lane in enumerate(self._turns[1:]) if lane is not None]
        self._stretches = list(stretches(in_order)) if self._ordered else []
        self._together = len(in_order) > 1 and any(len(lane) > 1 for lane in in_order)
        if self._together and self._turns[0] is not None and not self.division.is_steady:
            self._table = table
        # There are lots for combinations that met before only: present ones have to have theirs.
        if (self._together or (self._ordered and len(self._lots) > 1)) and self.separate():
            return
        self._weigh()

    @property
    def keys_move_on(self) -> bool:
        """Whether the next second has other keys, for which lots are looked at anyway (`follow`)."""
        return (self._together or (len(self._lots) > 1 and bool(self._ordered))) and any(
            lane is not None and len(lane) > 1 for lane in self._turns
        )

    def _weigh(self) -> None:
        self._parts = []
        weights: list[dict[Cell | None, float]] = []
        for position, shares in enumerate(self._shares):
            leads = self._leads[position]
            of_lots: dict[Cell | None, list[Share]] = {lot.cells[position]: [] for lot in self._lots.values()}
            for share in shares:
                of_lots[leads.get(share.cell)].append(share)
            parts: dict[Cell | None, Parts] = {}
            weighed: dict[Cell | None, float] = {}
            for cell, mine in of_lots.items():
                whole = sum([share.weight for share in mine])
                weighed[cell] = whole / ONE
                if whole:
                    parts[cell] = [(share, share.weight / whole) for share in mine]
                else:
                    parts[cell] = self._elsewhere(cell, position)
            self._parts.append(parts)
            weights.append(weighed)
        if self._together:
            weighted = self._in_order(weights)
        else:
            weighted = [
                prod([weighed[cell] for weighed, cell in zip(weights, lot.cells, strict=True)])
                for lot in self._lots.values()
            ]
        self._upto = [min(round(upto * ONE), ONE) for upto in accumulate(weighted)]
        # What rounding has left belongs to the last lot with requests.
        last = max([position for position, weight in enumerate(weighted) if weight])
        self._upto[last:] = [ONE] * (len(self._upto) - last)

    def _in_order(self, weights: list[dict[Cell | None, float]]) -> list[float]:
        """The weights of lots where keys follow one another together, by partition of the table if its keys
        do so too."""
        ordered = self._ordered
        others = [index for index in range(len(self.indexes)) if index not in ordered]
        met = self._met(self._leads)
        places: list[Share | None] = [*self._table] or [None]
        found: list[float] = []
        for lot in self._lots.values():
            row = met.get(tuple([lot.cells[index] for index in ordered]), {})
            rest = prod([weights[index][lot.cells[index]] for index in others])
            found += [row.get(share, 0.0) * rest for share in places]
        return found

    def _elsewhere(self, cell: Cell | None, index: int) -> Parts:
        """What the requests of a lot are for that has no part of the present keys: those that still come back
        have the keys they had."""
        if cell is None or cell.partition.state == "retired":
            return [(share, share.weight / ONE) for share in self._shares[index]]
        return [(self.indexes[index].stranger(cell, self._gates), 1.0)]

    def separate(self) -> bool:
        """Give lots to partitions of indexes that refuse, and take them from those that have not lately.
        Returns: whether lots have changed."""
        if not self._shares or not (self.retries.waits or self._together or len(self._lots) > 1):
            return False
        most, few = LOTS_MAX, max(_PLACES_FEW // self.division.places, 1)
        if self._ordered:
            most = max(min(_PLACES_MAX // self.division.places, _IN_ORDER_MAX), LOTS_MAX)
            few *= most // LOTS_MAX
        few = min(few, most)
        for steps in _STEPS:
            leads = [self._lead(position, steps) for position in range(len(self._shares))]
            own = [list(dict.fromkeys(mine.values())) for mine in leads]
            if prod([len(mine) + 1 for mine in own]) <= few:
                break
        heirs, keys = self._keys(own, leads)
        while len(keys) > most:
            last = max(own, key=len).pop()
            leads = [{cell: leader for cell, leader in mine.items() if leader is not last} for mine in leads]
            heirs, keys = self._keys(own, leads)
        before = self._lots
        same = keys == list(before)
        if same and leads == self._leads:
            return False
        self._leads = leads
        if same:
            self._weigh()
            return True
        self._lots = {key: before[key] if heirs.get(key) == [key] else Lot(key, self.retries) for key in keys}
        self._weigh()
        gone = [key for key, lot in before.items() if self._lots.get(key) is not lot]
        if gone:
            ends = self._upto[self._width - 1 :: self._width]
            weights = dict(zip(keys, map(sub, ends, [0, *ends]), strict=True))
            for key in gone:
                before[key].bequeath([(self._lots[heir], weights[heir]) for heir in heirs[key]])
        return True

    def _keys(
        self, own: list[list[Cell]], leads: list[dict[Cell, Cell]]
    ) -> tuple[dict[LotKey, list[LotKey]], list[LotKey]]:
        """Which lots take the place of each present one, and all that there are to be, in an order of their
        own: one for each combination; where keys have turns, for those only that meet or still come back."""
        before = self._lots
        known = [set(cells) for cells in zip(*before, strict=True)]
        new: list[list[Cell | None]] = [
            [None, *[cell for cell in cells if cell not in some]]
            for cells, some in zip(own, known, strict=True)
        ]
        heirs = {
            key: list(product(*map(_successors, key, new, leads)))  # in the order of the lots
            for key in before
        }
        every: list[LotKey] = list(product(*[[None, *cells] for cells in own]))
        ordered = self._ordered
        if not ordered:
            return heirs, every
        met = self._met(leads)
        present = {key for key in every if tuple([key[index] for index in ordered]) in met}
        needed = present | {every[0]}
        for key, lot in before.items():
            mine = [heir for heir in heirs[key] if heir in present] or heirs[key][:1]
            if lot.waiting:
                needed.update(mine)
            heirs[key] = [heir for heir in mine if heir in needed] or every[:1]
        return heirs, [key for key in every if key in needed]

    def _met(self, leads: list[dict[Cell, Cell]]) -> dict[tuple[Cell | None, ...], dict[Share | None, float]]:
        """What part of the requests is for each combination of lots in the indexes whose keys have turns, by
        partition of the table if its keys have turns as well."""
        ordered = self._ordered
        of_table = self._turns[0] is not None
        found: dict[tuple[Cell | None, ...], dict[Share | None, float]] = {}
        for part, shares in self._stretches:
            table = shares[0] if self._table else None
            of_indexes = zip(ordered, shares[of_table:], strict=True)
            cells = tuple([leads[index].get(share.cell) for index, share in of_indexes])
            row = found.setdefault(cells, {})
            row[table] = row.get(table, 0.0) + part
        return found

    def _lead(self, position: int, steps: int) -> dict[Cell, Cell]:
        """The partitions of an index that refuse, or did lately, and after which of them the lot of each is
        named: those that name one now come first, then those that refuse most."""
        left_behind = self._left_behind(position)
        known = [cell for cell in {lot.cells[position]: None for lot in self._lots.values()} if cell]
        found = {cell: cell for cell in known if cell in left_behind}
        before = self._leads[position]
        refusing = {
            share.cell: share
            for share in self._shares[position]
            if share.gate.ratio < 1 or (share.gate.refuses and share.cell in before) or share.is_in_order
        }
        first = [refusing[cell] for cell in known if cell in refusing]
        rest = sorted((share for cell, share in refusing.items() if cell not in known), key=_ratio)
        leaders: dict[tuple[int, int], Cell] = {}
        for share in first + rest:
            if share.is_in_order:
                # Its key leaves it alone, and with it those who come back.
                found[share.cell] = share.cell
            else:
                found[share.cell] = leaders.setdefault(_burden(share, steps), share.cell)
        return found

    def _left_behind(self, position: int) -> set[Cell]:
        """Partitions of an index that the present keys have left, and to which requests still come back."""
        present = {share.cell for share in self._shares[position]}
        return {
            cell
            for lot in self._lots.values()
            if (cell := lot.cells[position]) is not None
            and cell not in present
            and cell.partition.state != "retired"
            and lot.waiting
        }

    # --- Time ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Note what has been taken in a step."""
        stream = self.stream
        self.division.settle(self.gate, stream.grows, stream.items)
        for index, division in zip(stream.indexes, self.indexes, strict=True):
            division.settle(self._gates.lane(index.record), index.grows, 0)

    def charge(self, step: Step, begin: int, end: int) -> None:
        """Charge what was taken in a step, of the seconds from `begin` to `end`."""
        self.division.charge(self.gate, step, begin, end, eventual=self.stream.eventual)
        for index, division in zip(self.stream.indexes, self.indexes, strict=True):
            division.charge(self._gates.lane(index.record), step, begin, end)

    def forget_retired(self) -> None:
        """Partitions that have split are of no use any more, once nobody waits for them."""
        for lot in self._lots.values():
            for cell in list(lot.turnstiles):
                retired = cell is not None and cell.partition.state == "retired"
                if retired and not lot.turnstiles[cell].waiting:
                    lot.turnstiles.pop(cell).report(self.flow)

    def finish(self) -> None:
        """The run is over."""
        for lot in self._lots.values():
            for turnstile in lot.turnstiles.values():
                turnstile.give_up(self.flow)
                turnstile.report(self.flow)

    def tell(self) -> None:
        """Tell the lanes what was kept back."""
        self.division.tell(self.stream.record)
        for index, division in zip(self.stream.indexes, self.indexes, strict=True):
            division.tell(index.record)


def _successors(old: Cell | None, new: list[Cell | None], leads: dict[Cell, Cell]) -> list[Cell | None]:
    """After which partitions the lots may now be named that have requests of the one that was named after
    `old`: if none has its place, after those that named no lot before."""
    return [leads[old]] if old in leads else new


def _is(one: object, other: object) -> bool:
    return one is other


def _burden(share: Share, steps: int) -> tuple[int, int]:
    """How much a partition is asked for of what it earns: equal for those that are about alike."""
    bucket = share.cell.share or share.cell
    mantissa, exponent = frexp(share.weight * bucket.scale / max(bucket.rate, 1))
    return exponent, int(mantissa * 2 * steps)


def _ratio(share: Share) -> float:
    return share.gate.ratio
