"""The report of a plan: what stands where, how large it is, and that no name breaks out of it."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from faradisc.tools.planner.report import PAGE_BYTES_MAX, render
from faradisc.tools.planner.report.detail import COLUMNS_MAX
from faradisc.tools.planner.results.headline import main_cause
from faradisc.tools.planner.results.outcome import (
    AlarmState,
    EventRow,
    PlanOutcome,
    ScalingEvent,
    Skipped,
    ThrottleSummary,
)
from unit.report.made_outcomes import (
    KEY_RANGE,
    empty,
    hot_key,
    outcome,
    partition,
    quiet_resource,
    resource,
    scaling,
    series,
    split_map,
    totals,
)


def parsed(*outcomes: PlanOutcome) -> ElementTree.Element:
    return ElementTree.fromstring(render(outcomes).removeprefix("<!DOCTYPE html>\n"))


def words(found: ElementTree.Element | None) -> str:
    assert found is not None
    return " ".join("".join(found.itertext()).split())


def titles(page: ElementTree.Element) -> list[str]:
    return [words(title) for title in page.iterfind(".//figcaption/b")]


def captions(page: ElementTree.Element) -> list[str]:
    return [words(caption) for caption in page.iterfind(".//caption")]


def table(page: ElementTree.Element, caption: str) -> list[list[str]]:
    """The body of the first table with this caption."""
    found = next(each for each in page.iter("table") if words(each.find("caption")) == caption)
    return [[words(cell) for cell in row] for row in found.iterfind("tbody/tr")]


def plot(page: ElementTree.Element, title: str) -> ElementTree.Element:
    """The element with the data of the first figure of this title."""
    figure = next(each for each in page.iter("figure") if words(each.find("figcaption/b")) == title)
    found = figure.find("div")
    assert found is not None
    return found


# --- Structure ------------------------------------------------------------------------------------


def test_report_has_its_parts_in_order() -> None:
    page = parsed(outcome())
    assert [words(heading) for heading in page.iter("h2")] == ["Table Orders", "Index by-status of Orders"]
    assert titles(page) == [
        "Writes: consumed against provisioned",
        "Reads: consumed against provisioned",
        "Throttled requests by cause",
        "Partition heat",
        "Writes: burst capacity",
        "Reads: burst capacity",
        "Writes: auto scaling",
        "Writes: consumed against provisioned",
        "Partition heat",
        "Writes: burst capacity",
    ]
    assert captions(page)[:5] == [
        "Budgets",
        "What if: the same plan with one change",
        "Traffic",
        "A month in each mode",
        "The same by table and index",
    ]
    for caption in ("Writes: steps of auto scaling", "Hot partition keys", "Partitions"):
        assert caption in captions(page)
    assert "profile aws" in words(page.find(".//main")).replace("profileaws", "profile aws")


def test_every_figure_has_an_alternative_text() -> None:
    for svg in parsed(outcome()).iter("svg"):
        if svg.get("aria-hidden") != "true":
            assert svg.get("role") == "img"
            assert len(svg.get("aria-label") or "") > 40


def test_the_plots_of_a_resource_share_one_axis() -> None:
    section = next(each for each in parsed(outcome()).iter("div") if each.get("class") == "together")
    plots = [each for each in section.iter("div") if each.get("class") == "plot"]
    assert len(plots) == 7
    assert (
        len({(each.get("data-span"), each.get("data-left"), each.get("data-inner")) for each in plots}) == 1
    )


@pytest.mark.parametrize("holds", [True, False])
def test_headline_says_whether_the_plan_holds_and_what_would_make_it_hold(holds: bool) -> None:
    made = outcome()
    made = replace(
        made, headline=replace(made.headline, holds=holds, change="" if holds else made.headline.change)
    )
    page = parsed(made)
    verdict = next(each for each in page.iter("p") if (each.get("class") or "").startswith("verdict"))
    assert words(verdict).startswith(
        "Holds. 3.29 %" if holds else "Fails. 3.29 % of the attempts were throttled"
    )
    assert (verdict.get("class") or "").endswith("holds" if holds else "fails")
    changes = [words(each) for each in page.iter("p") if each.get("class") == "change"]
    assert changes == ([] if holds else [made.headline.change])


def test_broken_budgets_are_marked() -> None:
    assert [row[1] for row in table(parsed(outcome()), "Budgets")] == ["broken", "holds"]


def test_what_if_lists_the_changes_that_were_tried() -> None:
    rows = table(parsed(outcome()), "What if: the same plan with one change")
    assert [row[1] for row in rows] == ["fails", "holds"]
    assert rows[1][0] == "divide the key '2014-07-09' of Orders by 4 suffixes"


def test_main_cause_is_the_key_that_was_throttled_most() -> None:
    made = outcome()
    expected = "The key '2014-07-09' of Orders alone needs 4 partitions."
    assert main_cause(made.hot_keys, made.resources) == expected


def test_main_cause_without_such_a_key_is_the_limit_that_throttled_most() -> None:
    found = main_cause((), outcome().resources)
    assert found == "Most was throttled at table Orders: writes, by the limit of single partitions."
    assert main_cause((), (quiet_resource("Orders", 240),)) == ""


def test_table_names_the_index_that_throttled_its_writes() -> None:
    index = resource("Orders/index/by-status", 10)
    calm = quiet_resource("Orders", 10)
    page = parsed(outcome(samples=10, resources=(calm, index), scaling=(), hot_keys=(), events=()))
    found = [words(each) for each in page.iter("p") if "throttled" in words(each)][-1]
    throttled = sum(index.throttle_summary.events.values())
    assert found == f"The index by-status throttled {throttled:,} writes of this table; see there for why."


def test_report_without_budgets_has_no_budget_table() -> None:
    page = parsed(outcome(budgets=()))
    assert "Budgets" not in captions(page)
    assert "olds." not in words(page.find(".//p"))


def test_every_mode_has_its_price_and_the_cheapest_is_marked() -> None:
    rows = table(parsed(outcome()), "A month in each mode")
    assert [row[5] for row in rows[::2]] == ["$2,611", "$1,904", "$1,634", "$1,211", "$1,290"]
    assert [row[0].endswith("cheapest") for row in rows[::2]] == [False, False, False, True, False]


def test_hot_keys_have_verdict_and_arithmetic_and_fitting_keys_are_left_out() -> None:
    rows = table(parsed(outcome()), "Hot partition keys")
    assert rows[0][0] == "2014-07-09"
    assert [row[-1] for row in rows[::2]] == ["shard 4 ways", "near the limit"]
    assert rows[1] == ["", "busiest second 3,600 WCU/s over 1,000 per partition is 3.6: shard 4 ways"]


def test_numbers_stand_on_the_right() -> None:
    page = parsed(outcome())
    for found in page.iter("table"):
        for row in found.iterfind("tbody/tr"):
            for cell in row:
                if re.fullmatch(r"[\u2212$<> ]*[0-9][,.0-9]*( %)?", words(cell)):
                    assert cell.get("class") == "n"


def test_storage_of_partitions_is_shown_in_proportion_to_their_writes() -> None:
    # 2 GiB at 1,000 units a second are 2.048 MiB for each.
    assert {row[-2:] for row in map(tuple, table(parsed(outcome()), "Partitions"))} == {("2 GiB", "2.05 MiB")}


def test_repeated_rejection_of_a_split_is_one_row() -> None:
    again = [
        EventRow(600 * i, "Orders", "split-rejected", "p-1", "heat", "k", None, "one key") for i in range(5)
    ]
    other = EventRow(900, "Orders", "split", "p-1", "heat", None, 3, "p1 became p2, p3")
    rows = table(
        parsed(outcome(events=(*again[:2], other, *again[2:]))), "Splits, and why others were not made"
    )
    assert [row[1] for row in rows] == ["not split", "split"]
    assert rows[0][-1] == "one key (5 times, the last at 0:40:00)"


# --- Auto scaling ---------------------------------------------------------------------------------


def scaled(*events: ScalingEvent) -> ElementTree.Element:
    """The section of a table whose capacity was 1,000 for ten minutes, under these events."""
    ok: tuple[AlarmState, ...] = ("OK",) * 10
    target = replace(scaling(10), provisioned=(1000,) * 10, high_alarm=ok, low_alarm=ok, events=events)
    return parsed(outcome(samples=10, scaling=(target,)))


def strip(page: ElementTree.Element, style: str) -> str:
    figure = next(f for f in page.iter("figure") if words(f.find("figcaption/b")) == "Writes: auto scaling")
    *_, found = [path.get("d") or "" for path in figure.iter("path") if path.get("class") == style]
    return found


def test_alarm_that_ended_within_its_minute_is_shown() -> None:
    page = scaled(
        ScalingEvent(180, "alarm", "high alarm: OK to ALARM", 1000),
        ScalingEvent(180, "decision", "more is wanted", 1000, 1500),
        ScalingEvent(300, "decision", "the minimum was raised", 1500, 1600),
    )
    # One minute of ten, the fourth; a decision without an alarm raises none.
    inner, left = 900 - 64 - 130, 64
    begin, end = left + inner * 3 / 10, left + inner * 4 / 10
    assert strip(page, "no") == f"M64 160V160H{begin:.1f}V152H{end:.1f}V160H770V160z"


def test_changes_point_up_or_down() -> None:
    page = scaled(
        ScalingEvent(60, "decision", "more", 1000, 1500),
        ScalingEvent(90, "update", "up", 1500, 1500),
        ScalingEvent(200, "update", "down", 1200, 1200),
    )
    flags = [path.get("class") for path in page.iter("path") if "flag" in (path.get("class") or "")]
    assert flags == ["flag up", "flag down"]


def test_many_steps_are_folded_away_without_the_alarms() -> None:
    many = [ScalingEvent(30 * i, "alarm" if i % 2 else "update", "x", 1, i) for i in range(40)]
    page = scaled(*many)
    folded = next(each for each in page.iter("details") if "every step" in words(each.find("summary")))
    assert len(folded.findall(".//tbody/tr")) == 20


# --- The heat map ---------------------------------------------------------------------------------


def cells(page: ElementTree.Element) -> list[list[int | None]]:
    rows = (plot(page, "Partition heat").get("data-cells") or "").split(" ")
    return [
        [None if row[i] == "-" else int(row[i : i + 2], 36) for i in range(0, len(row), 2)] for row in rows
    ]


def test_the_heat_map_has_a_row_for_each_partition_and_a_column_for_each_minute() -> None:
    found = cells(parsed(outcome(samples=240)))
    assert [len(row) for row in found] == [240] * 6
    # Three rows come of the hot partition: the same until the split at 120, each its own afterwards.
    assert found[2][:120] == found[3][:120] == found[4][:120]
    assert found[2][120:] != found[3][120:]
    throttling = [sum(1 for cell in row if cell is not None and cell > 647) for row in found]
    assert throttling == [0, 0, 79, 79, 79, 0]


def test_a_partition_is_coloured_by_the_direction_nearer_to_its_limit() -> None:
    part = partition("p0", 3, read=(1500, 0, 3000), write=(100, 900, 0), gib=(1, 1, 1))
    page = parsed(outcome(samples=3, resources=(resource(samples=3, partitions=(part,)),)))
    assert cells(page) == [[50, 90, 100]]


def test_a_limit_that_changes_is_the_limit_of_its_minute() -> None:
    part = partition("p0", 2, write=(100, 100), write_limit=(1000, 200))
    assert cells(parsed(outcome(samples=2, resources=(resource(samples=2, partitions=(part,)),)))) == [
        [10, 50]
    ]


def test_a_long_run_keeps_its_hottest_minute() -> None:
    writes = tuple(1000 if i == 5_003 else 1 for i in range(7_200))
    part = partition("p0", 7_200, write=writes)
    page = parsed(outcome(samples=7_200, resources=(resource(samples=7_200, partitions=(part,)),)))
    [row] = cells(page)
    assert len(row) == COLUMNS_MAX
    assert [column for column, cell in enumerate(row) if cell == 100] == [5_003 * COLUMNS_MAX // 7_200]


# --- Hostile, empty and large runs ----------------------------------------------------------------

HOSTILE = "</title><script>alert(1)</script>'\"&amp;\x00\u202e;,=\ud800"


def test_a_description_is_a_paragraph_and_ends_with_a_word() -> None:
    """The paragraphs of the six scenarios used to be cut at 300 characters, in the middle of a word."""
    words = " ".join(f"word{number}" for number in range(80))
    assert len(words) > 500
    assert f">{words}<" in render([replace(outcome(), description=words)])
    cut = re.search(r">(word0 [^<]*)<", render([replace(outcome(), description=f"{words} " * 9)]))
    assert cut is not None
    kept, mark = cut[1].rsplit(" ", 1)
    assert mark == "\u2026" and (f"{words} " * 9).startswith(f"{kept} ")


def test_hostile_names_do_not_become_markup() -> None:
    one = resource(f"{HOSTILE}/index/{HOSTILE}", 10)
    event = EventRow(0, one.name, "split", HOSTILE, HOSTILE, HOSTILE, 2, HOSTILE)
    named = replace(hot_key(HOSTILE), resource=one.name, words=HOSTILE)
    made = outcome(
        HOSTILE,
        samples=10,
        description=HOSTILE,
        file=HOSTILE,
        resources=(one,),
        hot_keys=(named,),
        events=(event,),
        verdict=(HOSTILE,),
        assumptions=(HOSTILE,),
        flows=(totals(HOSTILE), totals(HOSTILE)),
        skipped=Skipped(3, 5, (HOSTILE,)),
    )
    text = render([made, made])
    assert text.count("<script>") == 1
    assert "alert(1)</" not in text
    page = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert len(list(page.iter("script"))) == 1
    assert "<script>alert(1)</script>" in words(page.find(".//h1"))


def test_run_without_traffic_is_a_page_without_charts() -> None:
    page = parsed(empty())
    assert words(page.find(".//p")).startswith("Holds. There were no requests.")
    assert titles(page) == []


def test_table_without_traffic_has_no_charts_of_it() -> None:
    made = outcome(
        samples=5,
        resources=(
            resource(samples=5, read=series(5), write=series(5), partitions=(), partition_count=(0,) * 5),
        ),
        scaling=(),
        hot_keys=(),
        events=(),
    )
    page = parsed(made)
    assert "No writes and no reads." in words(page.find(".//main"))


def test_one_sample() -> None:
    page = parsed(outcome(samples=1))
    assert (
        plot(page, "Writes: consumed against provisioned")
        .get("data-read", "")
        .startswith("units/s;served=640;")
    )
    assert len(cells(page)[0]) == 1


def test_run_in_which_everything_was_throttled() -> None:
    throttled = replace(series(4, throttled={KEY_RANGE: (7, 9, 9, 9)}), offered=(10, 10, 10, 10))
    one = resource(
        samples=4,
        write=throttled,
        read=series(4),
        partitions=(partition("p0", 4, heat=0, throttled=(7, 9, 9, 9)),),
        throttle_summary=ThrottleSummary({f"W {KEY_RANGE}": 34}, 0, 60, 1, 240),
    )
    page = parsed(outcome(samples=4, resources=(one,)))
    assert plot(page, "Throttled requests by cause").get("data-read") == "per minute;hot partition=7,9,9,9"
    assert cells(page) == [[648, 648, 648, 648]]


def test_column_of_throttling_is_the_worst_minute_of_its_bucket() -> None:
    ours = tuple(5 if i == 7 else 0 for i in range(960))
    one = resource(samples=960, write=series(960, busy=5, throttled={KEY_RANGE: ours}))
    page = parsed(outcome(samples=960, resources=(one,)))
    values = (plot(page, "Throttled requests by cause").get("data-read") or "").split("=")[1].split(",")
    assert len(values) == COLUMNS_MAX
    assert [at for at, value in enumerate(values) if value != "0"] == [3]


def test_equal_outcomes_give_equal_bytes() -> None:
    assert render([outcome(), outcome("b")], version="1") == render([outcome(), outcome("b")], version="1")


def test_huge_runs_stay_small() -> None:
    """Six tables of 100 uneven partitions, thousands of keys and events with long names."""
    samples = 360
    parts = tuple(
        partition(
            f"p{i}",
            samples,
            low=i / 100,
            high=(i + 1) / 100,
            write=tuple((i * j * 37) % 1001 for j in range(samples)),
            throttled=tuple(int((i * j) % 7 == 1) for j in range(samples)),
        )
        for i in range(100)
    )
    tables = tuple(resource(f"T{i}", samples, partitions=parts) for i in range(6))
    keys = tuple(replace(hot_key("k" * 2048), resource=f"T{i % 6}") for i in range(5000))
    events = tuple(
        EventRow(i, f"T{i % 6}", "split", "x" * 999, "heat", "y" * 999, i, "z" * 999) for i in range(5000)
    )
    text = render(
        [
            outcome(
                samples=samples,
                resources=tables,
                hot_keys=keys,
                events=events,
                assumptions=("a" * 9999,) * 999,
            )
        ]
    )
    assert len(text.encode()) <= PAGE_BYTES_MAX
    page = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert titles(page).count("Partition heat") == 6
    assert "more rows left out" in words(page.find(".//main"))


# --- Several plans --------------------------------------------------------------------------------


def test_several_plans_are_shown_side_by_side() -> None:
    page = parsed(outcome("plain"), outcome("cached", totals=totals(cached=400_000)))
    assert "Side by side" in [words(heading) for heading in page.iter("h2")]
    rows = {row[0]: row[1:] for row in table(page, "In numbers")}
    assert rows["answered by a cache"] == ["0", "400,000"]
    assert rows["a month as planned"] == ["$1,290", "$1,290"]
    assert titles(page)[:4] == [
        "plain: busiest partition",
        "plain: throttled",
        "cached: busiest partition",
        "cached: throttled",
    ]
    links = {each.get("href", "").removeprefix("#") for each in page.iter("a")}
    assert links <= {each.get("id") for each in page.iter("h2")}
    assert len(links) == 6


def test_throttling_of_all_plans_is_on_one_scale() -> None:
    calm = outcome("calm", resources=(quiet_resource("Orders", 240),), scaling=(), hot_keys=(), events=())
    page = parsed(outcome("rough"), calm)
    scales = [
        [text.text for text in figure.iter("text") if text.get("class") == "tv"]
        for figure in page.iter("figure")
        if words(figure.find("figcaption/b")).endswith(": throttled")
    ]
    assert len(scales) == 2
    assert scales[0] == scales[1]


def test_builder_makes_one_split_into_three() -> None:
    """Guards the tests above: the made outcome has one split into three."""
    assert [part.parent for part in split_map(240)].count("p2") == 3
