"""Drawings: a design with its access patterns, servers with places and regions; code that can be applied."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.tools.console.copies import copy_card
from faradisc.tools.console.drawing import TableReads, drawing_of, placed, proposals
from faradisc.tools.console.pages.advice import call_of
from faradisc.tools.console.sample import items, request
from faradisc.tools.console.topology import topology

SHOP = {**request(), "TableStatus": "ACTIVE"}


def test_a_design_has_an_arrow_for_each_way_to_an_entity() -> None:
    found = placed(SHOP, items())
    drawing = drawing_of(SHOP, found, {}, 40)
    entities, spaces = drawing.columns.values()
    assert [card.title for card in entities] == ["Line", "Order", "Customer", "Product"]
    assert [card.title for card in spaces] == ["Table Shop", "Index GSI1"]
    ways = {(arrow.start, arrow.end): arrow.label for arrow in drawing.arrows}
    assert ways["e:Line", "i:GSI1"] == "PRODUCT#… / LINE#…"
    assert ("e:Product", "i:") in ways
    assert ("e:Product", "i:GSI1") not in ways
    assert len(drawing.props()["arrows"]) == 7


def test_an_entity_has_no_way_through_an_index_whose_key_has_another_type() -> None:
    odd = {"PK": {"S": "A#1"}, "SK": {"S": "A"}, "GSI1PK": {"N": "1"}, "GSI1SK": {"S": "x"}}
    assert [each.index for each in placed(SHOP, [odd])] == [""]


def test_access_patterns_follow_from_traffic() -> None:
    found = placed(SHOP, items())
    assert proposals(TableReads(3, {}, {}), found, SHOP) == []
    reads = TableReads(3, {"GetItem": 5, "Query": 1200, "Scan": 2}, {"GSI1": 31.5})
    proposed = {each.text: each for each in proposals(reads, found, SHOP)}
    order = proposed["Order by GSI1PK (ORDER#…)"]
    assert (order.index, order.partition[:6], order.evidence) == (
        "GSI1",
        "ORDER#",
        "32 units of GSI1 in 3 hours",
    )
    assert proposed["Order, Customer of one CUSTOMER#…"].evidence == "1,200 queries in 3 hours"
    assert proposed["One Product by PK and SK"].sort == "PRODUCT"
    assert "Everything: a Scan, which no key serves" in proposed


def node(name: str, status: str) -> dict[str, Any]:
    return {"id": name, "address": name, "version": "1", "status": status, "age_s": 0.5, "leases": ["ttl"]}


def link(start: str, end: str, **more: Any) -> dict[str, Any]:
    return {"table": "music", "from": start, "to": end, "cut": False, "waiting": 0, "lag_ms": 0, **more}


def test_servers_places_and_regions_are_one_drawing() -> None:
    places = {
        "places": [
            {
                "place": 0,
                "address": "a/db",
                "status": "up",
                "reason": "",
                "tables": 1,
                "bytes": 9,
                "load": 1.5,
            },
            {
                "place": 1,
                "address": "b/db",
                "status": "down",
                "reason": "no",
                "tables": 0,
                "bytes": 0,
                "load": 0,
            },
        ],
        "tables": [{"table": "music", "places": [0], "moving": {"to": [1], "done": 0.4}}],
    }
    links = [link("us", "eu", cut=True, waiting=3), link("eu", "us", lag_ms=20_000)]
    drawing = topology([node("one", "alive"), node("two", "dead")], places, links, "http://x", "us")
    regions, servers, stores = drawing.columns.values()
    assert [card.title for card in regions] == ["us", "eu"]
    assert regions[1].lines[0] == ("waiting", "3 changes")
    assert [card.style for card in servers] == ["ok", "bad"]
    assert [(card.title, card.style, card.note) for card in stores] == [
        ("0: a/db (home)", "ok", "music"),
        ("1: b/db", "bad", "no"),
    ]
    ways = {(arrow.start, arrow.end): (arrow.label, arrow.style) for arrow in drawing.arrows}
    assert ways["r:us", "r:eu"] == ("", "bad")
    assert ways["r:eu", "r:us"] == ("", "late")
    assert ways["p:0", "p:1"] == ("music 40%", "late")
    assert ("n:two", "p:0") not in ways


def test_one_server_alone_is_a_drawing_too() -> None:
    drawing = topology([], {}, [], "http://localhost:8000", "us-east-1")
    assert [len(cards) for cards in drawing.columns.values()] == [1, 1, 1]
    assert [(arrow.start, arrow.end) for arrow in drawing.arrows] == [("r:us-east-1", "n:"), ("n:", "p:")]


def test_a_copy_is_a_store_with_how_far_it_is() -> None:
    copy = {"role": "primary", "place": "s3://b/p", "lag_s": 0.25, "number": 7, "time_ns": 0, "fault": ""}
    drawing = topology([], {}, [], "http://localhost:8000", "us-east-1", copy=copy)
    own, copied = drawing.columns["Stores"]
    assert (copied.title, copied.style, copied.lines[0]) == ("Copy at s3://b/p", "ok", ("behind", "0.2 s"))
    assert copied.lines[2] == ("last segment", "none since the start")
    assert (drawing.arrows[-1].start, drawing.arrows[-1].end) == (own.id, copied.id)
    assert copy_card({**copy, "lag_s": 11}).style == "late"
    standby = copy_card(
        {**copy, "role": "standby", "late_s": 1, "fault": "It is away.", "time_ns": 1_700_000_000 * 10**9}
    )
    assert (standby.title, standby.style, standby.note) == ("Follows s3://b/p", "bad", "It is away.")
    assert standby.lines[2] == ("last segment", "2023-11-14 22:13:20Z")


@pytest.mark.parametrize(
    ("code", "operation"),
    [
        ('client.update_table(TableName="t", BillingMode="PAY_PER_REQUEST")', "UpdateTable"),
        ('# why\nclient.update_time_to_live(TableName="t", X={"Enabled": True})', "UpdateTimeToLive"),
        ('client.delete_table(TableName="t")', None),
        ("client.update_table(TableName=name)", None),
        ('client.update_table(TableName="t")\nclient.update_table(TableName="u")', None),
        ('table.update_table(TableName="t")', None),
        ("x = 1", None),
    ],
)
def test_code_is_applied_when_it_is_one_call_with_literals(code: str, operation: str | None) -> None:
    call = call_of(code)
    assert (call[0] if call else None) == operation
    if call:
        assert call[1]["TableName"] == "t"
