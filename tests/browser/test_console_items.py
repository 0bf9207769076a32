"""Work on items: cells edited in place, many items at once, all results, the tree with JSON beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import Served
from browser.test_console import create, lift_limits, open_items

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}


def cell(page: Any, column: str, row: int = 0) -> Any:
    """Returns the locator of a cell by the title of its column."""
    header = page.locator(".ag-header-cell", has=page.get_by_text(column, exact=True))
    return page.locator(f".ag-row[row-index='{row}'] [col-id='{header.get_attribute('col-id')}']")


def test_a_cell_is_edited_in_place_reviewed_and_in_conflict(page: Any, served: Served) -> None:
    create(served, "cells")
    served.dynamodb.put_item(TableName="cells", Item={**KEY, "n": {"N": "1"}, "s": {"S": "old"}})
    open_items(page, served, "cells")
    expect(page.get_by_text("for a million times")).to_be_visible()
    cell(page, "n").dblclick()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("x7")
    page.keyboard.press("Enter")
    expect(page.locator(".message", has_text="is not a number")).to_be_visible()
    expect(cell(page, "n")).to_have_text("1")
    cell(page, "n").dblclick()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(page.locator(".row-changed").first).to_be_visible()
    served.dynamodb.put_item(TableName="cells", Item={**KEY, "n": {"N": "5"}, "s": {"S": "new"}})
    page.get_by_role("button", name="Review 1 change").click()
    expect(page.locator(".difference > *")).to_have_text(["n", "1", "7"])
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_role("heading", name="has changed since it was read")).to_be_visible()
    page.get_by_role("button", name="Apply my change to theirs").click()
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_text("1 written")).to_be_visible()
    item = served.dynamodb.get_item(TableName="cells", Key=KEY)["Item"]
    assert item == {**KEY, "n": {"N": "7"}, "s": {"S": "new"}}


def test_a_tree_and_json_follow_each_other(page: Any, served: Served) -> None:
    create(served, "trees")
    address = {"M": {"city": {"S": "Graz"}, "zip": {"N": "8010"}}}
    served.dynamodb.put_item(TableName="trees", Item={**KEY, "home": address, "tags": {"SS": ["x"]}})
    open_items(page, served, "trees")
    page.get_by_role("gridcell", name="a", exact=True).click()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Open home").click()
    page.get_by_label("Value").nth(2).fill("Lyon")
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text('"S": "Lyon"')
    page.get_by_role("button", name="Plain").click()
    expect(editor).to_contain_text('"city": "Lyon"')
    editor.fill(editor.inner_text().replace("8010", "69001.50").replace('"x"', '"x", "y"'))
    expect(page.get_by_label("Value").nth(3)).to_have_value("69001.50")
    editor.fill("{")
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    expect(page.get_by_role("button", name="Stage change")).to_be_disabled()
    page.get_by_label("Value").nth(3).fill("69001")
    page.get_by_role("button", name="Stage change").click()
    page.get_by_role("button", name="Review 1 change").click()
    expect(page.locator(".difference > *")).to_have_text(
        ["home.city", "Graz", "Lyon", "home.zip", "8010", "69001", "tags", '["x"]', '["x", "y"]']
    )
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_text("1 written")).to_be_visible()
    item = served.dynamodb.get_item(TableName="trees", Key=KEY)["Item"]
    assert (item["home"]["M"]["zip"], item["tags"]) == ({"N": "69001"}, {"SS": ["x", "y"]})


def fill(served: Served, table: str, count: int) -> None:
    """Makes a table of small items without limits."""
    create(served, table)
    lift_limits(served, table)
    for at in range(0, count, 25):
        kinds = [{"S": "odd" if n % 2 else "even"} for n in range(at, min(at + 25, count))]
        items = [
            {"pk": {"S": f"p{at + n}"}, "sk": {"S": "s"}, "n": {"N": str(at + n)}, "kind": kind}
            for n, kind in enumerate(kinds)
        ]
        served.dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": i}} for i in items]})


def all_results(page: Any, entry: str, table: str = "") -> None:
    page.get_by_role("button", name="All results").click()
    page.get_by_role("menuitem", name=entry).or_(
        page.locator(".q-menu .q-item", has_text=entry)
    ).first.click()
    if table:
        page.get_by_label(f"Type {table} to confirm").fill(table)
        page.get_by_role("button", name="Delete all").or_(page.get_by_role("button", name="Edit all")).click()


def test_all_results_are_edited_saved_and_deleted(page: Any, served: Served, tmp_path: Path) -> None:
    fill(served, "many", 120)
    filters = '["kind","=","S","odd",""]'
    page.goto(f"{served.console}/tables/many/items?limit=10&where={filters}")
    expect(page.get_by_text("examined")).to_be_visible()
    page.get_by_role("button", name="All results").click()
    page.get_by_text("Edit…").click()
    page.get_by_label("Attribute, such as").fill("state.done")
    page.get_by_label("Value", exact=True).last.fill("yes")
    page.get_by_role("button", name="Apply").click()
    page.get_by_label("Type many to confirm").fill("many")
    page.get_by_role("button", name="Edit all").click()
    expect(page.get_by_text("60 read, 60 changed")).to_be_visible()
    with page.expect_download() as download:
        all_results(page, "Save as JSON lines")
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 60
    assert all(json.loads(line)["state"] == {"M": {"done": {"S": "yes"}}} for line in lines)
    all_results(page, "Delete…", "many")
    expect(page.get_by_text("60 read, 60 deleted")).to_be_visible()
    assert {i["kind"]["S"] for i in served.dynamodb.scan(TableName="many")["Items"]} == {"even"}


def test_selected_items_get_an_attribute_and_a_row_has_a_menu(page: Any, served: Served) -> None:
    create(served, "several")
    for at in "123":
        served.dynamodb.put_item(TableName="several", Item={"pk": {"S": at}, "sk": {"S": "s"}})
    open_items(page, served, "several")
    rows = page.locator(".ag-pinned-left-cols-container .ag-row input")
    rows.nth(0).check()
    rows.nth(1).check()
    page.get_by_role("button", name="Edit 2").click()
    page.get_by_label("Attribute, such as").fill("state")
    page.get_by_label("Value", exact=True).last.fill("new")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("button", name="Review 2 changes")).to_be_visible()
    page.locator(".ag-row[row-index='2'] .ag-cell").last.click(button="right")
    expect(page.get_by_text("Copy as plain JSON")).to_be_visible()
    page.get_by_text("Query the table for").click()
    page.get_by_role("button", name="Drop", exact=True).click()
    expect(page.get_by_text("1 item, 1 examined")).to_be_visible()
    # The menu of a row that was not selected before.
    page.locator(".ag-row[row-index='0'] .ag-cell").last.click(button="right")
    expect(page.get_by_text("Copy as plain JSON")).to_be_visible()


@pytest.mark.slow
def test_a_long_deletion_is_stopped(page: Any, served: Served) -> None:
    fill(served, "stopped", 20_000)
    open_items(page, served, "stopped")
    all_results(page, "Delete…", "stopped")
    expect(page.get_by_role("heading", name="Deleting all results", exact=True)).to_be_visible()
    expect(page.get_by_text("read, ")).not_to_have_text("0 read, 0 deleted")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Deleting all results stopped")).to_be_visible()
    left = served.dynamodb.scan(TableName="stopped", Select="COUNT")["Count"]
    assert 0 < left < 20_000
