"""One page that changes inside: links, the address, the palette, the rail, keys, a first run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import Served, expect
from browser.test_console import create, open_items


def test_links_and_back_change_the_page_without_loading_another(page: Any, served: Served) -> None:
    create(served, "shell-one")
    open_items(page, served, "shell-one")
    page.evaluate("window.sameDocument = true")
    page.get_by_role("link", name="Backups", exact=True).click()
    page.get_by_role("heading", name="shell-one / Backups").wait_for()
    expect(page.get_by_role("link", name="Backups", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="PartiQL").click()
    page.get_by_role("heading", name="PartiQL").wait_for()
    page.go_back()
    page.get_by_role("heading", name="shell-one / Backups").wait_for()
    page.go_forward()
    page.get_by_role("heading", name="PartiQL").wait_for()
    expect(page).to_have_title("PartiQL · Faradisc")
    assert page.evaluate("window.sameDocument")


def test_the_address_holds_the_query(page: Any, served: Served) -> None:
    create(served, "addressed")
    for at in "123":
        served.dynamodb.put_item(TableName="addressed", Item={"pk": {"S": "p"}, "sk": {"S": at}})
    open_items(page, served, "addressed")
    page.get_by_label("pk (S)").fill("p")
    page.get_by_label("Operator of sk").click()
    page.get_by_role("option", name=">=").click()
    page.get_by_label("sk (S)").fill("2")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("2 items, 2 examined").wait_for()
    expect(page).to_have_url(re.compile("partition=p&sort=2&op=%3E%3D"))
    page.reload()
    page.get_by_text("2 items, 2 examined").wait_for()
    expect(page.get_by_label("sk (S)")).to_have_value("2")
    page.go_back()
    page.get_by_text("3 items, 3 examined").wait_for()
    expect(page.get_by_label("pk (S)")).to_have_value("")


@pytest.mark.slow
def test_the_palette_is_led_by_arrows_and_has_actions(page: Any, served: Served) -> None:
    create(served, "palette-b")
    page.goto(f"{served.console}/tables/palette-b")
    page.get_by_role("heading", name="palette-b / Overview").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_label("Page or table").fill("pltb")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    wanted = page.locator("[role=option][aria-selected=true] span").first.inner_text()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=wanted).wait_for()
    page.keyboard.press("Control+k")
    page.get_by_label("Page or table").fill("create")
    page.keyboard.press("Enter")
    page.get_by_label("Table name").wait_for()


@pytest.mark.slow
def test_the_keys_are_listed(page: Any, served: Served) -> None:
    page.goto(served.console)
    page.get_by_role("heading", name="Start").wait_for()
    page.get_by_text("environment credentials").wait_for()
    page.keyboard.press("?")
    page.get_by_text("the quick filter of the page").wait_for()


@pytest.mark.slow
def test_the_rail_groups_and_finds_tables(page: Any, served: Served) -> None:
    for at in "abc":
        create(served, f"group-{at}")
    page.goto(f"{served.console}/tables/group-b/items")
    rail = page.get_by_role("navigation", name="Tables")
    rail.get_by_role("link", name="group-b").first.wait_for()
    expect(rail.locator("summary", has_text="group")).to_have_count(1)
    filtering = page.get_by_label("Filter the rail")
    if filtering.count():
        filtering.fill("roup-c")
    rail.get_by_role("link", name="group-c").first.click()
    page.get_by_role("heading", name="group-c / Items").wait_for()


@pytest.mark.slow
def test_a_table_that_is_not_there_is_not_in_the_rail(page: Any, served: Served) -> None:
    create(served, "is-there")
    page.goto(f"{served.console}/tables/is-not-there/items")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    rail = page.get_by_role("navigation", name="Tables")
    expect(rail.get_by_role("link", name="is-there", exact=True).first).to_be_visible()
    expect(rail.get_by_role("link", name="is-not-there")).to_have_count(0)


@pytest.mark.slow
def test_a_first_run_at_another_endpoint_offers_a_sample_shop(
    page: Any, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "port"
    command = [sys.executable, "-m", "faradisc", "serve", "--memory", "--port", "0", "--port-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            wait = [sys.executable, "-m", "faradisc", "wait", "--port-file", str(file)]
            subprocess.run(wait, check=True)
            page.goto(f"{served.console}/key")
            page.get_by_label("Endpoint").fill(f"http://127.0.0.1:{file.read_text().strip()}")
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.get_by_text("No tables yet").wait_for()
            page.get_by_text("AWS_ENDPOINT_URL_DYNAMODB").wait_for()
            page.get_by_role("button", name="Load the sample shop").click()
            page.get_by_role("heading", name="Shop / Items").wait_for()
            page.locator(".ag-row .entity", has_text="Customer").first.wait_for()
        finally:
            server.terminate()
