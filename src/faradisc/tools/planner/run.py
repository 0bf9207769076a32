"""A plan in, an outcome out.

Source: capacity.md sections 3.2 (drive), 3.4 (outputs).
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Literal

from faradisc.capacity.config import UNIT
from faradisc.charts.words import brief
from faradisc.tools.planner.fluid import FluidEngine
from faradisc.tools.planner.fluid_replay import TraceSource
from faradisc.tools.planner.openings import Openings
from faradisc.tools.planner.pace import Pace
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results import cost, headline, item_collections
from faradisc.tools.planner.results.event_rows import event_rows
from faradisc.tools.planner.results.headroom import HeadroomNote
from faradisc.tools.planner.results.hot_keys import hot_keys
from faradisc.tools.planner.results.outcome import (
    CAUSES,
    AlarmState,
    DirectionSeries,
    ItemCollection,
    Number,
    Outcome,
    PartitionSeries,
    ResourceOutcome,
    ScalingTimeline,
    Series,
    Skipped,
    ThrottleSummary,
    Totals,
    Waits,
    number,
)
from faradisc.tools.planner.simulation.auto_scaler import AutoScaler, auto_scalers
from faradisc.tools.planner.simulation.discrete_event import DiscreteEventEngine, requests_of
from faradisc.tools.planner.simulation.recorder import (
    DirectionRecord,
    FlowRecord,
    PartitionRecord,
    ResourceRecord,
    RunRecorder,
)
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.singly import Parted, Singles, part, tables_of_trace
from faradisc.tools.planner.traces.replay import replay, request_of
from faradisc.tools.planner.traces.trace_format import Trace
from faradisc.tools.planner.waves import parts_for
from faradisc.tools.planner.workload.key_distributions import Fixed
from faradisc.tools.planner.workload.streams import Flow

Engine = Literal["events", "fluid"]
SAMPLES_MAX = 4 * 1440
"""Longer runs have samples of more than a minute."""
EVENTS_ENGINE_MAX = 1_000_000
"""Plans with more requests than this run fluid unless told otherwise: events would take minutes."""


def choose_engine(plan: Plan) -> Engine:
    """Events where they are affordable, which is where they show the most."""
    most = sum(flow.most for flow in plan.traffic)
    return "events" if most * plan.duration_s <= EVENTS_ENGINE_MAX else "fluid"


@dataclass
class _Watched:
    """What is followed over the samples beside the recorder's own notes."""

    scaler: AutoScaler
    desired: list[int]
    provisioned: list[int]
    high: list[AlarmState]
    low: list[AlarmState]


def run(
    plan: Plan,
    *,
    engine: Engine | None = None,
    trace: Trace | None = None,
    progress: Callable[[int], None] | None = None,
    arrivals: int | None = None,
) -> Outcome:
    """Run a plan, or a trace on a plan's tables.

    Equal plans and seeds give equal outcomes, byte for byte. `progress` is told the seconds that have run.
    `arrivals` is another seed for the moments and keys of single requests, everything else as it was: how
    far two such runs differ is how much of a plan hangs on chance. A fluid run differs only where it leaves
    requests to be run one by one, or by admissions.
    """
    chosen: Engine = engine or ("events" if trace is not None else choose_engine(plan))
    world = VirtualTables(plan)
    step_s = 60 * max(1, -(-plan.duration_s // (60 * SAMPLES_MAX)))
    recorder = RunRecorder(world, step_s)
    loads = {record: cost.LaneLoad(record) for record in recorder.lanes}
    recorder.before_second.extend(load.end_second for load in loads.values())
    rooms = [HeadroomNote(record, world.start_ns) for record in recorder.lanes]
    recorder.before_second.extend(room.end_second for room in rooms)
    watched = [_Watched(scaler, [], [], [], []) for scaler in auto_scalers(world)]
    recorder.on_sample.append(lambda: _sample_scaling(watched))
    if progress is not None:
        recorder.on_sample.append(lambda: progress(recorder.samples * step_s))
    flows = [_flow(plan, position, recorder) for position in range(len(plan.traffic))]
    parted = Parted()
    seed = plan.seed if arrivals is None else arrivals
    if chosen == "events":
        requests = (
            chain.from_iterable(requests_of(plan, flows, world, seed))
            if trace is None
            else (request_of(each, plan.retries) for each in replay(trace, world, recorder))
        )
        duration_s = DiscreteEventEngine(world, recorder, seed).run(requests, plan.duration_s)
    else:
        fluid, parted = _fluid(flows, world, recorder, trace, seed)
        duration_s = fluid.run(plan.duration_s)
    if duration_s % step_s:
        recorder.end_sample(duration_s)
    for load in loads.values():
        load.finish()
    done = _Finished(plan, chosen, recorder, loads, rooms, watched, flows, duration_s, parted, trace)
    return _outcome(done)


def _fluid(
    flows: list[Flow], world: VirtualTables, recorder: RunRecorder, trace: Trace | None, seed: int
) -> tuple[FluidEngine, Parted]:
    """The fluid engine with its work, and with the guests that some of it is left to."""
    plan = world.plan
    if trace is None:
        parted = part(plan, flows)
        mine = [flow for flow in flows if flow in parted.fluid or flow in parted.roughly]
        fluid = FluidEngine(world, recorder, parts_for(mine))
        for flow in mine:
            fluid.add_flow(flow)
        singles = requests_of(plan, flows, world, seed, parted.singly).__next__
    else:
        fluid = FluidEngine(world, recorder)
        parted = Parted(tables=tables_of_trace(plan, trace, recorder))
        source = TraceSource(trace, fluid, world, recorder, plan.retries, singly=parted.tables)
        fluid.add_source(source)
        singles = source.singles
    if parted.singly or parted.tables:
        fluid.add_guest(Singles(DiscreteEventEngine(world, recorder, seed), singles))
    if parted.by_openings:
        fluid.add_guest(Openings(parted.by_openings, world, recorder, seed, parted.pace))
    return fluid, parted


def _flow(plan: Plan, position: int, recorder: RunRecorder) -> Flow:
    flow = plan.traffic[position]
    table = next(table for table in plan.tables if table.name == flow.table)
    return Flow(flow, table, recorder)


def _sample_scaling(watched: list[_Watched]) -> None:
    for each in watched:
        high, low = each.scaler.alarms
        each.desired.append(each.scaler.desired)
        each.provisioned.append(each.scaler.present())
        each.high.append(high)
        each.low.append(low)


# --- The outcome ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Finished:
    """A run that is over, before it is told."""

    plan: Plan
    engine: Engine
    recorder: RunRecorder
    loads: dict[DirectionRecord, cost.LaneLoad]
    rooms: list[HeadroomNote]
    watched: list[_Watched]
    flows: list[Flow]
    duration_s: int
    parted: Parted
    trace: Trace | None


def _outcome(done: _Finished) -> Outcome:
    plan, recorder, duration_s = done.plan, done.recorder, done.duration_s
    resources = tuple(_resource(record, recorder, duration_s) for record in recorder.resources)
    parts = [_totals(record) for record in recorder.flows]
    totals = _totals(_all(recorder.flows))
    keys = hot_keys(recorder, done.flows, max(duration_s, 1))
    refused = {
        record.virtual.name: sum(lane.refused_half for lane in record.lanes) for record in recorder.resources
    }
    money = cost.costs(
        recorder.resources,
        done.loads,
        max(duration_s, 1),
        plan.prices,
        refused,
        allowed_percent=headline.allowed_percent(plan.budgets),
    )
    rooms = tuple(found for room in done.rooms if (found := room.finish()) is not None)
    collections = tuple(_collections(done))
    rows, left_out = event_rows(recorder, plan)
    budgets = headline.judge_budgets(plan.budgets, totals, money, keys, resources)
    return Outcome(
        name=plan.name,
        description=plan.description,
        file=plan.file,
        engine=done.engine,
        profile=plan.profile,
        seed=plan.seed,
        start=datetime.fromtimestamp(plan.start_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        duration_s=duration_s,
        step_s=recorder.step_s,
        samples=recorder.samples,
        assumptions=_assumptions(plan, done.engine, done.parted, done.trace),
        totals=totals,
        flows=tuple(parts),
        resources=resources,
        events=rows,
        events_left_out=left_out,
        scaling=tuple(_timeline(each) for each in done.watched),
        hot_keys=keys,
        costs=money,
        budgets=budgets,
        headline=headline.headline(totals, budgets, keys, resources, money),
        verdict=headline.findings(totals, resources, keys, money, collections=collections, rooms=rooms),
        variant=plan.variant,
        skipped=plan.skipped if done.trace is None else _skipped(done.trace),
        headroom=rooms,
        collections=collections,
    )


def _collections(done: _Finished) -> Iterator[ItemCollection]:
    """The largest item collections of each table with local indexes."""
    for table in done.plan.tables:
        if not table.locals:
            continue
        mine = [flow for flow in done.flows if flow.plan.table == table.name and flow.growth is not None]
        lasting = [flow for flow in mine if isinstance(flow.keys, Fixed)]
        adding = [flow for flow in lasting if flow.plan.effect == "add"] or lasting
        shapes = [
            (flow.keys.shape(0, 0, 1), flow.growth.taken)
            for flow in adding
            if flow.growth is not None and flow.growth.taken
        ]
        gained = dict(done.recorder.growth[table.name].bytes)
        for flow in mine:
            assert flow.growth is not None
            for name, size in flow.growth.by_key(flow.record.admitted).items():
                gained[name] = gained.get(name, 0) + size
        before = item_collections.spread(item_collections.collected_bytes(table), shapes)
        same = len(lasting) == len(mine)
        yield from item_collections.largest(table.name, before, gained, same, done.duration_s)


def _skipped(trace: Trace) -> Skipped:
    return Skipped(trace.skipped, trace.lines_read, tuple(trace.mistakes))


def _resource(record: ResourceRecord, recorder: RunRecorder, duration_s: int) -> ResourceOutcome:
    member = record.virtual
    lengths = _lengths(recorder, duration_s)
    tracks = tuple(_partition(track, lengths) for track in record.tracks.values())
    return ResourceOutcome(
        name=member.name,
        table=member.table.name,
        index=member.index.name if member.index is not None else None,
        mode="PAY_PER_REQUEST" if member.resource.on_demand else "PROVISIONED",
        read=_lane(record.lanes[0], lengths),
        write=_lane(record.lanes[1], lengths),
        partition_count=tuple(record.counts),
        partitions=tracks,
        busiest=headline.busiest(tracks, recorder.step_s),
        partitions_left_out=record.left_out,
        throttle_summary=_throttles(record),
    )


def _lengths(recorder: RunRecorder, duration_s: int) -> list[int]:
    """Seconds of each sample; the last one may be shorter."""
    lengths = [recorder.step_s] * recorder.samples
    if duration_s % recorder.step_s and lengths:
        lengths[-1] = duration_s % recorder.step_s
    return lengths


def _per_second(half_units: list[int], lengths: list[int]) -> Series:
    return tuple(number(half / 2 / length) for half, length in zip(half_units, lengths, strict=True))


def _lane(record: DirectionRecord, lengths: list[int]) -> DirectionSeries:
    maximum = record.lane.maximum
    by_name = [{cause.value: count for cause, count in sample.items()} for sample in record.causes]
    return DirectionSeries(
        offered=_per_second(record.series_offered, lengths),
        consumed=_per_second(record.series_consumed, lengths),
        consumed_peak=tuple(number(half / 2) for half in record.consumed_peak),
        provisioned=tuple(record.provisioned),
        throttled={cause: tuple(sample.get(cause, 0) for sample in by_name) for cause in CAUSES},
        burst=tuple(None if held is None else number(held / UNIT) for held in record.bank),
        burst_max=tuple(None if held is None else number(held / UNIT) for held in record.bank_max),
        maximum=maximum.rate if maximum is not None else None,
    )


def _partition(track: PartitionRecord, lengths: list[int]) -> PartitionSeries:
    low, high = track.bounds
    mine = lengths[track.first : track.first + len(track.read)]
    return PartitionSeries(
        id=brief(track.part.id),
        parent=brief(track.parent) if track.parent else None,
        low=low,
        high=high,
        born_s=track.born_s,
        retired_s=track.retired_s,
        first=track.first,
        read=_per_second(track.read, mine),
        write=_per_second(track.write, mine),
        read_limit=tuple(track.read_limit),
        write_limit=tuple(track.write_limit),
        throttled=tuple(track.throttled),
        gib=tuple(track.gib),
    )


def _throttles(record: ResourceRecord) -> ThrottleSummary:
    events: dict[str, int] = {}
    for lane, direction in zip(record.lanes, "RW", strict=True):
        for cause in CAUSES:
            count = sum(count for each, count in lane.events.items() if each.value == cause)
            if count:
                events[f"{direction} {cause}"] = count
    firsts = [lane.first_s for lane in record.lanes if lane.first_s is not None]
    worst = max(record.lanes, key=lambda lane: lane.worst_events)
    return ThrottleSummary(
        events=events,
        first_s=min(firsts, default=None),
        worst_second_s=worst.worst_s,
        worst_second_events=worst.worst_events,
        longest_throttled_s=max(lane.longest_s for lane in record.lanes),
    )


def _timeline(watched: _Watched) -> ScalingTimeline:
    scaler = watched.scaler
    decreases = scaler.virtual.decreases.accepted_ns
    return ScalingTimeline(
        resource=scaler.virtual.name,
        direction=scaler.direction,
        minimum=scaler.tracking.minimum,
        maximum=scaler.tracking.maximum,
        target_percent=number(scaler.settings.target_percent),
        desired=tuple(watched.desired),
        provisioned=tuple(watched.provisioned),
        high_alarm=tuple(watched.high),
        low_alarm=tuple(watched.low),
        decreases_used=len(decreases),
        events=tuple(scaler.events),
    )


# --- Totals ---------------------------------------------------------------------------------------------


def _all(notes: list[FlowRecord]) -> FlowRecord:
    total = FlowRecord("all")
    for record in notes:
        for name in ("offered", "cached", "attempts", "admitted", "throttled", "lost"):
            setattr(total, name, getattr(total, name) + getattr(record, name))
        total.read_half += record.read_half
        total.write_half += record.write_half
        total.waits.update(record.waits)
        total.at_attempt.update(record.at_attempt)
    return total


def _totals(record: FlowRecord) -> Totals:
    return Totals(
        name=record.name,
        offered=record.offered,
        cached=record.cached,
        attempts=record.attempts,
        admitted=record.admitted,
        throttled=record.throttled,
        lost=record.lost,
        read_units=number(record.read_half / 2),
        write_units=number(record.write_half / 2),
        throttled_percent=_percent(record.throttled, record.attempts),
        lost_percent=_percent(record.lost, record.offered),
        waits=_waits(record.waits, record.at_attempt),
    )


def _percent(part: int, whole: int) -> Number:
    return number(100 * part / whole) if whole else 0


def _waits(waits: Tally[int], at_attempt: Tally[int]) -> Waits:
    total = waits.total()
    ordered = sorted(waits.items())

    def quantile(percent: int) -> Number:
        seen = 0
        for wait, count in ordered:
            seen += count
            if seen * 100 >= total * percent:
                return wait
        return 0

    mean = sum(wait * count for wait, count in ordered) / total if total else 0
    last = max((attempt for attempt, count in at_attempt.items() if count), default=0)
    return Waits(
        mean_ms=number(mean),
        p50_ms=quantile(50),
        p90_ms=quantile(90),
        p99_ms=quantile(99),
        max_ms=max((wait for wait, count in ordered if count), default=0),
        attempts=tuple(at_attempt[attempt] for attempt in range(1, last + 1)),
    )


# --- What the reader must know --------------------------------------------------------------------------


def _assumptions(plan: Plan, engine: Engine, parted: Parted, trace: Trace | None) -> tuple[str, ...]:
    said = [
        f"Capacity follows the profile {plan.profile!r}; heat, splits and delays are models of what AWS does "
        "not publish.",
        f"Prices: {plan.prices.region}, {plan.prices.date}, {plan.prices.source}"
        + (f"; set by the plan: {', '.join(plan.prices.overridden)}." if plan.prices.overridden else "."),
        "A month is 730 hours like those of this run, with the data there is at its end.",
    ]
    said += [
        f"Table {table.name} has the profile {table.config.profile!r}."
        for table in plan.tables
        if table.config.profile != plan.profile
    ]
    said += [
        f"Table {table.name}: what it holds at first is spread over item collections as its writes are."
        for table in plan.tables
        if table.locals and table.items
    ]
    if engine == "fluid":
        said.append("Fluid: requests of one second are one quantity; waits are means per attempt.")
        said += _in_order(parted)
    elif trace is None:
        said.append("Requests of a stream come at random moments of each second.")
    if trace is not None:
        said.append("Recorded requests are replayed at their recorded times, refused ones included.")
    if trace is None:
        said += [f"{flow.name}: {flow.keys.words}." for flow in plan.traffic if flow.half_units is None]
    return (*said, *plan.assumptions)


def _in_order(parted: Parted) -> Iterator[str]:
    """What is done about requests so large that it matters who comes first."""
    found = (
        (_tables(parted.singly) | parted.tables, "are run one by one"),
        (_tables(parted.by_openings), f"are run from one admission to the next{_in_part(parted.pace)}"),
        (_tables(parted.roughly), "meet too many partitions to run each, and may be some percent off"),
    )
    for tables, words in found:
        if tables:
            names = ", ".join(sorted(tables))
            yield f"Requests to {names} {words}: some are so large that it matters who comes first."


def _in_part(pace: Pace) -> str:
    """What part of the time that is."""
    return f" ({pace.block_s} s, then these up to {pace.times} times again)" if pace.times else ""


def _tables(flows: list[Flow]) -> frozenset[str]:
    return frozenset(flow.plan.table for flow in flows)
