"""How the requests of a stream are divided over the partitions of a lane, second by second, in integers."""

from __future__ import annotations

from itertools import accumulate

from faradisc.capacity.admission import Lane
from faradisc.capacity.partitions import Cell
from faradisc.planner.balance import CellGate, LaneGate
from faradisc.planner.keys import GOLDEN, ONE, Key, Shape
from faradisc.planner.observe import LaneNote

FEW_KEYS = 8
"""Keys per stream and second that are followed by name; the heaviest ones."""
BITS = 40
assert ONE == 1 << BITS


class Share:
    """What part of a stream goes to one partition."""

    __slots__ = ("cell", "gate", "hot", "keys", "left", "owed", "refused_left", "weight")

    def __init__(self, cell: Cell, weight: int, shape: Shape, gate: CellGate) -> None:
        part = cell.partition
        self.cell = cell
        self.gate = gate
        self.weight = weight
        self.owed = 0
        """What divisions of an index's writes have left over; may be negative."""
        self.left: list[int] = []
        """Per attempt, of admitted requests."""
        self.refused_left = [0, 0]
        self.keys: list[tuple[Key, int]] = []
        """Named keys here and their weights of all requests."""
        for key in shape.keys:
            mine = shape.share_of_key(key, part.low, part.high)
            if mine:
                self.keys.append((key, mine))
        heaviest = sorted(self.keys, key=lambda pair: (-pair[1], pair[0].name))[:FEW_KEYS]
        self.hot = [(key.name, mine) for key, mine in heaviest]


class Few:
    """One of the few keys that are followed by name."""

    __slots__ = ("left", "name", "weight")

    def __init__(self, key: Key) -> None:
        self.name = key.name
        self.weight = key.weight
        self.left = ONE >> 1


class Division:
    """A lane's partitions under one shape of keys. Rebuilt when keys or partitions change."""

    __slots__ = ("_phase", "_upto", "few", "shape", "shares", "version")

    def __init__(self) -> None:
        self.shape: Shape | None = None
        self.version = -1
        self.shares: list[Share] = []
        self.few: list[Few] = []
        self._upto: list[int] = []
        self._phase = 0

    def of(self, shape: Shape, note: LaneNote, gates: Gates) -> list[Share]:
        version = note.member.resource.partitions.next_number
        if shape is self.shape and version == self.version:
            return self.shares
        self.shape, self.version = shape, version
        self.shares = []
        for cell in note.lane.cells:
            part = cell.partition
            weight = shape.weight_between(part.low, part.high)
            if weight:
                self.shares.append(Share(cell, weight, shape, gates.cell(cell)))
        self.shares[0].weight += ONE - sum(share.weight for share in self.shares)
        self._upto = list(accumulate(share.weight for share in self.shares))
        heaviest = sorted(shape.keys, key=lambda key: (-key.weight, key.name))[:FEW_KEYS]
        self.few = [Few(key) for key in heaviest]
        return self.shares

    def divide(self, count: int) -> list[int]:
        """A second's requests by partition. They add up to `count`, and where rounding falls moves from
        second to second, so that in a while every partition has what its weight gives it."""
        self._phase = phase = (self._phase + GOLDEN) % ONE
        counts = []
        before = 0
        for upto in self._upto:
            reached = (count * upto + phase) >> BITS
            counts.append(reached - before)
            before = reached
        return counts


class Gates:
    """The gates of all lanes, as the present second finds them."""

    def __init__(self) -> None:
        self._lanes: dict[Lane, LaneGate] = {}
        self._cells: dict[Cell, CellGate] = {}
        self._versions: dict[Lane, int] = {}

    def lane(self, note: LaneNote) -> LaneGate:
        gate = self._lanes.get(note.lane)
        if gate is None:
            gate = self._lanes[note.lane] = LaneGate(note)
        return gate

    def cell(self, cell: Cell) -> CellGate:
        gate = self._cells.get(cell)
        if gate is None:
            gate = self._cells[cell] = CellGate(cell)
        return gate

    def forget_retired(self) -> None:
        """Gates of partitions that have split are of no use any more."""
        self._cells = {cell: gate for cell, gate in self._cells.items() if cell.partition.state != "retired"}
