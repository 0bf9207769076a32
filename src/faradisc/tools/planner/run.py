"""A plan in, an outcome out.

Source: capacity.md sections 3.2 (drive), 3.4 (outputs).
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from faradisc.capacity.throttle import Cause
from faradisc.charts.words import SPACE, duration
from faradisc.limits import TABLE_CAPACITY_UNITS_MAX
from faradisc.tools.planner.plan_file.plan import Plan
from faradisc.tools.planner.results import cost, headline, item_collections
from faradisc.tools.planner.results.event_rows import event_rows
from faradisc.tools.planner.results.headroom import HeadroomNote
from faradisc.tools.planner.results.hot_keys import hot_keys
from faradisc.tools.planner.results.outcome import (
    ItemCollection,
    PlanOutcome,
    ResourceOutcome,
    Skipped,
    ThrottleSummary,
    Totals,
    Waits,
)
from faradisc.tools.planner.results.series import Number, number
from faradisc.tools.planner.simulation.auto_scaler import auto_scalers
from faradisc.tools.planner.simulation.discrete_event import DiscreteEventEngine, requests_of
from faradisc.tools.planner.simulation.recorder import (
    FlowRecord,
    ResourceRecord,
    RunRecorder,
)
from faradisc.tools.planner.simulation.replay import replay
from faradisc.tools.planner.simulation.virtual_tables import VirtualTables
from faradisc.tools.planner.workload.key_distributions import Fixed
from faradisc.tools.planner.workload.streams import Flow
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import Trace

if TYPE_CHECKING:
    from faradisc.tools.planner.simulation.fluid import FluidEngine

Engine = Literal["events", "fluid"]
SAMPLES_MAX = 4 * 1440
"""Longer runs have samples of more than a minute."""
EVENTS_ENGINE_MAX = 1_000_000
"""Plans with more requests than this run on the fluid engine by default: events would take minutes."""


def choose_engine(plan: Plan) -> Engine:
    """Events where they are affordable, which is where they show the most."""
    most = sum(flow.most for flow in plan.traffic)
    return "events" if most * plan.duration_s <= EVENTS_ENGINE_MAX else "fluid"


def run(
    plan: Plan,
    *,
    engine: Engine | None = None,
    trace: Trace | None = None,
    arrivals: int | None = None,
    watch: Callable[[int], None] | None = None,
) -> PlanOutcome:
    """Runs a plan, or a trace on a plan's tables.

    Equal plans and seeds give equal outcomes, byte for byte. A trace always runs by discrete events.
    `arrivals` is another seed of the numbers, moments and keys of requests; without it discrete events use
    the plan's seed, and the fluid engine uses mean numbers. `watch` is called with the seconds of each
    sample.

    Raises PlanError where the fluid engine is needed and NumPy is not installed.
    """
    chosen: Engine = "events" if trace is not None else engine or choose_engine(plan)
    ran = _Simulation(plan, chosen, trace, arrivals, watch)
    recorder, flows, duration_s, step_s = ran.recorder, ran.flows, ran.duration_s, ran.recorder.step_s
    demands = ran.demands
    if plan.every_s is not None:
        quiet = replace(plan, traffic=tuple(flow for flow in plan.traffic if flow.every_s is None))
        base = _Simulation(quiet, chosen, trace, arrivals).demands.values()
        pairs = zip(demands.items(), base, strict=True)
        demands = {record: demand.over(rest, plan.every_s) for (record, demand), rest in pairs}

    lasted_s = max(duration_s, 1)
    resources = tuple(_resource(record, step_s) for record in recorder.resources)
    totals = _totals(FlowRecord.of_all(recorder.flows))
    keys = hot_keys(recorder, flows, lasted_s)
    allowed = headline.allowed_percent(plan.budgets)
    caches = {id(flow.cache): flow.cache.monthly for flow in plan.traffic if flow.cache is not None}
    paid = sum(caches.values(), Decimal(0))
    money = cost.costs(recorder.resources, demands, plan.prices, allowed_percent=allowed, caches=paid)
    money = replace(money, of_month=plan.of_month(duration_s, traced=trace is not None))
    rooms = tuple(found for note in ran.notes if (found := note.finish()) is not None)
    collections = tuple(_collections(plan, recorder, flows, duration_s))
    rows, left_out = event_rows(recorder, plan)
    budgets = headline.judge_budgets(plan.budgets, totals, money, keys, resources)
    skipped = plan.skipped
    if trace is not None:
        skipped = Skipped(trace.skipped, trace.lines_read, tuple(trace.mistakes))
    return PlanOutcome(
        name=plan.name,
        description=plan.description,
        file=plan.file,
        engine=chosen,
        profile=plan.profile,
        seed=plan.seed,
        start=datetime.fromtimestamp(plan.start_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        duration_s=duration_s,
        step_s=step_s,
        samples=recorder.samples,
        assumptions=_assumptions(plan, chosen, trace),
        totals=totals,
        flows=tuple(map(_totals, recorder.flows)),
        resources=resources,
        events=rows,
        events_left_out=left_out,
        scaling=tuple(scaler.timeline() for scaler in ran.scalers),
        hot_keys=keys,
        costs=money,
        budgets=budgets,
        headline=headline.headline(totals, budgets, keys, resources, money),
        verdict=headline.findings(totals, resources, keys, money, collections=collections, rooms=rooms),
        variant=plan.variant,
        skipped=skipped,
        headroom=rooms,
        collections=collections,
    )


class _Simulation:
    """What one simulation of a plan has recorded."""

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        trace: Trace | None,
        arrivals: int | None,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        tables = VirtualTables(plan)
        step_s = 60 * max(1, -(-plan.duration_s // (60 * SAMPLES_MAX)))
        self.recorder = recorder = RunRecorder(tables, step_s)
        demands = [cost.DemandRecord(record) for record in recorder.directions]
        self.notes = [HeadroomNote(record, tables.start_ns) for record in recorder.directions]
        recorder.before_second += [each.end_second for each in demands]
        recorder.before_second += [each.end_second for each in self.notes]
        self.scalers = auto_scalers(tables)
        recorder.on_sample += [scaler.sample for scaler in self.scalers]
        if watch is not None:
            recorder.on_sample.append(lambda: watch(step_s))
        seed = plan.seed if arrivals is None else arrivals
        by_name = {table.name: table for table in plan.tables}
        self.flows = flows = [Flow(flow, by_name[flow.table], recorder, seed) for flow in plan.traffic]
        if engine == "fluid":
            fluid = _fluid_engine(plan)(tables, recorder, flows)
            self.duration_s = fluid.run(plan.duration_s, drawn=arrivals is not None)
        else:
            requests = requests_of(flows, tables, plan.duration_s, seed)
            if trace is not None:
                requests = replay(trace, tables, recorder, plan.retries)
            self.duration_s = DiscreteEventEngine(tables, recorder, seed).run(requests, plan.duration_s)
        if self.duration_s % step_s:
            recorder.end_sample(self.duration_s)
        self.demands = {each.record: each.finish() for each in demands}


def _fluid_engine(plan: Plan) -> type[FluidEngine]:
    try:
        from faradisc.tools.planner.simulation.fluid import FluidEngine  # noqa: PLC0415 - needs NumPy
    except ImportError:
        remedy = "Install it with `pip install faradisc[plan]`, or choose --engine events."
        raise PlanError(
            plan.file, None, "the fluid engine needs NumPy, which is not installed", remedy
        ) from None
    return FluidEngine


# --- The outcome ----------------------------------------------------------------------------------------


def _collections(
    plan: Plan, recorder: RunRecorder, flows: list[Flow], duration_s: int
) -> Iterator[ItemCollection]:
    """Yields the largest item collections of each table with local indexes."""
    for table in plan.tables:
        if not table.locals:
            continue
        mine = [(flow, growth) for flow in flows if flow.plan.table == table.name and (growth := flow.growth)]
        lasting = [each for each in mine if isinstance(each[0].keys, Fixed)]
        adding = [each for each in lasting if each[0].plan.effect == "add"] or lasting
        shapes = [(flow.keys.shape(0, 0, 1), growth.taken) for flow, growth in adding if growth.taken]
        gained = Tally(recorder.growth[table.name].bytes)
        for flow, growth in mine:
            gained.update(growth.by_key(flow.record.admitted))
        before = item_collections.spread(item_collections.collected_bytes(table), shapes)
        yield from item_collections.largest(table.name, before, gained, lasting == mine, duration_s)


def _resource(record: ResourceRecord, step_s: int) -> ResourceOutcome:
    member = record.virtual
    tracks = tuple(track for _, track in record.partitions.values())
    return ResourceOutcome(
        name=member.name,
        table=member.table.name,
        index=member.index.name if member.index is not None else None,
        mode="PAY_PER_REQUEST" if member.resource.on_demand else "PROVISIONED",
        read=record.directions[0].series,
        write=record.directions[1].series,
        partition_count=tuple(record.counts),
        partitions=tracks,
        busiest=headline.busiest(tracks, step_s, record.directions[0].eventual),
        partitions_left_out=record.left_out,
        throttle_summary=_throttles(record),
    )


def _throttles(record: ResourceRecord) -> ThrottleSummary:
    events = {
        f"{direction} {cause.value}": each.events[cause]
        for each, direction in zip(record.directions, "RW", strict=True)
        for cause in Cause
        if each.events[cause]
    }
    worst = max(record.directions, key=lambda each: each.worst_events)
    return ThrottleSummary(
        events=events,
        first_s=min((each.first_s for each in record.directions if each.first_s is not None), default=None),
        worst_second_s=worst.worst_s,
        worst_second_events=worst.worst_events,
        longest_throttled_s=max(each.longest_s for each in record.directions),
    )


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
        throttled_percent=_percent(record.throttled, record.attempts + record.cached),
        lost_percent=_percent(record.lost, record.offered + record.cached),
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


# --- Assumptions ----------------------------------------------------------------------------------------


def _month(plan: Plan) -> str:
    with_data = "with the data there is at its end"
    if plan.every_s is None:
        return f"A month is 730 hours like those of this run, {with_data}."
    events = ", ".join(sorted({flow.name for flow in plan.traffic if flow.every_s is not None}))
    often = duration(plan.every_s).replace(SPACE, " ")
    return f"A month is 730 hours, {with_data}: this run once in {often}; between, this run without {events}."


def _assumptions(plan: Plan, engine: Engine, trace: Trace | None) -> tuple[str, ...]:
    said = [
        f"Capacity follows the profile {plan.profile!r}; heat, splits and delays are models of what AWS does "
        "not publish.",
        f"Prices: {plan.prices.region}, {plan.prices.date}, {plan.prices.source}"
        + (f"; set by the plan: {', '.join(plan.prices.overridden)}." if plan.prices.overridden else "."),
        _month(plan),
    ]
    said += [
        f"Table {table.name} has the profile {table.config.profile!r}."
        for table in plan.tables
        if table.config.profile != plan.profile
    ]
    said += [
        f"Table {table.name}: more than {TABLE_CAPACITY_UNITS_MAX:,} units a second need a raised quota."
        for table in plan.tables
        if any(max(each.highest) > TABLE_CAPACITY_UNITS_MAX for each in (table.rates, *table.index_rates))
    ]
    said += [
        f"{flow.name}: its requests are spread over all items of a key (sort: spread, the default)."
        for flow in plan.traffic
        if flow.sort_assumed and trace is None
    ]
    said += [
        f"Table {table.name}: what it holds at first is spread over item collections as its writes are."
        for table in plan.tables
        if table.locals and table.items
    ]
    if trace is not None:
        said.append("Recorded requests are replayed at their recorded times, throttled ones included.")
        return (*said, *plan.assumptions)
    if engine == "fluid":
        said.append("Fluid: requests of one second are one quantity; waits are means per attempt.")
        if any(flow.retries.fixed for flow in plan.traffic):
            said.append("Fluid: clients retry after fixed times, so throttled attempts are a rough estimate.")
    else:
        said.append("Requests of a stream come at random moments of each second.")
    said += [f"{flow.name}: {flow.keys.words}." for flow in plan.traffic if flow.half_units is None]
    return (*said, *plan.assumptions)
