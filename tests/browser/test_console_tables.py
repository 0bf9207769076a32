"""Tables made, shown as code and cloned; files with a preview; restores by time; PartiQL completed."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import Served
from browser.test_console import create, open_items

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}


def test_a_table_with_all_settings_is_shown_as_code_and_cloned(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/tables?create=1")
    page.get_by_label("Table name").fill("complete")
    page.get_by_label("Partition key").fill("id")
    page.get_by_label("Time-to-live attribute").fill("expires")
    page.get_by_label("Tags, such as").fill("team=shop, stage = test")
    page.locator(".q-checkbox", has_text="Point-in-time recovery").click()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="complete / Overview")).to_be_visible()
    served.dynamodb.put_item(TableName="complete", Item={"id": {"S": "1"}})
    page.get_by_role("button", name="As code").click()
    expect(page.locator(".code").first).to_contain_text("AWS::DynamoDB::Table")
    page.get_by_role("tab", name="Terraform").click()
    expect(page.locator(".code", has_text="aws_dynamodb_table")).to_contain_text('attribute_name = "expires"')
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Clone").click()
    page.locator(".q-checkbox", has_text="With the items").click()
    page.get_by_role("dialog").get_by_role("button", name="Clone").click()
    expect(page.get_by_text("1 items copied")).to_be_visible()
    expect(page.get_by_role("heading", name="complete-copy / Overview")).to_be_visible()
    made = served.dynamodb.describe_table(TableName="complete-copy")["Table"]
    tags = served.dynamodb.list_tags_of_resource(ResourceArn=made["TableArn"])["Tags"]
    assert {each["Key"]: each["Value"] for each in tags} == {"team": "shop", "stage": "test"}
    assert served.dynamodb.scan(TableName="complete-copy")["Items"] == [{"id": {"S": "1"}}]
    for name in ("complete", "complete-copy"):
        expiry = served.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert expiry["AttributeName"] == "expires"
        served.dynamodb.delete_table(TableName=name)


def test_a_file_is_seen_before_it_is_staged_and_items_are_generated(page: Any, served: Served) -> None:
    create(served, "filled")
    open_items(page, served, "filled")
    text = b"pk,sk,count,zip\na,1,5,007\nb,1,7,008\n"
    upload = page.locator(".q-uploader input[type=file]")
    upload.set_input_files({"name": "rows.csv", "mimeType": "text/csv", "buffer": text})
    expect(page.get_by_role("row", name="count N 2 5")).to_be_visible()
    expect(page.get_by_role("row", name="zip S 2 007")).to_be_visible()
    page.get_by_role("button", name="Stage 2 items").click()
    page.get_by_role("button", name="Review 2 changes").click()
    page.get_by_role("button", name="Write", exact=True).click()
    expect(page.get_by_text("2 written")).to_be_visible()
    assert served.dynamodb.scan(TableName="filled")["Items"][0]["count"]["N"] in ("5", "7")
    bad = {"name": "rows.jsonl", "mimeType": "text/plain", "buffer": b'{"pk": "c", "sk": "1"}\n{'}
    transfer = page.evaluate_handle(
        """file => { const held = new DataTransfer();
        held.items.add(new File([file.text], file.name)); return held; }""",
        {"name": bad["name"], "text": bad["buffer"].decode()},
    )
    page.locator(".grid").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_text("line 2: not valid JSON")).to_be_visible()
    page.get_by_role("button", name="Stage 1 items").click()
    page.get_by_role("button", name="Import").click()
    page.get_by_text("Generated items…").click()
    page.get_by_label("Items", exact=True).last.fill("5")
    page.get_by_role("button", name="Stage", exact=True).click()
    expect(page.get_by_role("button", name="Review 6 changes")).to_be_visible()


def test_a_restore_takes_a_time(page: Any, served: Served) -> None:
    create(served, "timed")
    recovery = {"PointInTimeRecoveryEnabled": True}
    served.dynamodb.update_continuous_backups(TableName="timed", PointInTimeRecoverySpecification=recovery)
    page.goto(f"{served.console}/tables/timed/backups")
    field, restore = (
        page.get_by_label("Moment (UTC)"),
        page.get_by_role("button", name="Restore to this moment"),
    )
    kept = field.input_value()
    field.fill("2001-01-01 00:00:00")
    expect(page.get_by_text("Not between From and To")).to_be_visible()
    expect(restore).to_be_disabled()
    page.get_by_role("button", name="Latest").click()
    field.fill(kept)
    expect(restore).to_be_enabled()
    restore.click()
    expect(page.get_by_role("heading", name="timed-restored / Overview")).to_be_visible()


def test_partiql_completes_marks_errors_and_keeps_statements(page: Any, served: Served) -> None:
    create(served, "spelled")
    served.dynamodb.put_item(TableName="spelled", Item=KEY)
    page.goto(f"{served.console}/partiql")
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("SELECT")
    editor.fill('SELECT * FROM "spelled" WHERE p')
    expect(page.get_by_text("Scan of spelled")).to_be_visible()
    editor.press("End")
    page.keyboard.type("k")
    page.keyboard.press("Backspace")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("pk")
    page.locator(".cm-tooltip-autocomplete li", has_text="pk").click()
    page.keyboard.type(" = 'a'")
    editor.press("Control+Enter")
    expect(page.get_by_text("1 item, 0.5 units")).to_be_visible()
    expect(page.get_by_text("on demand")).to_be_visible()
    editor.fill("SELEC * FROM spelled")
    editor.press("Control+Enter")
    expect(page.get_by_text("Line 1, column 1.")).to_be_visible()
    expect(page.locator(".cm-wrong")).to_have_text("SELEC")
    editor.fill('SELECT * FROM "spelled" WHER pk = 1')
    expect(page.locator(".cm-wrong")).to_have_count(0)
    editor.press("Control+Enter")
    expect(page.locator(".cm-wrong")).to_have_text("pk")
    page.get_by_role("button", name="History").click()
    page.get_by_role("dialog").get_by_role("button", name="WHERE").click()
    expect(editor).to_contain_text("WHERE \"pk\" = 'a'")


@pytest.mark.slow
def test_throttles_have_the_colour_of_the_report(page: Any, served: Served) -> None:
    page.goto(served.console)
    expect(page.locator(".content > *").first).to_be_attached()
    from faradisc.charts.style import LIGHT  # noqa: PLC0415 - for this comparison only

    colour = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--no').trim()")
    assert f"--no:{colour};" in LIGHT
