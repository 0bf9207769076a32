"""The live pages of a resource under load, with data of the capacity core."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from faradisc.capacity.config import SECOND_NS, profile
from faradisc.capacity.inspect import describe
from faradisc.capacity.resource import Resource
from faradisc.console import error_page, index_page, table_page
from faradisc.engine.metrics.heat_history import HeatHistory
from unit.capacity.worlds import START, load, place, table

HOSTILE = "<script>alert('x')</script>\x00"


def described(resource: Resource, at_s: float, **changes: Any) -> dict[str, Any]:
    """Returns the admin API's description of a table (services/administration/throughput.py)."""
    now = START + int(at_s * SECOND_NS)
    return {
        "table": "Orders",
        "now_ns": now,
        "profile": "aws:30/10",
        "enforced": True,
        "resources": {"": describe(resource, now)},
        "insights": {},
        **changes,
    }


def small() -> Resource:
    """Four partitions of 30 reads and 10 writes a second."""
    resource = table(config=profile("aws").with_partition_caps(30, 10), read_units=60, write_units=20)
    resource.set_partitions(4, START)
    return resource


def parsed(page: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(page.decode().removeprefix("<!DOCTYPE html>\n"))


def words(found: ElementTree.Element | None) -> str:
    assert found is not None
    return " ".join("".join(found.itertext()).split())


def rows(page: ElementTree.Element, caption: str) -> list[list[str]]:
    found = next(each for each in page.iter("table") if words(each.find("caption")) == caption)
    return [[words(each) for each in row] for row in found.iterfind("tbody/tr")]


def heat_rows(page: ElementTree.Element) -> list[list[int | None]]:
    written = next(each.get("data-cells") for each in page.iter("div") if each.get("data-cells"))
    assert written is not None
    return [
        [None if row[i] == "-" else int(row[i : i + 2], 36) for i in range(0, len(row), 2)]
        for row in written.split(" ")
    ]


# --- One table ------------------------------------------------------------------------------------


def test_a_table_under_load() -> None:
    """One key is written at three times a partition's limit: throttles, heat, a logged split."""
    resource, history = small(), HeatHistory()
    for step in range(0, 60, 2):
        load(resource, [(place("hot"), 30)], 2, start_s=step)
        table_page(described(resource, step + 2), history)
    page = parsed(table_page(described(resource, 60), history))
    assert [words(heading) for heading in page.iter("h2")] == ["Table Orders"]
    reads, writes = rows(page, "Rates and burst balances")
    assert reads[:3] == ["reads", "0", "60"]
    assert writes[2:5] == ["20", "6,000", "6,000"]
    refused = sum(part.writes.throttled_total for part in resource.partitions.partitions)
    assert int(writes[-1].replace(",", "")) == refused > 0
    listed = rows(page, "Partitions")
    assert len(listed) == len(resource.partitions) == 4
    assert [row[1] for row in listed][::3] == ["0.000 to 25.000", "75.000 to 100.000"]
    found = heat_rows(page)
    assert len(found) == 4
    hot = [row for row in found if any(each is not None and each > 647 for each in row)]
    assert len(hot) == 1


def test_splits_are_listed_newest_first() -> None:
    resource = small()
    load(resource, [(place("hot"), 30), (place("warm"), 1)], 900)
    log = rows(
        parsed(table_page(described(resource, 900), HeatHistory())), "Splits, and why others were rejected"
    )
    assert [row[1] for row in log] == [
        {"SplitStarted": "split begins", "Split": "split", "SplitRefused": "not split"}[event["event"]]
        for event in reversed(resource.splitting.log)
    ]
    assert "split" in [row[1] for row in log]


def test_keys_that_make_a_partition_hot_and_contributor_insights() -> None:
    shown = described(small(), 1)
    part = shown["resources"][""]["partitions"][1]
    part["hot_keys"] = [{"direction": "write", "key": HOSTILE, "sort_key": None, "percent": 93.1}]
    shown["insights"] = {"": {"PKC": [{"key": ["a", "b"], "score": 180_000.0}], "PKT": []}}
    page = parsed(table_page(shown, HeatHistory()))
    [row] = rows(page, "Keys that make partitions hot")
    assert row[3:] == ["write", "93.1 %"]
    assert "<script>alert('x')</script>" in row[0]
    assert len(list(page.iter("script"))) == 1
    assert rows(page, "Contributor Insights: partition keys, by units") == [["a, b", "180,000"]]


def test_an_on_demand_table_has_no_burst_balance() -> None:
    resource = table(on_demand=True)
    page = parsed(table_page(described(resource, 1, enforced=False), HeatHistory()))
    assert rows(page, "Rates and burst balances")[0] == ["reads", "0", "12,000", "", "", "", "0"]
    assert "metered only: nothing is throttled" in words(page.find(".//dl"))


def test_indexes_have_sections_of_their_own() -> None:
    shown = described(small(), 1)
    shown["resources"]["by-status"] = describe(small(), shown["now_ns"])
    headings = [words(each) for each in parsed(table_page(shown, HeatHistory())).iter("h2")]
    assert headings == ["Table Orders", "Index by-status"]


def test_busiest_of_very_many_partitions_are_listed() -> None:
    resource = table(read_units=3000 * 500, write_units=1)
    page = parsed(table_page(described(resource, 1), HeatHistory()))
    listed = rows(page, "The busiest partitions")
    assert len(listed) == 65
    assert "more rows left out" in listed[-1][0].replace("\u00a0", " ")
    assert not any(each.get("data-cells") for each in page.iter("div"))


# --- The list, mistakes --------------------------------------------------------------------

LISTED = {
    "status": "ACTIVE",
    "mode": "PROVISIONED",
    "enforced": True,
    "partitions": 4,
    "indexes": {"by-day": 1},
}


def test_list_links_to_the_tables() -> None:
    page = parsed(index_page([{"table": "Orders", **LISTED}, {"table": "a.b-c_d", **LISTED}]))
    links = [each.get("href") for each in page.iter("a")]
    assert links == ["tables/Orders", "tables/a.b-c_d"]
    assert rows(page, "Tables")[0] == ["Orders", "active", "provisioned", "enforced", "4", "by-day (1)"]


def test_links_keep_the_query() -> None:
    [link] = parsed(index_page([{"table": "Orders", **LISTED}], "region=a&b=1")).iter("a")
    assert link.get("href") == "tables/Orders?region=a&b=1"
    back = next(parsed(table_page(described(small(), 1), HeatHistory(), "region=a")).iter("a"))
    assert back.get("href") == "../?region=a"


def test_a_database_without_tables() -> None:
    assert "There are no tables yet." in words(parsed(index_page([])).find(".//main"))


def test_error_page_has_one_sentence() -> None:
    page = parsed(error_page(f"There is no table {HOSTILE}."))
    assert len(list(page.iter("script"))) == 1
    assert "alert('x')" in words(page.find(".//p"))
