"""A recorded trace as the fluid engine takes it: each second's equal requests as one quantity.

Requests of one operation that charge the same lanes the same units are one stream; the places they touched
in a second are that second's keys, with the weights they had. A further charge in the lane of the first (a
page that crossed into another partition) is a stream of its own that counts no requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from faradisc.capacity.config import SECOND_NS
from faradisc.tools.planner.fluid import FluidEngine
from faradisc.tools.planner.lots import StreamState
from faradisc.tools.planner.simulation.discrete_event import Request
from faradisc.tools.planner.simulation.recorder import DirectionRecord, FlowRecord, RunRecorder
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.steps import Batch
from faradisc.tools.planner.traces.replay import Replayed, replay, request_of
from faradisc.tools.planner.traces.trace_format import Trace, TraceCharge
from faradisc.tools.planner.workload.key_distributions import ONE, Key, Shape
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.planner.workload.streams import BILLION, IndexCharge, Stream

Signature = tuple[object, ...]


class _Recorded:
    """A key model that is told its keys second by second."""

    words = "as recorded"

    def __init__(self) -> None:
        self.present = Shape((), ONE)

    def shape(self, second: int, first: int, count: int) -> Shape:
        return self.present


class _Places:
    """The places one charge of a stream touched in a second."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._names: dict[bytes, str] = {}

    def add(self, place: bytes, name: str | None) -> None:
        self._counts[place] = self._counts.get(place, 0) + 1
        if name is not None:
            self._names[place] = name

    def shape(self) -> Shape:
        total = sum(self._counts.values())
        keys = [
            Key(self._names.get(place, ""), ONE * count // total, place)
            for place, count in self._counts.items()
        ]
        rest = ONE - sum(key.weight for key in keys)
        keys[0] = Key(keys[0].name, keys[0].weight + rest, keys[0].prefix)
        return Shape(tuple(keys), 0)


@dataclass
class _Group:
    """One stream, and what it does in the second that is being read."""

    state: StreamState
    models: list[_Recorded]
    """Of its indexes."""
    places: list[_Places]
    """Of its charges, the first being the table's."""
    count: int = 0
    grows: int = 0
    items: int = 0

    def begin(self) -> None:
        self.places = [_Places() for _ in range(1 + len(self.models))]
        self.count = self.grows = self.items = 0

    def batch(self) -> Batch:
        """The second is over."""
        for model, places in zip(self.models, self.places[1:], strict=True):
            model.present = places.shape()
        state = self.state
        state.stream = replace(state.stream, grows=self.grows // self.count, items=self.items // self.count)
        state.flow.offered += self.count
        return state, self.count, self.places[0].shape()


class TraceSource:
    """The recorded requests, a second at a time."""

    def __init__(
        self,
        trace: Trace,
        engine: FluidEngine,
        world: VirtualTables,
        recorder: RunRecorder,
        retries: Retries,
        *,
        singly: frozenset[str],
    ) -> None:
        """`singly`: tables whose requests are left to the engine of events."""
        self._engine = engine
        self._start_ns = world.start_ns
        self._retries = retries
        self._replayed = replay(trace, world, recorder)
        self._next = next(self._replayed, None)
        self._groups: dict[Signature, _Group] = {}
        self._singly = singly
        self._singles: list[Request] = []

    def alike(self, second: int, seconds: int) -> bool:
        return False

    def take(self, second: int) -> Iterable[Batch]:
        end_ns = self._start_ns + (second + 1) * SECOND_NS
        touched: dict[int, _Group] = {}
        while self._next is not None and self._next.at_ns < end_ns:
            if self._next.recorded.table in self._singly:
                self._singles.append(request_of(self._next, self._retries))
            else:
                self._add(self._next, touched)
            self._next = next(self._replayed, None)
        return [group.batch() for group in touched.values()]

    def singles(self) -> list[Request]:
        """The requests to those tables, of the second that was taken last."""
        found, self._singles = self._singles, []
        return found

    def _add(self, replayed: Replayed, touched: dict[int, _Group]) -> None:
        recorded = replayed.recorded
        pairs = list(zip(replayed.notes, recorded.charges, strict=True))
        base = pairs[0][0]
        first = [pairs[0], *(pair for pair in pairs[1:] if pair[0] is not base)]
        group = self._group(replayed.flow, first, touched)
        group.count += 1
        group.grows += recorded.grows_bytes
        group.items += recorded.grows_items
        for places, (_, charge) in zip(group.places, first, strict=True):
            places.add(charge.place, replayed.key_of(charge))
        for pair in pairs[1:]:
            if pair[0] is base:
                more = self._group(None, [pair], touched)
                more.count += 1
                more.places[0].add(pair[1].place, replayed.key_of(pair[1]))

    def _group(
        self,
        flow: FlowRecord | None,
        pairs: list[tuple[DirectionRecord, TraceCharge]],
        touched: dict[int, _Group],
    ) -> _Group:
        signature = (flow, *((record, charge.half_units, charge.eventual) for record, charge in pairs))
        group = self._groups.get(signature)
        if group is None:
            group = self._groups[signature] = self._new(flow, pairs)
        number = group.state.number
        if number not in touched:
            touched[number] = group
            group.begin()
        return group

    def _new(self, flow: FlowRecord | None, pairs: list[tuple[DirectionRecord, TraceCharge]]) -> _Group:
        models = [_Recorded() for _ in pairs[1:]]
        indexes = tuple(
            IndexCharge(record, charge.half_units, model, 0)
            for (record, charge), model in zip(pairs[1:], models, strict=True)
        )
        record, charge = pairs[0]
        stream = Stream(record, charge.half_units, charge.eventual, indexes, BILLION, 0, 0)
        counted = flow if flow is not None else FlowRecord("further partitions of a page")
        return _Group(self._engine.new_state(stream, counted, self._retries), models, [])
