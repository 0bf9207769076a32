"""The main paths of the console in a real browser, against a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from browser.conftest import Served, expect

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def create(served: Served, name: str, **more: Any) -> None:
    served.dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
            *more.pop("definitions", []),
        ],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )
    served.dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})


def lift_limits(served: Served, table: str) -> None:
    """Turns the limits of a table's throughput off."""
    lever = urllib.request.Request(
        f"{served.endpoint}/_faradisc/capacity/{table}",
        json.dumps({"profile": "off"}).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(lever, timeout=20).close()


def open_items(page: Any, served: Served, table: str) -> None:
    page.goto(f"{served.console}/tables/{table}/items")
    page.get_by_text("examined").wait_for()


def test_a_table_is_created_and_deleted(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/tables")
    page.get_by_role("button", name="Create table").click()
    page.get_by_label("Table name").fill("made-here")
    page.get_by_label("Partition key").fill("id")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("heading", name="made-here / Overview").wait_for()
    described = served.dynamodb.describe_table(TableName="made-here")["Table"]
    assert described["KeySchema"] == [{"AttributeName": "id", "KeyType": "HASH"}]
    page.get_by_role("button", name="Delete").click()
    confirm = page.get_by_role("button", name="Delete table")
    expect(confirm).to_be_disabled()
    page.get_by_label("Type made-here to confirm").fill("made-here")
    confirm.click()
    page.get_by_role("heading", name="Tables").wait_for()
    assert "made-here" not in served.dynamodb.list_tables()["TableNames"]


def test_an_error_is_worded_as_the_service_words_it(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/tables")
    page.get_by_role("button", name="Create table").click()
    page.get_by_label("Table name").fill("a")
    page.get_by_label("Partition key").fill("id")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_text("Table name: Member must have length greater than or equal to 3").wait_for()
    page.get_by_text("Value 'a' at 'tableName' failed to satisfy constraint").wait_for()


def test_an_edit_is_reviewed_and_refused_when_the_item_has_changed(page: Any, served: Served) -> None:
    create(served, "edits")
    key = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    served.dynamodb.put_item(TableName="edits", Item={**key, "n": {"N": "1.0"}, "s": {"SS": ["x"]}})

    def edit(new: str) -> None:
        page.get_by_role("gridcell", name="a", exact=True).dblclick()
        page.get_by_label("Value").nth(2).fill(new)
        page.get_by_role("button", name="Stage change").click()
        page.get_by_role("button", name="Review 1 change").click()
        page.get_by_role("button", name="Write").click()

    open_items(page, served, "edits")
    edit("2.50")
    page.get_by_text("1 written").wait_for()
    item = served.dynamodb.get_item(TableName="edits", Key=key)["Item"]
    assert item == {**key, "n": {"N": "2.5"}, "s": {"SS": ["x"]}}
    served.dynamodb.update_item(
        TableName="edits",
        Key=key,
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "9"}},
    )
    edit("3")
    page.get_by_role("heading", name="has changed since it was read").wait_for()
    assert served.dynamodb.get_item(TableName="edits", Key=key)["Item"]["n"] == {"N": "9"}


def test_a_new_item_is_written_and_others_are_deleted(page: Any, served: Served) -> None:
    create(served, "news")
    for at in "123":
        served.dynamodb.put_item(TableName="news", Item={"pk": {"S": at}, "sk": {"S": "old"}})
    open_items(page, served, "news")
    page.get_by_role("button", name="New item").click()
    page.get_by_label("Value").nth(0).fill("4")
    page.get_by_label("Value").nth(1).fill("new")
    page.get_by_text("1 read unit").wait_for()
    page.get_by_role("button", name="Stage change").click()
    page.get_by_label("Press Space to toggle all rows selection").or_(
        page.locator(".ag-header-select-all input")
    ).first.check()
    page.locator(".ag-pinned-left-cols-container .ag-row", has_text="4").locator("input").uncheck()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Review 4 changes").click()
    page.get_by_role("button", name="Write").click()
    page.get_by_text("4 written").wait_for()
    items = served.dynamodb.scan(TableName="news")["Items"]
    assert items == [{"pk": {"S": "4"}, "sk": {"S": "new"}}]


def test_an_index_is_queried_and_the_copied_code_finds_the_same(page: Any, served: Served) -> None:
    index = {
        "IndexName": "by-kind",
        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    create(
        served,
        "queried",
        definitions=[{"AttributeName": "kind", "AttributeType": "S"}],
        GlobalSecondaryIndexes=[index],
    )
    for at in range(6):
        item = {"pk": {"S": f"p{at}"}, "sk": {"S": "'\"$"}, "kind": {"S": "odd" if at % 2 else "even"}}
        served.dynamodb.put_item(TableName="queried", Item={**item, "b": {"B": b"\x00\xff"}})
    open_items(page, served, "queried")
    page.get_by_label("Table or index").click()
    page.get_by_role("option", name="by-kind").click()
    page.get_by_label("kind (S)").fill("odd")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("3 items, 3 examined").wait_for()
    page.get_by_role("gridcell", name="p1", exact=True).click()
    page.get_by_role("button", name="More").click()
    page.get_by_text("Query the table for p1").click()
    page.get_by_text("1 item, 1 examined").wait_for()
    page.go_back()
    page.get_by_text("3 items, 3 examined").wait_for()
    page.get_by_role("button", name="Copy as").click()
    code = page.locator(".code").first.inner_text()
    environment = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.count("'kind': {'S': 'odd'}") == 3
    page.get_by_role("tab", name="PartiQL").click()
    statement = page.locator(".code", has_text="SELECT").inner_text()
    found = served.dynamodb.execute_statement(Statement=statement)["Items"]
    assert {item["pk"]["S"] for item in found} == {"p1", "p3", "p5"}


def test_partiql_shows_its_plan_and_asks_before_it_writes(page: Any, served: Served) -> None:
    create(served, "spoken")
    page.goto(f"{served.console}/partiql")
    editor = page.locator(".cm-content")
    editor.fill("INSERT INTO \"spoken\" VALUE {'pk': 'a', 'sk': 'b', 'n': 7}")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("These statements write").wait_for()
    assert served.dynamodb.scan(TableName="spoken")["Count"] == 0
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    page.get_by_text("1 statement").wait_for()
    page.get_by_role("dialog").wait_for(state="hidden")
    editor.fill("SELECT * FROM \"spoken\" WHERE pk = 'a' AND sk = 'b'")
    page.get_by_text("GetItem on spoken: one item.").wait_for()
    editor.fill('SELECT * FROM "spoken" WHERE n = 7')
    page.get_by_text("Scan of spoken").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("1 item").wait_for()


def test_the_stream_is_followed(page: Any, served: Served) -> None:
    view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    create(served, "followed", StreamSpecification=view)
    page.goto(f"{served.console}/tables/followed/stream")
    page.get_by_text("shards followed").wait_for()
    key = {"pk": {"S": "watched"}, "sk": {"S": "1"}}
    served.dynamodb.put_item(TableName="followed", Item={**key, "n": {"N": "1"}})
    page.get_by_text("inserted").wait_for()
    served.dynamodb.put_item(TableName="followed", Item={**key, "n": {"N": "2"}})
    page.get_by_text("modified").wait_for()


def test_a_hot_key_is_found(page: Any, served: Served) -> None:
    create(served, "heated")
    page.goto(f"{served.console}/tables/heated/throughput")
    page.get_by_text("Heat of the partitions").wait_for()
    shown = page.get_by_role("button", name="Fix").first
    for _ in range(40):
        for _ in range(40):
            try:
                item = {"pk": {"S": "celebrity"}, "sk": {"S": "1"}}
                served.dynamodb.put_item(TableName="heated", Item=item)
            except served.dynamodb.exceptions.ClientError:
                pass
        if shown.is_visible():
            break
        page.wait_for_timeout(500)
    page.get_by_text("celebrity").first.wait_for()
    shown.click()
    page.get_by_text("keys in turn").wait_for()
    page.get_by_role("cell", name="as it is").wait_for()
    page.get_by_role("button", name="Watch whether it works").click()
    page.get_by_text("this page watches").wait_for()
    canvas = page.locator(".heatmap canvas")
    box = canvas.bounding_box()
    lane = page.evaluate(
        """() => {
          const map = getElement(document.querySelector(".heatmap").id.slice(1)), shape = map.shape();
          const hot = shape.placed.find(({row}) => row.key);
          return shape.height - (hot.first + hot.count / 2) * shape.lane;
        }"""
    )
    canvas.click(position={"x": box["width"] - 20, "y": lane})
    page.get_by_role("button", name="Open the key").click()
    page.get_by_text("1 item, 1 examined").wait_for()


@pytest.mark.slow
def test_hostile_items_are_shown_as_text(page: Any, served: Served) -> None:
    create(served, "hostile")
    lift_limits(served, "hostile")
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    wide = {f"a{at}": {"S": "x"} for at in range(10_000)}
    key = {"pk": {"S": HOSTILE}, "sk": {"S": "\u202egnp.exe"}}
    served.dynamodb.put_item(
        TableName="hostile", Item={**key, HOSTILE: {"M": {HOSTILE: {"S": HOSTILE}}}, **wide}
    )
    served.dynamodb.put_item(
        TableName="hostile", Item={"pk": {"S": "large"}, "sk": {"S": "x" * 1000}, "v": {"S": "y" * 390_000}}
    )
    for name in ("items", "design"):
        page.goto(f"{served.console}/tables/hostile/{name}")
        page.get_by_text("onerror").first.wait_for()
    page.goto(f"{served.console}/tables/hostile/items")
    page.get_by_text("attributes have no column").wait_for()
    page.get_by_role("gridcell", name="large").dblclick()
    page.get_by_text(re.compile(r"38\d\.\d KB")).wait_for()


@pytest.mark.slow
def test_the_palette_goes_to_a_table(page: Any, served: Served) -> None:
    create(served, "palette")
    page.goto(served.console)
    page.get_by_text("table").first.wait_for()
    page.keyboard.press("Control+k")
    page.get_by_label("Page or table").fill("palette / Design")
    page.get_by_text("palette / Design").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="palette / Design").wait_for()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:1"}, 200),
    ],
)
def test_other_sites_cannot_use_the_console(served: Served, headers: dict[str, str], status: int) -> None:
    try:
        answered = urllib.request.urlopen(urllib.request.Request(served.console, headers=headers), timeout=20)
        assert answered.status == status
    except urllib.error.HTTPError as error:
        assert error.code == status


@pytest.mark.slow
def test_no_secret_is_shown(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/key")
    page.get_by_label("Access key ID").fill("AKIDEXAMPLE")
    page.get_by_label("Secret access key").fill("do-not-show-me")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Start").wait_for()
    assert "do-not-show-me" not in page.url + json.dumps(page.context.cookies()) + page.content()
    page.goto(f"{served.console}/key")
    page.get_by_text("Now in use: AKIDEXAMPLE").wait_for()
    assert "do-not-show-me" not in page.content()
