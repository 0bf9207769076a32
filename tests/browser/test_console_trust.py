"""What a person relies on: nothing staged is lost, a review shows all, pages say what is true now."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browser.conftest import Served, expect
from browser.test_console import create, open_items

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
LONG = "x" * 400


def staged(page: Any, served: Served, table: str, **attributes: Any) -> None:
    """Opens the one item of a new table and stages n = 2."""
    create(served, table)
    served.dynamodb.put_item(TableName=table, Item={**KEY, "n": {"N": "1"}, **attributes})
    page.goto(f"{served.console}/tables/{table}")
    page.get_by_role("link", name="Items", exact=True).click()
    page.get_by_text("examined").wait_for()
    edit(page, "2")


def edit(page: Any, value: str) -> None:
    page.get_by_role("gridcell", name="a", exact=True).dblclick()
    page.get_by_label("Value").nth(2).fill(value)
    page.get_by_role("button", name="Stage change").click()
    page.get_by_role("button", name="Review 1 change").wait_for()


def answer(page: Any, button: str) -> None:
    page.get_by_text("1 change is staged here and not written").wait_for()
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_text("1 change is staged here and not written").wait_for(state="hidden")


def test_staged_changes_are_not_lost_without_a_question(page: Any, served: Served) -> None:
    staged(page, served, "held")
    review = page.get_by_role("button", name="Review 1 change")
    page.get_by_role("button", name="Run").click()
    answer(page, "Stay here")
    page.get_by_role("link", name="Design", exact=True).click()
    answer(page, "Stay here")
    page.go_back()
    answer(page, "Stay here")
    expect(page).to_have_url(re.compile("/tables/held/items$"))
    review.wait_for()
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.get_by_text("1 item").wait_for()
    review.wait_for(state="hidden")


@pytest.mark.slow
def test_staged_changes_are_written_or_dropped_on_the_way_out(page: Any, served: Served) -> None:
    staged(page, served, "leaving")
    page.get_by_role("link", name="Stream", exact=True).click()
    answer(page, "Review and write")
    page.get_by_role("button", name="Write", exact=True).click()
    page.get_by_role("heading", name="leaving / Stream").wait_for()
    assert served.dynamodb.get_item(TableName="leaving", Key=KEY)["Item"]["n"] == {"N": "2"}
    open_items(page, served, "leaving")
    edit(page, "3")
    page.get_by_role("link", name="Stream", exact=True).click()
    answer(page, "Drop")
    page.get_by_role("heading", name="leaving / Stream").wait_for()
    assert served.dynamodb.get_item(TableName="leaving", Key=KEY)["Item"]["n"] == {"N": "2"}


@pytest.mark.slow
def test_staged_changes_outlive_a_lost_connection(page: Any, served: Served) -> None:
    staged(page, served, "unplugged")
    page.context.set_offline(True)
    page.wait_for_timeout(8_000)
    page.context.set_offline(False)
    review = page.get_by_role("button", name="Review 1 change")
    review.click()
    page.get_by_text("1 change, each on the condition").wait_for()


def test_a_review_shows_every_path_whole(page: Any, served: Served) -> None:
    deep = {"M": {f"k{at}": {"S": "same"} for at in range(60)} | {"street": {"S": f"12 {LONG}"}}}
    create(served, "whole")
    served.dynamodb.put_item(TableName="whole", Item={**KEY, "home": deep})
    open_items(page, served, "whole")
    page.get_by_role("gridcell", name="a", exact=True).dblclick()
    page.get_by_role("button", name="Open home").click()
    page.get_by_label("Value").last.fill(f"13 {LONG}")
    page.get_by_role("button", name="Stage change").click()
    page.get_by_role("button", name="Review 1 change").click()
    page.get_by_text(f"13 {LONG}", exact=True).wait_for()
    expect(page.locator(".difference > *")).to_have_text(["home.street", f"12 {LONG}", f"13 {LONG}"])


def test_a_conflict_shows_three_sides_and_keeps_the_change(page: Any, served: Served) -> None:
    staged(page, served, "contested", other={"S": "old"})
    served.dynamodb.put_item(TableName="contested", Item={**KEY, "n": {"N": "7"}, "other": {"S": "new"}})
    page.get_by_role("button", name="Review 1 change").click()
    page.get_by_role("button", name="Write", exact=True).click()
    page.get_by_role("heading", name="has changed since it was read").wait_for()
    sides = ["n", "1", "7", "2", "other", "old", "new", "old"]
    expect(page.locator(".difference.three > *:nth-child(n + 5)")).to_have_text(sides)
    page.get_by_role("button", name="Apply my change to theirs").click()
    page.get_by_text("1 change, each on the condition").wait_for()
    expect(page.locator(".difference:not(.three) > *")).to_have_text(["n", "7", "2"])
    page.get_by_role("button", name="Write", exact=True).click()
    page.get_by_text("1 written").wait_for()
    item = served.dynamodb.get_item(TableName="contested", Key=KEY)["Item"]
    assert item == {**KEY, "n": {"N": "2"}, "other": {"S": "new"}}


@pytest.mark.slow
def test_buttons_say_what_they_act_on(page: Any, served: Served) -> None:
    create(served, "picked")
    for at in "12":
        served.dynamodb.put_item(TableName="picked", Item={"pk": {"S": at}, "sk": {"S": "s"}})
    open_items(page, served, "picked")
    buttons = [page.get_by_role("button", name=name) for name in ("Edit", "Duplicate", "Delete")]
    for button in buttons:
        expect(button).to_be_disabled()
    rows = page.locator(".ag-pinned-left-cols-container .ag-row input")
    rows.nth(0).check()
    expect(buttons[0]).to_be_enabled()
    rows.nth(1).check()
    page.get_by_role("button", name="Delete 2").wait_for()
    # One attribute of several items is edited at once; one item is duplicated.
    for button, enabled in zip(buttons, (True, False, True), strict=True):
        expect(button).to_be_enabled(enabled=enabled)


@pytest.mark.slow
def test_enter_runs_the_query_from_every_field(page: Any, served: Served) -> None:
    create(served, "entered")
    for at in "123":
        served.dynamodb.put_item(TableName="entered", Item={"pk": {"S": "p"}, "sk": {"S": at}})
    open_items(page, served, "entered")
    page.get_by_label("pk (S)").fill("p")
    page.get_by_label("sk (S)").fill("2")
    page.get_by_label("sk (S)").press("Enter")
    page.get_by_text("1 item, 1 examined").wait_for()
    page.get_by_label("sk (S)").fill("")
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("button", name="Add filter").click()
    page.get_by_label("Attribute", exact=True).fill("n")
    page.get_by_label("Value", exact=True).press("Enter")
    page.get_by_text("0 items, 3 examined").wait_for()


@pytest.mark.slow
def test_the_editor_fits_a_phone_and_escape_asks(browser: Any, served: Served) -> None:
    create(served, "phone")
    item = {f"a-long-name-{at}": {"S": LONG} for at in range(9)}
    served.dynamodb.put_item(TableName="phone", Item={**KEY, **item})
    context = browser.new_context(viewport={"width": 390, "height": 700})
    page = context.new_page()
    open_items(page, served, "phone")
    page.get_by_role("gridcell", name="a", exact=True).dblclick()
    button = page.get_by_role("button", name="Stage change")
    button.wait_for()
    expect(page.locator(".form-row")).to_have_count(11)
    box = button.bounding_box()
    assert box["y"] + box["height"] <= 700
    assert page.locator(".form-row > *").first.bounding_box()["width"] > 150
    page.get_by_label("Value").nth(2).fill("other")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Drop the change").click()
    button.wait_for(state="hidden")
    context.close()


@pytest.mark.slow
def test_lists_of_choices_open_at_their_field_and_are_as_wide_as_they_need(page: Any, served: Served) -> None:
    create(served, "listed")
    open_items(page, served, "listed")
    field = page.get_by_label("Operator of sk")
    field.click()
    page.get_by_role("option", name="between").wait_for()
    menu, at = page.locator(".q-menu").bounding_box(), field.bounding_box()
    assert menu["width"] < 300
    assert abs(menu["x"] - at["x"]) < 60


@pytest.mark.slow
def test_an_editor_is_dark_on_the_first_dark_page(browser: Any, served: Served) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{served.console}/partiql")
    page.locator(".cm-content").wait_for()
    bright = (
        "getComputedStyle(document.querySelector('.cm-editor')).backgroundColor.match(/\\d+/g).map(Number)"
    )
    page.wait_for_function(f"Math.max(...{bright}.slice(0, 3)) < 80")
    context.close()


def test_text_that_the_server_has_not_read_yet_stays_when_the_colours_change(
    page: Any, served: Served
) -> None:
    page.goto(f"{served.console}/partiql")
    editor = page.locator(".cm-content")
    editor.wait_for()
    page.get_by_text("environment credentials").wait_for()  # the colours of the browser are known
    silent = "on => { getElement(document.querySelector('.nicegui-codemirror').id.slice(1)).emitting = !on }"
    page.evaluate(silent, True)
    editor.fill("SELECT 1")
    page.evaluate(silent, False)
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator(".cm-editor")).to_have_css("background-color", "rgb(24, 24, 21)")
    expect(editor).to_have_text("SELECT 1")


@pytest.mark.slow
def test_messages_are_few_can_be_closed_and_leave_the_grid_free(page: Any, served: Served) -> None:
    create(served, "noisy")
    served.dynamodb.put_item(TableName="noisy", Item=KEY)
    page.goto(f"{served.console}/partiql")
    for at in range(5):
        page.locator(".cm-content").fill(f"SELECT * FROM gone{at}")
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator(".message").get_by_text(f"gone{at}").wait_for()
    expect(page.locator(".message")).to_have_count(3)
    box = page.locator(".messages").bounding_box()
    assert box["x"] > 640 and box["x"] + box["width"] <= 1280
    for left in (2, 1, 0):
        page.get_by_role("button", name="Close message").last.click()
        expect(page.locator(".message")).to_have_count(left)


def test_partiql_runs_by_keys_and_forgets_old_results_after_an_error(page: Any, served: Served) -> None:
    create(served, "typed")
    served.dynamodb.put_item(TableName="typed", Item={**KEY, "n": {"N": "1"}})
    page.goto(f"{served.console}/partiql")
    editor = page.locator(".cm-content")
    editor.fill("SELECT * FROM \"typed\" WHERE pk = 'a' AND n = 1")
    page.get_by_text("The test of n comes after that").wait_for()
    editor.press("Control+Enter")
    page.get_by_text("1 item, 0.5 units").wait_for()
    expect(page.locator(".cm-line")).to_have_count(1)
    editor.fill("SELEC * FROM typed")
    editor.press("Control+Enter")
    page.locator(".message").wait_for()
    assert page.get_by_text("These statements write").count() == 0
    page.get_by_text("1 item").wait_for(state="hidden")
    expect(page.locator(".grid")).to_be_hidden()


@pytest.mark.slow
def test_a_page_follows_a_table_until_it_is_ready(page: Any, served: Served) -> None:
    create(served, "source")
    served.dynamodb.create_backup(TableName="source", BackupName="first")
    states: list[str] = []
    while states != ["AVAILABLE"]:
        page.wait_for_timeout(100)
        found = served.dynamodb.list_backups(TableName="source")["BackupSummaries"]
        states = [each["BackupStatus"] for each in found]
    (backup,) = found
    served.dynamodb.restore_table_from_backup(TargetTableName="restored", BackupArn=backup["BackupArn"])
    page.goto(f"{served.console}/tables/restored")
    page.get_by_text("active", exact=True).wait_for()
    page.goto(f"{served.console}/tables/source/backups")
    page.get_by_label("Name").fill("second")
    page.get_by_role("button", name="Back up").click()
    expect(page.locator(".dot.available")).to_have_count(2)


@pytest.mark.slow
def test_a_report_has_no_literals_of_a_language(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/operations")
    page.get_by_role("button", name="Check the whole database").click()
    page.locator(".fact-value", has_text="done").wait_for()
    shown = " ".join(page.locator(".fact-value").all_inner_texts())
    assert not re.search(r"[{}\[\]']|None|True|False", shown)


@pytest.mark.slow
def test_an_error_says_what_to_do_and_can_be_tried_again(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/key")
    page.get_by_label("Endpoint").fill(served.console)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_text("There is a server, but no DynamoDB").wait_for()
    page.goto(f"{served.console}/tables")
    page.get_by_role("heading", name="There is a server, but no DynamoDB").wait_for()
    page.get_by_role("button", name="Retry").wait_for()
    page.goto(f"{served.console}/key")
    page.get_by_label("Endpoint").fill(served.endpoint)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_text("us-east-1").first.wait_for()


@pytest.mark.slow
def test_limits_show_the_profile_of_the_server_and_a_split_keeps_its_keys(page: Any, served: Served) -> None:
    create(served, "split")
    page.goto(f"{served.console}/tables/split/throughput")
    page.get_by_text("Profile aws:30/10").wait_for()
    page.get_by_role("button", name="Limits").click()
    page.get_by_text("Now aws:30/10, the server's own profile.").wait_for()
    expect(page.get_by_label("Profile of this table")).to_have_value("")
    page.get_by_label("Partitions, at least").fill("9")
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_text("Partitions (9)").wait_for()
    old = page.evaluate("getElement([...document.querySelectorAll('.heatmap')][0].id.slice(1)).rows[0].name")
    page.locator(".heatmap canvas").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text(f"Partition #{int(old.rpartition('-')[2])} is picked").wait_for()


@pytest.mark.slow
def test_an_entity_has_one_name_by_every_index(page: Any, served: Served) -> None:
    index = {
        "IndexName": "by-kind",
        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    kinds = [{"AttributeName": "kind", "AttributeType": "S"}]
    create(served, "named", definitions=kinds, GlobalSecondaryIndexes=[index])
    item = {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "ORDER#1"}, "kind": {"S": "STATE#OPEN"}}
    served.dynamodb.put_item(TableName="named", Item=item)
    page.goto(f"{served.console}/tables/named/design")
    page.locator(".entity", has_text="Order").wait_for()
    page.get_by_label("View by").click()
    page.get_by_role("option", name="by-kind").click()
    page.locator(".arrow-label", has_text="STATE#…").wait_for()
    expect(page.locator(".entity")).to_have_text(["Order"])
