"""Plans whose traffic is a file of rates (traces/rate_file.py).

Tables and classes come from the plan file; without one, tables are on demand and keys evenly spread. Each
kind of request becomes a flow, which both engines run like the traffic of a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from faradisc.capacity import units
from faradisc.limits import ITEM_SIZE_BYTES_MAX
from faradisc.tools.planner.plan_file.plan import (
    DURATION_MAX_S,
    START_S,
    ClassPlan,
    FlowPlan,
    IndexPlan,
    Plan,
    Rates,
    TablePlan,
)
from faradisc.tools.planner.plan_file.plan_of_trace import some
from faradisc.tools.planner.results.outcome import Skipped
from faradisc.tools.planner.workload.key_distributions import ONE, Fixed, KeyModel, KeyShape, Sort
from faradisc.tools.planner.workload.retries import Retries
from faradisc.tools.traces.errors import PlanError, nearest
from faradisc.tools.traces.rate_file import OPERATIONS, PerSecond, RateKind, RateTrace
from faradisc.tools.traces.trace_format import READS, WRITES

_UNIT_BYTES = 1024
_MEANT_FOR = {
    "consistent": READS,
    "item_size": WRITES,
    "effect": tuple(name for name in WRITES if name != "DeleteItem"),
    "changes": WRITES,
}
"""Members of a class that mean something to some operations only."""


def plan_of_rates(trace: RateTrace, *, seed: int = 1) -> Plan:
    """Returns a plan with the tables of the rates, on demand. Raises PlanError for a file without rates."""
    indexes: dict[str, list[IndexPlan]] = {}
    for table, index in sorted(trace.targets, key=lambda target: (target[0], target[1] or "")):
        mine = indexes.setdefault(table, [])
        if index is not None:
            mine.append(IndexPlan(index, Rates(True)))
    tables = tuple(TablePlan(name, Rates(True), indexes=tuple(mine)) for name, mine in indexes.items())
    plan = Plan(
        name=f"Rates {trace.file.rsplit('/', 1)[-1]}",
        description="Traffic from a file of rates.",
        file=trace.file,
        start_s=START_S,
        duration_s=DURATION_MAX_S,
        seed=seed,
        tables=tables,
        assumptions=(f"No plan describes {some(indexes.keys())}: taken to be on demand.",),
    )
    return with_rates(plan, trace)


def with_rates(plan: Plan, trace: RateTrace) -> Plan:
    """Returns the plan with the traffic of a file of rates, and its length unless the plan is shorter.

    Raises PlanError where no rate is of the plan's tables, and for classes that do not match the file.
    """
    if not trace.rates:
        raise trace.nothing("there are no rates in this file", "See docs/formats/rates.md.")
    tables = {table.name: table for table in plan.tables}
    known: set[tuple[str, str | None]] = {(name, None) for name in tables}
    known |= {(table.name, index.name) for table in plan.tables for index in table.indexes}
    known_targets = [each for each in trace.targets if each in known]
    if not known_targets:
        what = f"it has no rates of the plan's tables, but of {some({table for table, _ in trace.targets})}"
        remedy = "Name the tables in the plan as in the file, or leave the plan out."
        raise PlanError(trace.file, None, what, remedy)
    # Sorted, so that the order of the lines does not matter.
    used = {kind: trace.rates[kind] for kind in sorted(trace.rates) if (kind.table, kind.index) in known}
    _check_classes(plan, used)
    unknown = _unknown_class(plan.retries)
    flows = tuple(
        _flow(plan, tables[kind.table], kind, rate, plan.classes.get(kind.key_class, unknown))
        for kind, rate in used.items()
    )
    return replace(
        plan,
        start_s=plan.start_s if trace.start_s is None else trace.start_s,
        duration_s=trace.duration_s if plan.duration_s == DURATION_MAX_S else plan.duration_s,
        traffic=flows,
        assumptions=(*plan.assumptions, *trace.assumptions, *_of_classes(plan, flows, used)),
        skipped=_skipped(trace, known_targets),
    )


def _unknown_class(client: Retries) -> ClassPlan:
    """Returns a class with evenly spread keys, for one that the plan does not describe."""
    choices: tuple[Sort, ...] = ("one", "spread")
    keys: dict[Sort, KeyModel] = {sort: Fixed(KeyShape((), ONE, sort), "evenly spread") for sort in choices}
    return ClassPlan(keys, None, None, False, "replace", Fraction(1), client)


def _skipped(trace: RateTrace, known_targets: list[tuple[str, str | None]]) -> Skipped:
    """Returns what was skipped, lines of tables that the plan does not have included."""
    mine = replace(trace, mistakes=list(trace.mistakes))
    for (table, index), target in trace.targets.items():
        if (table, index) not in known_targets:
            named = f"table {table!r}" if index is None else f"index {index!r} of table {table!r}"
            mine.skip(target.first, f"{named} is not in the plan ({target.lines:,} lines)", target.lines)
            mine.lines_read -= target.lines
    return Skipped(mine.skipped, mine.lines_read, tuple(mine.mistakes))


def _check_classes(plan: Plan, used: Mapping[RateKind, PerSecond]) -> None:
    """Raises PlanError for a class that the file lacks, and for members that its operations do not use."""
    operations: dict[str, set[str]] = {}
    for kind in used:
        operations.setdefault(kind.key_class, set()).add(kind.operation)
    for name, each in plan.classes.items():
        mine = operations.get(name)
        if mine is None:
            what = f"classes.{name}: the file of rates has no such class"
            raise PlanError(plan.file, each.lines[""], what, nearest(name, operations))
        for member, meant in _MEANT_FOR.items():
            if member in each.lines and not mine & set(meant):
                what = f"classes.{name}.{member}: it means nothing to {', '.join(sorted(mine))}"
                raise PlanError(plan.file, each.lines[member], what, "Leave it out.")


def _flow(plan: Plan, table: TablePlan, kind: RateKind, rate: PerSecond, of: ClassPlan) -> FlowPlan:
    operation = OPERATIONS[kind.operation]
    sorted_here = table.sort_key or kind.index is not None
    sort: Sort = of.sort or ("spread" if sorted_here else "one")
    if sort != "one" and not sorted_here:
        what = f"classes.{kind.key_class}.sort: table {table.name!r} has no sort key"
        remedy = "Add sort_key: true to the table, or leave sort out."
        raise PlanError(plan.file, of.lines["sort"], what, remedy)
    if of.consistent and any(index.name == kind.index for index in table.globals):
        what = f"classes.{kind.key_class}.consistent: a global index is read eventually consistent only"
        raise PlanError(plan.file, of.lines["consistent"], what, "Leave consistent out.")
    writes = kind.operation in WRITES
    item_bytes, half_units, share = table.item_bytes, kind.half_units, Fraction(1)
    if half_units is not None:
        # Transactions cost twice as much.
        stands_for = half_units * _UNIT_BYTES // (4 if operation.transaction else 2)
        item_bytes = min(stands_for, ITEM_SIZE_BYTES_MAX)
    if of.item_bytes is not None:
        item_bytes = of.item_bytes
    if half_units is None:
        half_units = units.read_half_units(item_bytes, consistent=of.consistent)
        if writes:
            half_units = 2 * units.write_units(item_bytes, item_bytes)
        share = Fraction(1, half_units)
    where = table.name if kind.index is None else f"{table.name}/index/{kind.index}"
    cost = f"{half_units / 2:g} {'WCU' if writes else 'RCU'}"
    effect = of.effect if writes else "none"
    return FlowPlan(
        name=f"{where}, {kind.key_class}: {kind.operation}, {cost}",
        table=table.name,
        index=kind.index,
        operation=operation.base,
        rate=rate,
        share=share,
        keys=of.keys[sort],
        item_bytes=item_bytes,
        old_bytes=item_bytes,
        items=1,
        consistent=of.consistent,
        transaction=operation.transaction,
        effect="remove" if operation.base == "DeleteItem" else effect,
        changes=of.changes,
        cache=None,
        retries=of.retries,
        half_units=half_units,
    )


def _of_classes(plan: Plan, flows: tuple[FlowPlan, ...], used: Mapping[RateKind, PerSecond]) -> list[str]:
    """Returns what is assumed of the classes' keys."""
    names = list(dict.fromkeys(kind.key_class for kind in used))
    words = {kind.key_class: flow.keys.words for kind, flow in zip(used, flows, strict=True)}
    assumed = [f"Class {name}: {words[name]}." for name in names if name in plan.classes]
    missing = [name for name in names if name not in plan.classes]
    if missing:
        named = some(set(missing))
        assumed.append(f"The plan does not describe class {named}: its keys are taken to be evenly spread.")
    return assumed
