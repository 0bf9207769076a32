"""Plans whose traffic is a trace: tables come from the plan file, or as the trace describes them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from faradisc.capacity.config import CapacityConfig
from faradisc.tools.planner.plan_file.plan import DURATION_MAX_S, IndexPlan, Plan, Rates, TablePlan
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.trace_format import Described, Trace

NAMES_SHOWN = 5


def plan_of_trace(trace: Trace, *, seed: int = 1) -> Plan:
    """Returns a plan with the trace's own tables; those it does not describe are on demand.

    Raises PlanError for a trace without requests.
    """
    _need_requests(trace)
    missing = sorted(trace.mentioned - trace.tables.keys())
    assumed = f"The trace does not describe {', '.join(missing)}: taken to be on demand."
    return Plan(
        name=f"Trace {trace.file.rsplit('/', 1)[-1]}",
        description="Recorded traffic, replayed.",
        file=trace.file,
        start_s=trace.start_s,
        duration_s=trace.duration_s,
        seed=seed,
        profile=_profile(trace),
        tables=(*map(_table, trace.tables.values()), *(TablePlan(name, Rates(True)) for name in missing)),
        assumptions=(assumed,) if missing else (),
    )


def with_trace(plan: Plan, trace: Trace) -> Plan:
    """Returns the plan with the trace's start, and with its length unless the plan is shorter.

    Raises PlanError for a trace without requests of the plan's tables.
    """
    _need_requests(trace)
    if trace.mentioned.isdisjoint(table.name for table in plan.tables):
        what = f"it has no request of the plan's tables, but of {some(trace.mentioned)}"
        remedy = "Name the tables in the plan as in the trace, or replay it without a plan."
        raise PlanError(trace.file, None, what, remedy)
    duration_s = trace.duration_s if plan.duration_s == DURATION_MAX_S else plan.duration_s
    return replace(plan, start_s=trace.start_s or plan.start_s, duration_s=duration_s)


def some(names: Set[str]) -> str:
    """Returns the first of many names, for people."""
    shown = sorted(names)[:NAMES_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(map(repr, shown)) + (f" and {more} more" if more else "")


def _need_requests(trace: Trace) -> None:
    if not trace.mentioned:
        remedy = "Record one with faradisc serve --record-trace, or see docs/formats/trace.md."
        raise trace.nothing("there is no request in this trace", remedy)


def _profile(trace: Trace) -> str:
    """Returns the profile of all tables; where they differ, the default one."""
    found = {table.config.profile for table in trace.tables.values()}
    return found.pop() if len(found) == 1 else CapacityConfig().profile


def _table(described: Described) -> TablePlan:
    def rates(read: int, write: int) -> Rates:
        if described.on_demand:
            return Rates(True)
        return Rates(False, read_units=max(read, 1), write_units=max(write, 1))

    return TablePlan(
        described.name,
        rates(described.read_units, described.write_units),
        described.config,
        described.sort_key,
        tuple(IndexPlan(name, rates(*pair)) for name, pair in described.indexes.items()),
        described.items,
        described.size_bytes // described.items if described.items else 1024,
        described.partitions,
    )
