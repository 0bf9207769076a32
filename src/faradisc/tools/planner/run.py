"""A plan in, an outcome out.

Source: capacity.md sections 3.2 (drive), 3.4 (outputs).
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from faradisc.capacity.config import UNIT
from faradisc.charts.words import brief
from faradisc.tools.planner.errors import PlanError
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
from faradisc.tools.planner.traces.replay import replay, request_of
from faradisc.tools.planner.traces.trace_format import Trace
from faradisc.tools.planner.workload.key_distributions import Fixed
from faradisc.tools.planner.workload.streams import Flow

if TYPE_CHECKING:
    from faradisc.tools.planner.simulation.fluid import FluidEngine

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
    """Runs a plan, or a trace on a plan's tables.

    Equal plans and seeds give equal outcomes, byte for byte. `progress` is called with the seconds that have
    passed. A trace always runs by discrete events. `arrivals` is another seed of the numbers, moments and
    keys of requests; by discrete events the plan's seed is used without it, by the fluid engine mean numbers.

    Raises: PlanError where the fluid engine is needed and NumPy is not installed.
    """
    chosen: Engine = "events" if trace is not None else engine or choose_engine(plan)
    tables = VirtualTables(plan)
    step_s = 60 * max(1, -(-plan.duration_s // (60 * SAMPLES_MAX)))
    recorder = RunRecorder(tables, step_s)
    demands = {record: cost.DirectionDemand(record) for record in recorder.directions}
    recorder.before_second.extend(demand.end_second for demand in demands.values())
    rooms = [HeadroomNote(record, tables.start_ns) for record in recorder.directions]
    recorder.before_second.extend(room.end_second for room in rooms)
    watched = [_Watched(scaler, [], [], [], []) for scaler in auto_scalers(tables)]
    recorder.on_sample.append(lambda: _sample_scaling(watched))
    if progress is not None:
        recorder.on_sample.append(lambda: progress(recorder.samples * step_s))
    seed = plan.seed if arrivals is None else arrivals
    by_name = {table.name: table for table in plan.tables}
    flows = [Flow(flow, by_name[flow.table], recorder, seed) for flow in plan.traffic]
    if chosen == "fluid":
        duration_s = _fluid_engine(plan)(tables, recorder, flows).run(
            plan.duration_s, drawn=arrivals is not None
        )
    else:
        requests = (
            requests_of(flows, tables, plan.duration_s, seed)
            if trace is None
            else (request_of(each, plan.retries) for each in replay(trace, tables, recorder))
        )
        duration_s = DiscreteEventEngine(tables, recorder, seed).run(requests, plan.duration_s)
    if duration_s % step_s:
        recorder.end_sample(duration_s)
    for demand in demands.values():
        demand.finish()
    done = _Finished(plan, chosen, recorder, demands, rooms, watched, flows, duration_s, trace)
    return _outcome(done)


def _fluid_engine(plan: Plan) -> type[FluidEngine]:
    try:
        from faradisc.tools.planner.simulation.fluid import FluidEngine  # noqa: PLC0415 - needs NumPy
    except ImportError:
        remedy = "Install it with `pip install faradisc[plan]`, or choose --engine events."
        raise PlanError(
            plan.file, None, "the fluid engine needs NumPy, which is not installed", remedy
        ) from None
    return FluidEngine


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
    demands: dict[DirectionRecord, cost.DirectionDemand]
    rooms: list[HeadroomNote]
    watched: list[_Watched]
    flows: list[Flow]
    duration_s: int
    trace: Trace | None


def _outcome(done: _Finished) -> Outcome:
    plan, recorder, duration_s = done.plan, done.recorder, done.duration_s
    resources = tuple(_resource(record, recorder, duration_s) for record in recorder.resources)
    parts = [_totals(record) for record in recorder.flows]
    totals = _totals(_all(recorder.flows))
    keys = hot_keys(recorder, done.flows, max(duration_s, 1))
    money = cost.costs(
        recorder.resources,
        done.demands,
        max(duration_s, 1),
        plan.prices,
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
        assumptions=_assumptions(plan, done.engine, done.trace),
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
    tracks = tuple(_partition(track, lengths) for track in record.partitions.values())
    return ResourceOutcome(
        name=member.name,
        table=member.table.name,
        index=member.index.name if member.index is not None else None,
        mode="PAY_PER_REQUEST" if member.resource.on_demand else "PROVISIONED",
        read=_lane(record.directions[0], lengths),
        write=_lane(record.directions[1], lengths),
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
    maximum = record.limiter.maximum
    by_name = [{cause.value: count for cause, count in sample.items()} for sample in record.causes]
    return DirectionSeries(
        offered=_per_second(record.series_offered, lengths),
        consumed=_per_second(record.series_consumed, lengths),
        consumed_peak=tuple(number(half / 2) for half in record.consumed_peak),
        provisioned=tuple(record.provisioned),
        throttled={cause: tuple(sample.get(cause, 0) for sample in by_name) for cause in CAUSES},
        burst=tuple(None if held is None else number(held / UNIT) for held in record.burst),
        burst_max=tuple(None if held is None else number(held / UNIT) for held in record.burst_max),
        maximum=maximum.rate if maximum is not None else None,
    )


def _partition(track: PartitionRecord, lengths: list[int]) -> PartitionSeries:
    low, high = track.bounds
    mine = lengths[track.first : track.first + len(track.read)]
    return PartitionSeries(
        id=brief(track.partition.id),
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
    for lane, direction in zip(record.directions, "RW", strict=True):
        for cause in CAUSES:
            count = sum(count for each, count in lane.events.items() if each.value == cause)
            if count:
                events[f"{direction} {cause}"] = count
    firsts = [lane.first_s for lane in record.directions if lane.first_s is not None]
    worst = max(record.directions, key=lambda lane: lane.worst_events)
    return ThrottleSummary(
        events=events,
        first_s=min(firsts, default=None),
        worst_second_s=worst.worst_s,
        worst_second_events=worst.worst_events,
        longest_throttled_s=max(lane.longest_s for lane in record.directions),
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


def _assumptions(plan: Plan, engine: Engine, trace: Trace | None) -> tuple[str, ...]:
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
        if any(flow.retries.fixed for flow in plan.traffic):
            said.append("Fluid: clients retry after fixed times, so throttled attempts are a rough estimate.")
    elif trace is None:
        said.append("Requests of a stream come at random moments of each second.")
    if trace is not None:
        said.append("Recorded requests are replayed at their recorded times, refused ones included.")
    if trace is None:
        said += [f"{flow.name}: {flow.keys.words}." for flow in plan.traffic if flow.half_units is None]
    return (*said, *plan.assumptions)
