"""Mistakes in plan files: each message names file, line and remedy."""

from __future__ import annotations

import pytest

from faradisc.tools.planner.plan_file.loading import load_plan, load_plans
from faradisc.tools.traces.errors import PlanError

GOOD = """\
name: A plan
duration: 10m
tables:
  Orders:
    mode: provisioned
    read: 10
    write: 10
traffic:
  - table: Orders
    operation: PutItem
    rate: 5
    keys: {uniform: 100}
"""


def mistake(text: str) -> str:
    with pytest.raises(PlanError) as rejected:
        load_plan(text, "plan.yaml")
    assert "\n" not in str(rejected.value)
    return str(rejected.value)


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_plan_without_mistakes_loads() -> None:
    plan = load_plan(GOOD, "plan.yaml")
    assert (plan.name, plan.duration_s, len(plan.traffic)) == ("A plan", 600, 1)


# ruff: noqa: E501
CASES = [
    # (what is written instead of what, line, what is said, remedy)
    ("{uniform: 100}", "{unifrom: 100}", 12, "there is no key model 'unifrom'", "Did you mean 'uniform'?"),
    ("{uniform: 100}", "{gauss: 100}", 12, "there is no key model 'gauss'", "Known: uniform, zipf, single"),
    ("{uniform: 100}", "hot", 12, "there is no key model 'hot'", "Known: uniform"),
    ("{uniform: 100}", "{uniform: 0}", 12, "keys.uniform: 0 is below 1", "Write 1 or more."),
    ("{uniform: 100}", "{uniform: 100, single: a}", 12, "keys are one model", "Write, for example"),
    ("{uniform: 100}", "{uniform: 9, suffixes: 3}", 12, "uniform keys take no suffixes", "Use more keys"),
    ("{uniform: 100}", "{zipf: {keys: 9, exponent: 11}}", 12, "exponent: 11 is above 10", "Write 10 or less."),
    ("{uniform: 100}", "{zipf: {exponent: 1}}", 12, "'keys' is missing", "for example: keys: 1000000"),
    ("{uniform: 100}", "{weighted: {A: 0}}", 12, "no key has any weight", "{SHIPPED: 97, OPEN: 3}"),
    ("{uniform: 100}", "{weighted: {A: -1}}", 12, "weighted.A: -1 is below 0", "Write 0 or more."),
    ("{uniform: 100}", "{date: week}", 12, "'week' is not known here", "Known: hour, day, month."),
    ("{uniform: 100}", "{sequential: {item_per_key: 3}}", 12, "no member 'item_per_key'", "'items_per_key'"),
    ("rate: 5", "rate: -5", 11, "rate: -5 is below 0", "Write 0 or more."),
    ("rate: 5", "rate: fast", 11, "'fast' is not a number", "for example 100"),
    ("rate: 5", "rate: 99999999", 11, "99999999 is above 10000000", "Write 10000000 or less."),
    ("rate: 5", "rate: {step: []}", 11, "there is no curve 'step'", "Did you mean 'steps'?"),
    ("rate: 5", "rate: {steps: []}", 11, "the list is empty", "{at: 0s, rate: 100}"),
    ("rate: 5", "rate: {steps: [{at: 9s, rate: 1}, {at: 9s, rate: 2}]}", 11, "do not ascend", "Sort the list"),
    ("rate: 5", "rate: {ramp: {from: 1, to: 2, over: 0s}}", 11, "a ramp takes time", "over: 10m"),
    ("rate: 5", "rate: {daily: {low: 9, high: 1}}", 11, "high is below low", "Exchange them."),
    ("rate: 5", "rate: {daily: {low: 1, high: 9, peak: noon}}", 11, "'noon' is not a time of day", '"14:00"'),
    ("rate: 5", "rate: {spikes: {base: 1, high: 2, every: 5s, lasting: 9s}}", 11, "shorter than", "shorter one"),
    ("rate: 5", "rate: 5\n    from: 10m\n    until: 5m", 13, "the stream ends before it begins", "later moment"),
    ("rate: 5", "rate: 5\n    cache: 150%", 12, "a share lies between 0 and 1, not at 150%", "0.9 or 90%."),
    ("rate: 5", "rate: 5\n    cache: 50%", 12, "a cache answers reads only", "Leave cache out."),
    ("rate: 5", "rate: 5\n    moves: [by-stats]", 12, "there is no index 'by-stats'", "The table has none; leave moves out."),
    ("rate: 5", "rate: 5\n    item_size: 1 GB", 12, "item_size: 1 GB is above 409600", "409600 or less"),
    ("rate: 5", "rate: 5\n    item_size: big", 12, "item_size: 'big' cannot be read", "1.5 KB"),
    ("rate: 5", "rate: 5\n    sort: rising", 12, "table 'Orders' has no sort key", "Add sort_key: true"),
    ("rate: 5", "rate: 5\n    effect: vanish", 12, "'vanish' is not known here", "Known: add, replace."),
    ("rate: 5", "rate: 5\n    items: 3", 12, "PutItem is for one item", "use Query"),
    ("rate: 5", "rate: 5\n    index: by-date", 12, "there is no index 'by-date'", "The table has none"),
    ("rate: 5", "rate: 5\n    retries: often", 12, "'often' is not known here", "Known: none, standard, legacy"),
    ("rate: 5", "rate: 5\n    rate: 6", 12, "it is written twice", "Keep one of them."),
    ("rate: 5", "rtae: 5", 11, "there is no member 'rtae' here", "Did you mean 'rate'?"),
    ("rate: 5", "rate: 5\n    colour: red", 12, "there is no member 'colour' here", "Known: keys, sort"),
    ("PutItem", "PutItems", 10, "'PutItems' is not known here", "Did you mean 'PutItem'?"),
    ("operation: PutItem", "operations: {GetItem: 0}", 10, "the mix is empty", "{GetItem: 80, PutItem: 20}"),
    ("table: Orders", "table: Order", 9, "there is no table 'Order'", "Did you mean 'Orders'?"),
    ("read: 10", "read: 0", 6, "read: 0 is below 1", "Write 1 or more."),
    ("read: 10", "read: 2.5", 6, "read: '2.5' is not a whole number", "Write one"),
    ("read: 10", "read: 99999999", 6, "99999999 is above 10000000", "Write 10000000 or less."),
    ("read: 10", "read: 10\n    changes: [{at: 9h, read: 1}]", 7, "it comes after the end of the run", "earlier moment"),
    ("read: 10", "max_read: 10", 6, "'max_read' belongs to mode on-demand", "mode: on-demand"),
    ("mode: provisioned", "mode: on-demand", 6, "'read' belongs to mode provisioned", "mode: provisioned"),
    ("mode: provisioned", "mode: serverless", 5, "'serverless' is not known here", "Known: provisioned, on-demand"),
    ("read: 10", "read: 10\n    profile: asw", 7, "'asw' is not known here", "Did you mean 'aws'?"),
    ("read: 10", "read: 10\n    profile: off", 7, "profile 'off' throttles nothing", "for example aws"),
    ("read: 10", "read: 10\n    partition_caps: 30", 7, "partition caps are written READ/WRITE", "30/10"),
    ("read: 10", "read: 10\n    sort_key: maybe", 7, "'maybe' is neither true nor false", "true or false"),
    ("read: 10", "read: 10\n    indexes: {g: {projection: include}}", 7, "needs the size of an entry", "entry_size"),
    ("read: 10", "read: 10\n    indexes: {g: {max_read: 1}}", 7, "belongs to mode on-demand", "Remove it"),
    ("read: 10", "read: 10\n    auto_scaling: {read: {min: 9, max: 5}}", 7, "maximum is below the minimum", "9 or"),
    ("read: 10", "read: 10\n    auto_scaling: {read: {min: 1, max: 5, target: 95}}", 7, "target: 95 is above 90", "Write 90 or less."),
    ("read: 10", "read: 10\n    changes: [{at: 5m}]", 7, "this changes nothing", "Add read:, write:"),
    ("read: 10", "read: 10\n    changes: [{at: 5m, index: g, read: 1}]", 7, "there is no global index 'g'", ""),
    ("duration: 10m", "duration: soon", 2, "'soon' cannot be read", "Write seconds"),
    ("duration: 10m", "duration: 0s", 2, "a run lasts from 1 second", "1h or 1d"),
    ("duration: 10m", "duration: 10m\nstart: yesterday", 3, "'yesterday' is not a moment", "2026-11-02T08:00:00Z"),
    ("duration: 10m", "duration: 10m\nbudgets: {speed: 1}", 3, "no member 'speed' here", "throttled_percent"),
    ("duration: 10m", "duration: 10m\nbudgets: {lost_percent: -1}", 3, "lost_percent: -1 is below 0", "0 or more"),
    ("duration: 10m", "duration: 10m\nprices: {write_milion: 1}", 3, "'write_milion'", "'write_million'"),
    ("duration: 10m\n", "", 1, "'duration' is missing", "duration: 1h"),
    ("duration: 10m", "duration: *d", 2, "aliases (*name)", "Write the value out."),
    ("duration: 10m", "duration: &d 10m\nname2: *d", 3, "aliases (*name) are not taken", "Write the value out."),
    ("duration: 10m", "duration: [10m", 3, "this is not YAML", "Check the indentation"),
    ("duration: 10m", f"duration: {'9' * 5000}", 2, "cannot be read", "Write seconds"),
    ("rate: 5", f"rate: 1.{'9' * 5000}", 11, "a number has at most 40 digits", "Write one"),
    ("rate: 5", "rate: .nan", 11, "'.nan' is not a number", "Write one"),
    ("rate: 5", "rate: .inf", 11, "'.inf' is not a number", "Write one"),
    ("rate: 5", f"rate: 5\n    cache: {'9' * 50}%", 12, "cannot be read", "or a percentage"),
    ("rate: 5", f"rate: 5\n    item_size: {'9' * 50}", 12, "cannot be read", "Write bytes"),
    ("write: 10", "write: 10\n    items: 1000000000000", 8, "more than 10,000 partitions", "Write fewer"),
    ("write: 10", "write: 10\n    item_size: 9 TB", 8, "9 TB is above 409600", "Write 409600 or less."),
    ("duration: 10m", "duration: 10m\nstart: 9999-12-31", 3, "the years 1970 to 2998", "another year"),
    ("duration: 10m", "duration: 10m\nstart: 0001-01-01T00:00:00+14:00", 3, "the years 1970 to 2998", "another year"),
    ("duration: 10m", "duration: 10m\n? [a, b]\n: 1", 3, "a name is one text", "Write name: value."),
    ("operation: PutItem", "operations: {PutItem: 1}\n    cache: 90%", 11, "'cache' means nothing to PutItem", "add GetItem"),
    ("operation: PutItem", "operations: {GetItem: 1}\n    items: 7", 11, "'items' means nothing to GetItem", "add Query or Scan"),
    ("traffic:", "trafic:", 8, "there is no member 'trafic' here", "Did you mean 'traffic'?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "what", "remedy"), CASES, ids=[case[1][:60] for case in CASES]
)
def test_mistake_names_file_line_and_remedy(old: str, new: str, line: int, what: str, remedy: str) -> None:
    said = mistake(changed(old, new))
    assert said.startswith(f"plan.yaml:{line}: "), said
    assert what in said, said
    assert remedy in said, said


def test_empty_file_and_list_are_mistakes() -> None:
    assert mistake("") == ("plan.yaml:1: the file is empty. See docs/guide/planning.md for a first plan.")
    assert "here should be members" in mistake("- 1\n- 2\n")
    assert "there are no tables" in mistake("duration: 1h\ntables: {}\ntraffic: []\n")


def schedule(entry: str) -> str:
    return changed(
        "write: 10",
        f"write: 10\n    auto_scaling: {{write: {{min: 1, max: 5, schedule: [{entry}]}}}}",
    )


def test_scheduled_action_sets_consistent_limits() -> None:
    assert "this changes nothing. Add min:, max: or both." in mistake(schedule('{at: "cron(1 * * * ? *)"}'))
    assert "the maximum is below the minimum. Write 9 or more." in mistake(
        schedule('{at: "cron(1 * * * ? *)", min: 9, max: 2}')
    )


def test_two_streams_of_one_name_are_a_mistake() -> None:
    stream = GOOD[GOOD.index("  - table") :]
    assert "plan.yaml:13: traffic[1]: two streams are called 'Orders traffic'" in mistake(GOOD + stream)


def test_mistake_has_the_path_of_the_value() -> None:
    assert "plan.yaml:11: traffic[0].rate: -5 is below 0" in mistake(changed("rate: 5", "rate: -5"))


def test_numbers_sizes_and_durations_may_have_units_and_underscores() -> None:
    text = GOOD.replace("rate: 5", "rate: 1_000.5\n    item_size: 1.5 KB").replace("10m", "1.5h")
    plan = load_plan(text, "plan.yaml")
    flow = plan.traffic[0]
    assert (plan.duration_s, flow.item_bytes, flow.rate.micro(0)) == (5400, 1536, 1_000_500_000)


def test_hostile_documents_are_rejected() -> None:
    """Deep nesting, tags, endless aliases: a sentence each, and soon."""
    assert "nested too deeply" in mistake("[" * 5000)
    assert "longer than 1,048,576 characters" in mistake("#" * 2_000_000)
    assert "there is no member" in mistake("!!python/object/apply:os.system {command: ls}")
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    assert "aliases" in mistake(bomb)


# --- Variants -------------------------------------------------------------------------------------

VARIANTS = """\
duration: 10m
tables:
  Orders: {read: 10, write: 10, sort_key: true, indexes: {a: {read: 5}, b: {}}}
traffic:
  - {name: writes, operation: PutItem, rate: 5, keys: {date: day}}
  - {name: reads, operation: GetItem, rate: 5, keys: single}
budgets: {lost_percent: 1}
variants:
  as it is:
  changed:
    tables: {Orders: {write: 99, indexes: {b: null}}}
    traffic:
      - {name: writes, keys: {uniform: 9}}
      - {name: more, operation: GetItem, rate: 1, keys: {uniform: 3}}
    budgets: {partitions: 3}
"""


def test_variant_changes_named_members_and_keeps_the_others() -> None:
    same, changed = load_plans(VARIANTS, "plan.yaml")
    assert (same.variant, changed.variant) == ("as it is", "changed")
    assert [index.name for index in same.tables[0].indexes] == ["a", "b"]
    table = changed.tables[0]
    assert (table.rates.read_units, table.rates.write_units, table.sort_key) == (10, 99, True)
    assert [index.name for index in table.indexes] == ["a"]
    flows = {flow.name: (flow.operation, flow.keys.words) for flow in changed.traffic}
    assert list(flows) == ["writes", "reads", "more"]
    assert flows["writes"] == ("PutItem", "9 keys, all equally often")
    assert list(changed.budgets) == ["lost_percent", "partitions"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("write: 99", "wirte: 99", "plan.yaml:11: tables.Orders.wirte: there is no member 'wirte' here. Did"),
        ("{uniform: 9}", "{uniform: 0}", "plan.yaml:13: traffic[0].keys.uniform: 0 is below 1."),
        (
            "  as it is:",
            "  as it is: 5",
            "plan.yaml:9: variants.as it is: here should be members of the plan.",
        ),
        ("    budgets: {partitions: 3}", "    variants: {x: {}}", "plan.yaml:15: variants: a variant has no"),
        ("lost_percent: 1", "<<: 1", "plan.yaml:7: budgets.<<: there is no member '<<' here."),
    ],
)
def test_mistake_in_a_variant_names_its_own_line(old: str, new: str, said: str) -> None:
    assert old in VARIANTS
    with pytest.raises(PlanError) as rejected:
        load_plans(VARIANTS.replace(old, new), "plan.yaml")
    assert str(rejected.value).startswith(said)


def test_variants_are_a_mapping() -> None:
    assert "variants: here should be plans by name" in mistake(GOOD + "variants: [a]\n")
    assert "there is no member 'varients' here. Did you mean 'variants'?" in mistake(GOOD + "varients: {}\n")
