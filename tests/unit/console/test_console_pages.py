"""What pages of the console make of answers: heat, entities, statements, errors, addresses."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from faradisc.tools import console
from faradisc.tools.advisor.definitions import Definition
from faradisc.tools.advisor.traffic import Scans, TableTraffic
from faradisc.tools.console.endpoint import Failure, Key, ServerEndpoint
from faradisc.tools.console.entities import COLOURS, colour_of, entities, entity_name
from faradisc.tools.console.failures import explained, place_in_words
from faradisc.tools.console.health import TableHealth, worst_first
from faradisc.tools.console.heat import Watch, family, heat_rows, hot_keys, key_range, partition_cells, remedy
from faradisc.tools.console.navigation import grouped, items_path, palette_entries
from faradisc.tools.console.pages.advice import leave_out_scans
from faradisc.tools.console.pages.operations import said
from faradisc.tools.console.queries import Form, Term, form_of_query, query_of_form
from faradisc.tools.console.sample import items as sample_items
from faradisc.tools.console.sample import request as sample_request
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.statements import is_write, plan
from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.run import run
from unit.console.test_console_values import TABLE

CONSOLE = Path(console.__file__).parent
HASH = "ab" * 16


def side(latest: float = 0, percent: int = 0, throttled: int = 0) -> dict[str, Any]:
    return {
        "latest": latest,
        "latest_percent": percent,
        "heat": latest / 3,
        "throttled": throttled,
        "limit": 10,
    }


def part(name: str, low: str, high: str | None, **more: Any) -> dict[str, Any]:
    plain = {"read": side(), "write": side(), "bytes": 2, "unknown_bytes": 0, "items": 1, "refused": None}
    return {"id": name, "low": low, "high": high, "state": "active", "hot_keys": [], **plain, **more}


HOT = part(
    "shard-000000002",
    HASH,
    f"{HASH[:-1]}c",
    write=side(10, 100, 2400),
    hot_keys=[{"direction": "write", "key": "global", "sort_key": "x", "percent": 92.0}],
    unknown_bytes=2048,
    items=0,
)
NOW: dict[str, Any] = {"partitions": [part("shard-000000001", "", HASH), HOT]}
PAST: dict[str, Any] = {
    "slots": 3,
    "slot_s": 10,
    "partitions": [
        {"name": "shard-000000000", "parent": None, "first": 0, "used": [100, 100], "throttled": [0, 40]},
        {"name": "shard-000000001", "parent": "shard-000000000", "first": 2, "used": [3], "throttled": [0]},
        {
            "name": "shard-000000002",
            "parent": "shard-000000000",
            "first": 2,
            "used": [100],
            "throttled": [50],
        },
    ],
}


# --- Heat -----------------------------------------------------------------------------------------


def test_keys_of_a_split_partition_are_those_of_what_came_from_it() -> None:
    assert family(PAST, "shard-000000000") == {f"shard-00000000{n}" for n in range(3)}
    (hot,) = hot_keys(NOW, family(PAST, "shard-000000000"))
    assert hot.title == "global / x"
    assert "uses 100 % of its limit and has throttled 2,400 requests" in hot.sentence
    assert hot_keys(NOW, family(PAST, "shard-000000001")) == []


def test_a_partition_of_one_key_is_labelled_by_it_and_others_by_their_hashes() -> None:
    assert key_range(HOT) == "global"
    assert key_range(NOW["partitions"][0]) == "0000–abab"
    assert key_range(part("shard-000000003", HASH, None)) == "abab–ffff"
    assert [row["label"] for row in heat_rows(PAST, NOW)] == ["", "0000–abab", "global"]


def test_an_estimate_after_a_split_is_no_number_of_items() -> None:
    cells = partition_cells(NOW)
    assert (cells[0]["items"], cells[0]["size"]) == ("not counted", "2 B to 2.0 KB")
    assert (cells[1]["items"], cells[1]["size"]) == ("1", "2 B")


def test_storage_for_each_unit_is_shown_where_the_server_says_it() -> None:
    ratio = part("shard-000000001", "", None, read={**side(), "bytes_per_unit": 2048.4}, write=side())
    assert partition_cells({"partitions": [ratio]})[0]["ratio"] == "2.0 KB / -"


def test_a_remedy_counts_what_was_throttled() -> None:
    (hot,) = hot_keys(NOW)
    assert remedy(hot, throttled=0).ways == 2
    assert remedy(hot, throttled=50).ways == 7


def test_a_remedy_is_a_plan_that_runs_and_holds_when_divided_enough() -> None:
    (hot,) = hot_keys(NOW)
    plans = load_plans(remedy(hot, throttled=20).plan("write", NOW), "fix")
    percents = [run(each).totals.throttled_percent for each in plans]
    assert len(percents) == 4
    assert percents[0] > 50
    assert percents[-1] < 5
    assert percents == sorted(percents, reverse=True)


def test_a_watched_key_is_cured_when_nothing_is_throttled_where_it_is() -> None:
    watch = Watch("global", "shard-000000000", 20.0, 0)
    cured = {
        **PAST,
        "partitions": [{**row, "throttled": [0] * len(row["used"])} for row in PAST["partitions"]],
    }
    assert "apply the change" in watch.verdict(PAST, 10**10)
    assert watch.verdict(PAST, 60 * 10**9).endswith("5.0 now. It helps.")
    assert watch.verdict(cured, 60 * 10**9).endswith("It worked.")


# --- Entities -------------------------------------------------------------------------------------


def test_an_entity_has_one_name_through_every_index() -> None:
    item = {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "ORDER#7"}, "gpk": {"S": "STATUS#OPEN"}, "gsk": {"S": "x"}}
    (by_table,) = entities([item], ["pk", "sk"])
    (by_index,) = entities([item], ["pk", "sk"], ["gpk", "gsk"])
    assert by_table.name == by_index.name == "Order"
    assert by_index.patterns == {"pk": "CUSTOMER#…", "sk": "ORDER#…", "gpk": "STATUS#…", "gsk": "…"}


def test_entities_have_different_colours_that_stay() -> None:
    known: dict[str, int] = {}
    first = [colour_of(name, known) for name in ("Order", "Line", "Customer", "Product")]
    assert len(set(first)) == 4
    assert [colour_of(name, known) for name in ("Order", "Line", "Customer", "Product")] == first
    assert all(0 <= colour_of(f"N{at}", known) < COLOURS for at in range(30))


def test_the_sample_shop_has_four_entities_and_fits_its_table() -> None:
    made = sample_items()
    assert {entity_name(item, ["PK", "SK"]) for item in made} == {"Customer", "Order", "Line", "Product"}
    assert len({(item["PK"]["S"], item["SK"]["S"]) for item in made}) == len(made)
    assert {each["AttributeName"] for each in sample_request()["AttributeDefinitions"]} >= {"PK", "SK"}
    assert made == sample_items()


# --- Statements -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "writes"),
    [
        ("SELEC * FROM t", False),
        ("SELECT * FROM t", False),
        ("insert into t value {}", True),
        ("-- a note\n/* and more */ DELETE FROM t", True),
        ("UPDATE t SET a = 1", True),
    ],
)
def test_only_statements_that_write_are_announced_as_writes(statement: str, writes: bool) -> None:
    assert is_write(statement) is writes


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("pk = 'a' AND sk = 'b'", "GetItem on t: one item."),
        ("pk = 'a'", "Query of t: one whole item collection is read."),
        ("pk = 'a' AND begins_with(\"sk\", 'x')", "Query of t: a part of one item collection is read."),
        (
            "pk = 'a' AND state = 'pk sk'",
            "The test of state comes after that: what it drops is read",
        ),
        ("state = 'x'", "Scan of t: all of it is read, because WHERE does not fix pk."),
    ],
)
def test_a_plan_says_what_is_read_before_a_filter(where: str, said: str) -> None:
    assert said in plan(f'SELECT * FROM "t" WHERE {where}', {**TABLE, "TableName": "t"})


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "title", "sentence"),
    [
        (Failure("405", "Method Not Allowed"), "There is a server, but no DynamoDB", "look at the address"),
        (
            Failure("", "SSL validation failed for https://x/ [SSL: WRONG_VERSION_NUMBER]."),
            "The endpoint speaks http",
            "try http",
        ),
        (
            Failure("", "Connection was closed before we received a valid response."),
            "The connection was closed without an answer",
            "begins with https",
        ),
        (Failure("", 'Could not connect to the endpoint URL: "http://x/".'), "Nothing answers", "Start it"),
        (
            Failure(
                "ValidationException",
                "Value 'i' at 'globalSecondaryIndexes.1.member.indexName' failed "
                "to satisfy constraint: Member must have length greater than or equal to 3",
            ),
            "Something in the request is not allowed",
            "Global secondary index 1, index name: Member must have length greater than or equal to 3.",
        ),
        (Failure("ExpiredTokenException", "old"), "The endpoint does not accept this key", "Sign in"),
        (Failure("ResourceInUseException", "Table already exists: t"), "ResourceInUseException", ""),
    ],
)
def test_errors_are_explained_and_keep_their_text(failure: Failure, title: str, sentence: str) -> None:
    said = explained(failure, "http://x")
    assert said.title == title
    assert sentence in said.sentence
    assert failure.message in said.detail


def test_places_of_a_request_are_read_as_words() -> None:
    assert place_in_words("tableName") == "Table name"
    assert place_in_words("keySchema.2.member.keyType") == "Key schema 2, key type"


# --- Addresses ------------------------------------------------------------------------------------


def test_an_address_holds_the_whole_query() -> None:
    form = Form(
        "t", "by-kind", "odd & even", Term(operator="between", text="a", second="ü"),
        [Term("n", ">", "N", "3"), Term("x", "exists")], "a, b", descending=True, limit=25,
    )  # fmt: skip
    address = urlencode(query_of_form(form))
    assert form_of_query("t", parse_qsl(address), TABLE) == form
    assert form_of_query("t", parse_qsl(items_path("t", "by-kind", "odd").partition("?")[2]), TABLE) == Form(
        "t", "by-kind", "odd"
    )


def test_an_address_that_makes_no_sense_is_an_empty_query() -> None:
    query = [("index", "gone"), ("where", "{"), ("where", '["a","~","S","",""]'), ("limit", "0"), ("op", "?")]
    assert form_of_query("t", query, TABLE) == Form("t")


def test_tables_of_one_prefix_are_a_group() -> None:
    names = ["app-a", "app-b", "app-c", "other", "x.1", "x.2"]
    assert grouped(names) == [("app", names[:3]), ("", ["other", "x.1", "x.2"])]
    assert grouped(["app-a", "app-b", "app-c"]) == [("", ["app-a", "app-b", "app-c"])]


def test_the_palette_begins_with_pages_and_actions() -> None:
    entries = {entry["name"]: entry for entry in palette_entries(["Keys"])}
    assert entries["Advice"]["target"] == "/advice"
    assert entries["Keys"]["action"] == "Keys"


def test_every_class_of_layout_has_a_rule() -> None:
    source = "".join(file.read_text() for file in CONSOLE.rglob("*.py"))
    named = " ".join(re.findall(r'classes\((?:add=)?"(.*?)"', source)).split()
    kinds = re.compile(r"(w|p|gap|min-w|max-w|items|justify|font|grow)\b")
    layout = {name for name in named if kinds.match(name)}
    style = (CONSOLE / "style.css").read_text()
    assert "w-full" in layout
    assert [name for name in layout if f".{name} {{" not in style] == []


def test_throttled_tables_come_first() -> None:
    tables = [TableHealth("busy", 0, 9, 9), TableHealth("idle"), TableHealth("hurt", 1, 0, 1)]
    assert [each.table for each in worst_first(tables)] == ["hurt", "busy"]


# --- Requests of the console itself ---------------------------------------------------------------


def test_scans_of_the_console_are_not_held_against_a_table() -> None:
    tables = {
        name: TableTraffic(Definition(name), scans={None: Scans(pages=6)}) for name in ("seen", "scanned")
    }
    leave_out_scans(tables, {"seen": 6, "scanned": 0}.__getitem__)
    assert [table.scans[None].pages for table in tables.values()] == [0, 6]


def test_the_console_counts_its_reads() -> None:
    endpoint = ServerEndpoint("http://127.0.0.1:9", "us-east-1", Key("a", "b"))
    with pytest.raises(Failure):
        asyncio.run(endpoint.call("Scan", {"TableName": "seen"}))
    assert (endpoint.reads_since("Scan", "seen", 1), endpoint.reads_since("Scan", "other", 1)) == (1, 0)


def test_sessions_with_one_key_share_an_endpoint_and_others_do_not() -> None:
    sessions = [Session("http://127.0.0.1:9", "us-east-1", Key("a", secret)) for secret in ("b", "b", "c")]
    assert sessions[0].endpoint is sessions[1].endpoint
    assert sessions[0].endpoint is not sessions[2].endpoint
    sessions[0].connect("http://127.0.0.1:9", "eu-west-1", Key("a", "b"))
    assert sessions[0].endpoint is not sessions[1].endpoint


def test_reports_are_words_and_not_literals() -> None:
    report = {"tables": 3, "is_whole": True, "errors": [], "by_kind": {"rows": 1_000}, "last": None}
    assert said(report) == "tables 3; is whole yes; errors none; by kind rows 1,000; last –"
