"""The plan file: what each of its members means. docs/guide/planning.md describes it for users.

Everything is checked here, so that a plan that was loaded can be run. Every mistake names file, line and
remedy (`PlanError`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from faradisc.capacity.config import PROFILES, CapacityConfig, parse_caps, profile
from faradisc.capacity.schedules import ScheduleError, parse_schedule
from faradisc.limits import (
    GSI_PER_TABLE_MAX,
    ITEM_SIZE_BYTES_MAX,
    LSI_PER_TABLE_MAX,
    TABLE_CAPACITY_UNITS_MAX,
)
from faradisc.tools.planner.errors import PlanError, nearest
from faradisc.tools.planner.plan_file.classes import load_classes
from faradisc.tools.planner.plan_file.document import Members, Value, parse
from faradisc.tools.planner.plan_file.key_file import LinesOf, no_files
from faradisc.tools.planner.plan_file.keys import Setting, load_keys, load_sort
from faradisc.tools.planner.plan_file.plan import (
    BUDGETS,
    BudgetPlan,
    Change,
    IndexPlan,
    Plan,
    Rates,
    Scaling,
    ScheduledLimits,
    TablePlan,
)
from faradisc.tools.planner.plan_file.traffic import load_traffic
from faradisc.tools.planner.results.prices import LABEL_NAMES, PRICE_NAMES, US_EAST_1, Prices
from faradisc.tools.planner.workload import retries
from faradisc.tools.planner.workload.retries import Retries

START_S = 1_793_577_600
"""Monday, 2 November 2026, midnight UTC: when plans begin that do not say it."""
DURATION_MAX_S = 366 * 86_400
KEYS_ONLY_BYTES = 100
"""An index entry without projected attributes is taken to be so large. Assumed."""
PARTITIONS_MAX = 10_000
FIRST_S, LAST_S = 0, 32_503_680_000
"""A run lies in the years 1970 to 2999: a calendar that ends in 9999 cannot be asked for the day after."""


def load_plan(
    text: str,
    file: str,
    *,
    seed: int | None = None,
    traced: bool = False,
    start_s: int | None = None,
    lines_of: LinesOf = no_files,
) -> Plan:
    """The plan in a file's text. `seed` and `start_s`, epoch seconds, outrank the file's; `traced`: a trace
    brings the traffic; `lines_of` opens the files that the plan names, and is asked for no others.

    Raises: PlanError.
    """
    plan = parse(text, file).members(
        "name", "description", "start", "duration", "seed", "profile", "partition_caps", "retries",
        "tables", "traffic", "classes", "budgets", "prices",
    )  # fmt: skip
    config = _config(plan, CapacityConfig())
    setting = Setting(_start(plan) if start_s is None else start_s, lines_of)
    client = _retries(plan.get("retries"), retries.NO_RETRIES)
    tables = tuple(_table(name, value, config, setting) for name, value in _named(plan, "tables"))
    duration_s = _duration(plan, traced)
    traffic = plan.get("traffic")
    if traffic is None and not traced:
        raise plan.owner.mistake("'traffic' is missing", "Add it, or name a trace with --trace.")
    flows = (
        load_traffic(traffic, {table.name: table for table in tables}, setting, client, _retries)
        if traffic is not None and not traced
        else ()
    )
    return Plan(
        name=plan.text("name", file.rsplit("/", 1)[-1]),
        description=" ".join(plan.text("description", "").split()),
        file=file,
        start_s=setting.start_s,
        duration_s=duration_s,
        seed=plan.integer("seed", 1) if seed is None else seed,
        tables=tables,
        traffic=flows,
        budgets=_budgets(plan.get("budgets")),
        prices=_prices(plan.get("prices")),
        retries=client,
        profile=config.profile,
        classes=load_classes(plan.get("classes"), setting, client, _retries),
    )


def _named(plan: Members, name: str) -> list[tuple[str, Value]]:
    """A mapping of the user's names that must not be empty."""
    held = plan.need(name, "tables: {Orders: {mode: on-demand}}").any_members()
    entries = list(held.items())
    if not entries:
        raise held.owner.mistake("there are no tables", "Add one: Orders: {mode: on-demand}")
    return entries


def _config(members: Members, inherited: CapacityConfig) -> CapacityConfig:
    """The capacity model: a profile, and partition caps for experiments with little traffic."""
    config = inherited
    named = members.get("profile")
    if named is not None:
        config = profile(named.choice(*PROFILES))
        if not config.enforce:
            raise named.mistake("profile 'off' refuses nothing", "Choose one that does, for example aws.")
    caps = members.get("partition_caps")
    if caps is not None:
        try:
            config = config.with_partition_caps(*parse_caps(caps.text()))
        except ValueError as mistake:
            raise caps.mistake(str(mistake), "Write, for example, 30/10.") from None
    return config


def _start(plan: Members) -> int:
    value = plan.get("start")
    if value is None:
        return START_S
    try:
        moment = datetime.fromisoformat(value.text())
    except ValueError:
        what = f"{value.text()!r} is not a moment"
        raise value.mistake(what, "Write it like 2026-11-02T08:00:00Z.") from None
    start_s = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if not FIRST_S <= start_s <= LAST_S - DURATION_MAX_S:
        raise value.mistake("a run begins in one of the years 1970 to 2998", "Write another year.")
    return start_s


def _duration(plan: Members, traced: bool) -> int:
    if traced and "duration" not in plan:
        return DURATION_MAX_S
    value = plan.need("duration", "duration: 1h")
    seconds = value.duration("the duration")
    if not 1 <= seconds <= DURATION_MAX_S:
        raise value.mistake("a run lasts from 1 second to 366 days", "Write, for example, 1h or 1d.")
    return seconds


def _retries(value: Value | None, default: Retries) -> Retries:
    if value is None:
        return default
    attempts: int | None = None
    mode = value
    if value.is_mapping():
        members = value.members("mode", "attempts")
        mode = members.need("mode", "mode: standard")
        if "attempts" in members:
            attempts = members.integer("attempts", 1, least=1, most=retries.ATTEMPTS_MAX)
    chosen = mode.choice("none", "standard", "legacy")
    if chosen == "none":
        return retries.NO_RETRIES
    make = retries.standard if chosen == "standard" else retries.legacy
    return make() if attempts is None else make(attempts)


# --- Tables -------------------------------------------------------------------------------------------

_RATE_MEMBERS = ("read", "write", "max_read", "max_write", "warm", "auto_scaling")


def _table(name: str, value: Value, config: CapacityConfig, setting: Setting) -> TablePlan:
    members = value.members(
        "mode", *_RATE_MEMBERS, "profile", "partition_caps", "partitions", "sort_key", "items", "item_size",
        "indexes", "local_indexes", "changes", "class", "point_in_time_recovery",
    )  # fmt: skip
    on_demand = _mode(members)
    item_bytes = members.size("item_size", 1024, ITEM_SIZE_BYTES_MAX)
    sort_key = members.flag("sort_key", False)
    table = TablePlan(
        name=name,
        rates=_rates(members, on_demand),
        config=_config(members, config),
        sort_key=sort_key or "local_indexes" in members,
        indexes=(
            *_indexes(members.get("indexes"), on_demand, setting),
            *_local_indexes(members.get("local_indexes")),
        ),
        items=members.integer("items", 0),
        item_bytes=item_bytes,
        partitions=_partitions(members),
        changes=(),
        infrequent=_class(members) == "infrequent-access",
        recovery=members.flag("point_in_time_recovery", False),
    )
    if table.items * item_bytes > PARTITIONS_MAX * table.config.partition_bytes_max:
        raise members.need("items", "").mistake(
            f"they would fill more than {PARTITIONS_MAX:,} partitions", "Write fewer, or smaller ones."
        )
    return replace(table, changes=_changes(members.get("changes"), table))


def _mode(members: Members) -> bool:
    value = members.get("mode")
    if value is None:
        return "read" not in members and "write" not in members
    return value.choice("provisioned", "on-demand") == "on-demand"


def _class(members: Members) -> str:
    value = members.get("class")
    return "standard" if value is None else value.choice("standard", "infrequent-access")


def _partitions(members: Members) -> int | None:
    if "partitions" not in members:
        return None
    return members.integer("partitions", 1, least=1, most=PARTITIONS_MAX)


def _rates(members: Members, on_demand: bool) -> Rates:
    """Throughput settings; those of the other mode are refused."""
    wrong = ("read", "write", "auto_scaling") if on_demand else ("max_read", "max_write", "warm")
    for name in wrong:
        value = members.get(name)
        if value is not None:
            here, other = ("on-demand", "provisioned") if on_demand else ("provisioned", "on-demand")
            raise value.mistake(
                f"{name!r} belongs to mode {other}, and this is {here}", f"Remove it, or write mode: {other}."
            )
    if on_demand:
        return Rates(
            True,
            max_read=_units(members, "max_read"),
            max_write=_units(members, "max_write"),
            warm=_warm(members.get("warm")),
        )
    scaling = members.get("auto_scaling")
    both = scaling.members("read", "write") if scaling is not None else None
    rates = Rates(
        False,
        read_units=_units(members, "read") or 1,
        write_units=_units(members, "write") or 1,
        read_scaling=_scaling(both.get("read")) if both else None,
        write_scaling=_scaling(both.get("write")) if both else None,
    )
    return rates


def _units(members: Members, name: str) -> int | None:
    if name not in members:
        return None
    return members.integer(name, 1, least=1, most=TABLE_CAPACITY_UNITS_MAX)


def _warm(value: Value | None) -> tuple[int, int] | None:
    if value is None:
        return None
    members = value.members("read", "write")
    return members.integer("read", 12_000), members.integer("write", 4_000)


def _scaling(value: Value | None) -> Scaling | None:
    if value is None:
        return None
    members = value.members(
        "min", "max", "target", "scale_in_cooldown", "scale_out_cooldown", "disable_scale_in", "schedule"
    )
    minimum = members.need("min", "min: 5").integer("the minimum", 1, TABLE_CAPACITY_UNITS_MAX)
    maximum = members.need("max", "max: 1000").integer("the maximum", 1, TABLE_CAPACITY_UNITS_MAX)
    if maximum < minimum:
        raise members.need("max", "").mistake("the maximum is below the minimum", f"Write {minimum} or more.")
    target = members.get("target")
    percent = Fraction(70) if target is None else target.amount("the target in percent")
    if not 20 <= percent <= 90:
        raise value.mistake("the target lies between 20 and 90 percent", "Write, for example, target: 70.")
    return Scaling(
        minimum,
        maximum,
        float(percent),
        members.duration("scale_in_cooldown", 0),
        members.duration("scale_out_cooldown", 0),
        members.flag("disable_scale_in", False),
        _schedule(members.get("schedule")),
    )


def _schedule(value: Value | None) -> tuple[ScheduledLimits, ...]:
    if value is None:
        return ()
    actions = []
    for entry in value.entries():
        members = entry.members("at", "min", "max")
        at = members.need("at", "at: cron(0 8 ? * MON-FRI *)")
        try:
            schedule = parse_schedule(at.text())
        except ScheduleError as mistake:
            raise at.mistake(str(mistake), "Write, for example, cron(0 8 ? * MON-FRI *).") from None
        minimum, maximum = _units(members, "min"), _units(members, "max")
        if minimum is None and maximum is None:
            raise entry.mistake("this changes nothing", "Add min:, max: or both.")
        if minimum is not None and maximum is not None and maximum < minimum:
            raise members.need("max", "").mistake(
                "the maximum is below the minimum", f"Write {minimum} or more."
            )
        actions.append(ScheduledLimits(schedule, at.text(), minimum, maximum))
    return tuple(actions)


def _changes(value: Value | None, table: TablePlan) -> tuple[Change, ...]:
    if value is None:
        return ()
    changes = []
    for entry in value.entries():
        members = entry.members("at", "index", "read", "write", "mode")
        at_s = members.need("at", "at: 30m").duration("the moment")
        index = members.get("index")
        known = [each.name for each in table.globals]
        if index is not None and index.text() not in known:
            raise index.mistake(f"there is no global index {index.text()!r}", nearest(index.text(), known))
        change = Change(
            at_s,
            index.text() if index else None,
            _units(members, "read"),
            _units(members, "write"),
            "mode" in members and _mode(members),
        )
        if change.read_units is None and change.write_units is None and not change.to_on_demand:
            raise entry.mistake("this changes nothing", "Add read:, write: or mode: on-demand.")
        changes.append(change)
    return tuple(sorted(changes, key=lambda change: change.at_s))


# --- Indexes ------------------------------------------------------------------------------------------


def _indexes(value: Value | None, on_demand: bool, setting: Setting) -> list[IndexPlan]:
    if value is None:
        return []
    indexes = []
    for name, entry in value.any_members().items():
        members = entry.members(
            *_RATE_MEMBERS, "projection", "entry_size", "share", "keys", "sort", "partitions"
        )
        keys = members.get("keys")
        sort = load_sort(members.get("sort"), "spread")
        indexes.append(
            IndexPlan(
                name,
                True,
                _entry_bytes(members),
                members.ratio("share", Fraction(1)),
                _rates(members, on_demand),
                load_keys(keys, setting, sort) if keys is not None else None,
                sort,
                _partitions(members),
            )
        )
    if len(indexes) > GSI_PER_TABLE_MAX:
        raise value.mistake(f"a table has at most {GSI_PER_TABLE_MAX} global indexes", "Remove some.")
    return indexes


def _local_indexes(value: Value | None) -> list[IndexPlan]:
    if value is None:
        return []
    indexes = []
    for name, entry in value.any_members().items():
        members = entry.members("projection", "entry_size", "share")
        share = members.ratio("share", Fraction(1))
        indexes.append(IndexPlan(name, False, _entry_bytes(members), share, Rates(False), None, "one"))
    if len(indexes) > LSI_PER_TABLE_MAX:
        raise value.mistake(f"a table has at most {LSI_PER_TABLE_MAX} local indexes", "Remove some.")
    return indexes


def _entry_bytes(members: Members) -> int | None:
    value = members.get("projection")
    projection = "all" if value is None else value.choice("all", "keys_only", "include")
    if projection == "all":
        return None
    if projection == "include" and "entry_size" not in members:
        raise members.owner.mistake(
            "projection include needs the size of an entry", "Add it, for example entry_size: 300 B"
        )
    return members.size("entry_size", KEYS_ONLY_BYTES)


# --- Budgets and prices -------------------------------------------------------------------------------


def _budgets(value: Value | None) -> tuple[BudgetPlan, ...]:
    if value is None:
        return ()
    members = value.members(*BUDGETS)
    return tuple(BudgetPlan(name, limit.amount("a budget")) for name, limit in members.items())


def _prices(value: Value | None) -> Prices:
    if value is None:
        return US_EAST_1
    overrides: dict[str, Decimal | str] = {}
    for name, entry in value.members(*PRICE_NAMES, *LABEL_NAMES).items():
        if name in LABEL_NAMES:
            overrides[name] = entry.text()
        else:
            entry.amount("a price")
            overrides[name] = Decimal(entry.text().replace("_", ""))
    return US_EAST_1.with_overrides(overrides)


__all__ = ["PlanError", "load_plan"]
