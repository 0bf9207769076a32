"""Files of rates: every line counted or skipped with a reason, the same traffic by both engines.

What it proves: a file of rates asks for exactly the units it says, of the tables it says, at the keys
the plan says. Why against a plan of the same rates: that has been held against the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from textwrap import dedent

import pytest

from faradisc.tools.planner.plan_file.loading import load_plan
from faradisc.tools.planner.plan_file.plan_of_rates import plan_of_rates, with_rates
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces import rate_file
from faradisc.tools.traces.errors import PlanError
from faradisc.tools.traces.rate_file import HEADING, RateTrace, begins_rates, read_rates
from unit.planner.planned import ENGINES, outcome_of, resource

PLAN = """\
tables:
  T:
    mode: provisioned
    read: 400
    write: 60
    partitions: 1
    indexes: {by-owner: {read: 10, write: 100, projection: keys_only, keys: {weighted: {o1: 3, o2: 1}}}}
classes:
  shop: {keys: {weighted: {hot: 9, cold: 1}}, retries: standard}
"""


def rates(*lines: str) -> RateTrace:
    return read_rates("rates.csv", [HEADING.encode(), *(line.encode() for line in lines)])


def minute(*kinds: str, seconds: int = 600) -> RateTrace:
    """The same requests in each second of ten minutes."""
    return rates(*(f"{second},{kind}" for second in range(seconds) for kind in kinds))


def outcome(trace: RateTrace, engine: str | None = None, plan: str = PLAN) -> PlanOutcome:
    wanted = with_rates(load_plan(plan, "plan.yaml", traced=True), trace)
    return run(wanted, engine=engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_units_of_the_file_are_asked_for(engine: str) -> None:
    found = outcome(
        minute("T,shop,PutItem,1.5,20", "T,shop,GetItem,2.5,40", "T/index/by-owner,x,Query,3,2"), engine
    )
    table, index = resource(found, "T"), resource(found, "T/index/by-owner")
    assert table.write.offered[-1] == pytest.approx(30, rel=0.01)
    assert table.read.offered[-1] == pytest.approx(100, rel=0.01)
    assert index.read.offered[-1] == pytest.approx(6, rel=0.01)
    assert index.write.offered[-1] == pytest.approx(20, rel=0.01)
    assert found.totals.offered == 600 * 62
    shares = {(key.resource, key.direction, key.key): key.share_percent for key in found.hot_keys}
    assert shares["T", "W", "hot"] == pytest.approx(90, abs=1)
    assert shares["T/index/by-owner", "W", "o1"] == pytest.approx(75, abs=1)
    assert found.skipped is not None
    assert (found.skipped.lines, found.skipped.read) == (0, 1800)


def test_rates_are_what_a_plan_of_the_same_rates_is() -> None:
    text = """
        duration: 10m
        tables: {T: {mode: provisioned, read: 10, write: 60, partitions: 1}}
        traffic:
          - {name: s, operation: PutItem, rate: {steps: [{at: 0s, rate: 50}, {at: 5m, rate: 200}]},
             keys: {weighted: {hot: 9, cold: 1}}, retries: standard}
    """
    plain = outcome_of(text, "fluid")
    lines = [f"{second},T,shop,PutItem,1,{50 if second < 300 else 200}" for second in range(600)]
    plan = dedent(text).split("traffic:")[0].replace("duration: 10m", "") + PLAN[PLAN.index("classes") :]
    rated = outcome(rates(*lines), "fluid", plan)
    assert replace(rated.totals, name="") == replace(plain.totals, name="")
    assert rated.resources == plain.resources
    assert rated.hot_keys == plain.hot_keys


@pytest.mark.parametrize("engine", ENGINES)
def test_the_counts_of_a_file_are_exact(engine: str) -> None:
    found = outcome(rates(*(f"{second},T,shop,PutItem,1,{second % 7}" for second in range(70))), engine)
    assert found.totals.offered == 210


def test_engines_agree_on_uneven_rates() -> None:
    lines = [
        f"{second},T,shop,{op},{units},{30 + 37 * second % 80}"
        for second in range(600)
        for op, units in (("PutItem", 1 + second % 3 / 2), ("GetItem", 4))
    ]
    one, other = (outcome(rates(*lines), engine) for engine in ENGINES)
    for direction in ("write", "read"):
        offered, served = (
            [sum(getattr(getattr(resource(found, "T"), direction), series)) for found in (one, other)]
            for series in ("offered", "consumed")
        )
        assert served[0] == pytest.approx(served[1], rel=0.01), direction
        assert max(offered) > 0
    assert one.totals.throttled > 0
    assert one.totals.lost == pytest.approx(other.totals.lost, abs=one.totals.offered / 100)


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_files_give_equal_bytes(engine: str) -> None:
    kinds = ("T,shop,PutItem,1.3,90", "T,other,GetItem,0.7,40.3")
    first, second = (outcome(minute(*kinds, seconds=90), engine) for _ in range(2))
    assert first.to_json() == second.to_json()


def test_the_order_of_lines_means_nothing() -> None:
    lines = [f"{second},T,{name},PutItem,1.5,50" for second in range(60) for name in ("shop", "b", "a")]
    assert outcome(rates(*lines)) == outcome(rates(*lines[::-1]))


def test_lines_add_up_in_any_order() -> None:
    trace = rates(
        "5,T,a,GetItem,1,2", "0,T,a,GetItem,1,0.25", "5,T,a,GetItem,1,3", "\t", '0,"T","a",GetItem,1,1'
    )
    (rate,) = trace.rates.values()
    assert [rate.micro(second) for second in (0, 1, 5, 500)] == [1_250_000, 0, 5_000_000, 0]
    assert (rate.most, trace.duration_s, trace.lines_read) == (5_000_000, 6, 4)


def test_sizes_and_transactions() -> None:
    plan = """
        tables: {T: {mode: on-demand, sort_key: true, indexes: {i: {}}, local_indexes: {l: {}}}}
        classes:
          small: {keys: {uniform: 10}, item_size: 500 B}
          grows: {keys: {uniform: 10}, effect: add}
    """
    trace = rates(
        "0,T,small,PutItem,6,1", "0,T,big,PutItem,6,1", "0,T,doubled,TransactWriteItems,7,2",
        "0,T,grows,BatchWriteItem,3,1", "0,T,gone,DeleteItem,2,1", "0,T,read,TransactGetItems,2,1",
    )  # fmt: skip
    flows = {
        flow.name: flow
        for flow in with_rates(load_plan(dedent(plan), "plan.yaml", traced=True), trace).traffic
    }
    assert {
        name: (flow.operation, flow.half_units, flow.item_bytes, flow.effect, flow.transaction)
        for name, flow in flows.items()
    } == {
        "T, small: PutItem, 6 WCU": ("PutItem", 12, 500, "replace", False),
        "T, big: PutItem, 6 WCU": ("PutItem", 12, 6144, "replace", False),
        "T, doubled: TransactWriteItems, 6 WCU": ("PutItem", 12, 3072, "replace", True),
        "T, doubled: TransactWriteItems, 8 WCU": ("PutItem", 16, 4096, "replace", True),
        "T, grows: BatchWriteItem, 3 WCU": ("PutItem", 6, 3072, "add", False),
        "T, gone: DeleteItem, 2 WCU": ("DeleteItem", 4, 2048, "remove", False),
        "T, read: TransactGetItems, 2 RCU": ("GetItem", 4, 1024, "none", True),
    }
    assert all(flow.keys.shape(0, 0, 1).sort == "spread" for flow in flows.values())
    found = outcome(trace, "events", dedent(plan))
    # Local indexes are in what the file says; the global one is charged for items of their sizes.
    assert sum(resource(found, "T").write.consumed) == 6 + 6 + (6 + 8) + 3 + 2
    assert resource(found, "T/index/i").write.consumed[0] == 1 + 6 + (3 + 4) + 3 + 2


BAD = [
    ("-1,T,a,GetItem,1,1", "'second' should be whole seconds"),
    ("1.5,T,a,GetItem,1,1", "'second' should be whole seconds"),
    ("31622400,T,a,GetItem,1,1", "'second' should be whole seconds since the beginning, below 366 days"),
    ("0,,a,GetItem,1,1", "'table' should be a table's name, or TABLE/index/INDEX"),
    ("0,T/index/,a,Query,1,1", "'table' should be"),
    ("0,T,,GetItem,1,1", "'class' should have 1 to 255 characters"),
    ("0,T,a,GetItems,1,1", "'GetItems' is not known. Did you mean 'GetItem'?"),
    ("0,T/index/i,a,GetItem,1,1", "GetItem is not for an index"),
    ("0,T,a,PutItem,0.9,1", "PutItem costs 1 to 400,000 units, not 0.9"),
    ("0,T,a,GetItem,0,1", "GetItem costs 0.5 to 400,000 units, not 0"),
    ("0,T,a,TransactWriteItems,1,1", "TransactWriteItems costs 2 to"),
    ("0,T,a,GetItem,400001,1", "not 400001"),
    ("0,T,a,GetItem,nan,1", "'units_per_op' should be a number, not 'nan'"),
    ("0,T,a,GetItem,1,1e9", "'ops' should be a number, not '1e9'"),
    ("0,T,a,GetItem,1,10000001", "'ops' is at most 10,000,000"),
    ("0,T,a,GetItem,1", "5 fields, where 6 should be: second,table"),
    ('0,"T,a,GetItem,1,1', "not CSV: unexpected end of data"),
]


@pytest.mark.parametrize(("line", "said"), BAD, ids=[line for line, _ in BAD])
def test_a_bad_line_is_skipped_with_its_reason(line: str, said: str) -> None:
    trace = rates("0,T,a,GetItem,1,1", line)
    assert (trace.skipped, trace.lines_read, len(trace.rates)) == (1, 1, 1)
    assert trace.mistakes[0].startswith("rates.csv:3: ")
    assert said in trace.mistakes[0]


def test_bad_lines_are_counted_and_five_are_shown() -> None:
    found = outcome(rates("0,T,shop,PutItem,1,1", *(["?"] * 9), "0,U,a,GetItem,1,1", "1,U,a,GetItem,1,1"))
    assert found.skipped is not None
    assert (found.skipped.lines, found.skipped.read, len(found.skipped.first)) == (11, 1, 5)
    other = outcome(rates("0,T,shop,PutItem,1,1", "0,T/index/none,a,Query,1,1")).skipped
    assert other is not None
    assert other.first == ("rates.csv:3: index 'none' of table 'T' is not in the plan (1 lines)",)


def test_bytes_that_are_no_text_are_skipped() -> None:
    trace = read_rates("f", [HEADING.encode(), b"0,T,\xff,GetItem,1,1", b"0," + b"x" * (1 << 22)])
    assert [mistake.split(": ")[1] for mistake in trace.mistakes] == [
        "not UTF-8",
        "longer than 2,097,152 bytes",
    ]


def test_too_much_of_one_kind_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = rates(*["0,T,a,GetItem,1,9000000"] * 2)
    assert trace.mistakes == ["rates.csv:3: more than 10,000,000 requests of one kind in second 0"]
    monkeypatch.setattr(rate_file, "KINDS_MAX", 2)
    assert rates("0,T,a,GetItem,1,1", "0,T,b,GetItem,1,1", "0,T,c,GetItem,1,1").skipped == 1


def refused(trace: RateTrace, plan: str = PLAN) -> str:
    with pytest.raises(PlanError) as mistake:
        outcome(trace, None, plan)
    return str(mistake.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "shop:",
            "shoop:",
            "plan.yaml:9: classes.shoop: the file of rates has no such class. Did you mean 'shop'?",
        ),
        (
            "retries: standard",
            "consistent: true",
            "plan.yaml:9: classes.shop.consistent: it means nothing to PutItem",
        ),
        (
            "retries: standard",
            "sort: spread",
            "plan.yaml:9: classes.shop.sort: table 'T' has no sort key. Add",
        ),
        (
            "shop: {keys",
            "shop: {kyes",
            "plan.yaml:9: classes.shop.kyes: there is no member 'kyes' here",
        ),
        ("{keys: {weighted: {hot: 9, cold: 1}}, retries: standard}", "{sort: one}", "'keys' is missing"),
    ],
)
def test_a_mistake_in_the_classes_names_its_line(old: str, new: str, said: str) -> None:
    assert old in PLAN
    found = refused(rates("0,T,shop,PutItem,1,1"), PLAN.replace(old, new))
    assert said in found


def test_a_global_index_is_not_read_consistently() -> None:
    plan = PLAN.replace("retries: standard", "consistent: true")
    found = refused(rates("0,T/index/by-owner,shop,Query,1,1"), plan)
    assert "classes.shop.consistent: a global index is read eventually consistent only. Leave" in found


def test_a_file_without_rates_of_the_plan_is_refused() -> None:
    assert "rates.csv: it has no rates of the plan's tables, but of 'U'" in refused(
        rates("0,U,a,GetItem,1,1")
    )
    assert "rates.csv: there are no rates in this file; 1 lines could not" in refused(rates("?"))
    assert "rates.csv: there are no rates in this file. See" in refused(rates())


def test_another_heading_is_refused() -> None:
    with pytest.raises(PlanError, match="f:1: the heading is not second,table,class,op,units_per_op,ops"):
        read_rates("f", [b"second,table,op,ops"])


@pytest.mark.parametrize("line", [HEADING.encode(), b"Second, table\r\n", b"second"])
def test_a_file_of_rates_is_known_by_its_heading(line: bytes) -> None:
    assert begins_rates(line)
    assert not begins_rates(b'{"faradisc_trace":1}')


def test_without_a_plan_tables_are_on_demand_and_keys_spread() -> None:
    found = run(plan_of_rates(rates("0,T,a,PutItem,1,3", "59,T/index/i,b,Query,1,1", "0,U,a,GetItem,1,1")))
    assert [(each.name, each.mode) for each in found.resources] == [
        ("T", "PAY_PER_REQUEST"), ("T/index/i", "PAY_PER_REQUEST"), ("U", "PAY_PER_REQUEST"),
    ]  # fmt: skip
    assert (found.duration_s, found.totals.offered) == (60, 5)
    assert "No plan describes 'T', 'U': taken to be on demand." in found.assumptions
    assert (
        "The plan does not describe class 'a', 'b': its keys are taken to be evenly spread."
        in found.assumptions
    )


def test_the_plan_may_be_shorter_than_the_file() -> None:
    def seconds(lines: Iterable[str]) -> int:
        return outcome(rates(*lines), None, f"duration: 30s\n{PLAN}").duration_s

    assert seconds(["0,T,shop,PutItem,1,1", "90,T,shop,PutItem,1,1"]) == 30
