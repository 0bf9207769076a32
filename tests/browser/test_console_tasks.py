"""Ten tasks as a person does them; the clicks of each are counted, as docs/guide/console.md has them."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from playwright.sync_api import expect

from browser.conftest import Served
from browser.test_console import create, lift_limits
from faradisc.tools.console import sample
from faradisc.tools.console.values import to_client

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "console.md"
COUNT = """addEventListener("click", (event) => {
  if (event.isTrusted && event.detail > 0) sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1;
}, true);"""


@dataclass
class Person:
    """Somebody who does a task in the page. Clicks of the mouse are counted, not keys."""

    page: Any
    served: Served

    def click(self, role: str, name: str, **options: Any) -> None:
        self.page.get_by_role(role, name=name, exact=True, **options).first.click()

    def begin(self, path: str) -> None:
        self.page.goto(self.served.console + path)
        expect(self.page.locator(".content > *").first).to_be_attached()
        self.page.evaluate("sessionStorage.clicks = 0")

    def done(self, task: str) -> None:
        """Ends a task: the guide says how many clicks it takes."""
        clicks = int(self.page.evaluate("Number(sessionStorage.clicks)"))
        print(f"{task}: {clicks} clicks")
        row = re.search(rf"^\| {re.escape(task)} \|.*\| (\d+) \|$", GUIDE.read_text(), re.MULTILINE)
        assert row is not None, f"the guide has no task {task}"
        assert clicks == int(row[1])


@pytest.fixture
def person(page: Any, served: Served) -> Iterator[Person]:
    page.add_init_script(COUNT)
    expect.set_options(timeout=60_000)
    page.set_default_timeout(60_000)
    yield Person(page, served)


@pytest.fixture(scope="module")
def shop(served: Served) -> str:
    """The sample shop, with recovery."""
    served.dynamodb.create_table(**sample.request())
    served.dynamodb.get_waiter("table_exists").wait(TableName=sample.TABLE, WaiterConfig={"Delay": 1})
    lift_limits(served, sample.TABLE)
    for item in sample.items():
        served.dynamodb.put_item(TableName=sample.TABLE, Item=to_client(item))
    served.dynamodb.update_continuous_backups(
        TableName=sample.TABLE, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    return sample.TABLE


def test_an_unknown_table_is_understood(person: Person, shop: str) -> None:
    person.begin("/")
    person.page.get_by_role("navigation", name="Tables").get_by_role("link", name=shop, exact=True).click()
    person.click("link", "Design")
    expect(person.page.locator(".diagram .entity")).to_have_text(["Line", "Order", "Customer", "Product"])
    expect(person.page.locator(".arrow-label")).to_have_count(3)
    person.done("Understand an unknown table")


def test_orders_of_a_customer_are_copied_as_code(person: Person, shop: str) -> None:
    page = person.page
    person.begin(f"/tables/{shop}/items")
    page.get_by_label("PK (S)").fill("CUSTOMER#00012")
    page.get_by_label("Operator of SK").click()
    person.click("option", "begins with")
    page.get_by_label("SK (S)").fill("ORDER#")
    page.get_by_label("SK (S)").press("Enter")
    expect(page.get_by_text("4 items, 4 examined")).to_be_visible()
    person.click("button", "Copy as")
    code = page.locator(".code").first.inner_text()
    environment = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.count("'orderId'") == 4
    person.done("All orders of a customer, as code that runs")


def test_a_nested_value_is_changed_in_spite_of_a_conflict(person: Person, shop: str) -> None:
    page, key = person.page, {"PK": {"S": "CUSTOMER#00003"}, "SK": {"S": "PROFILE"}}
    person.begin(f"/tables/{shop}/items?partition=CUSTOMER%2300003&sort=PROFILE")
    page.get_by_role("gridcell", name="CUSTOMER#00003", exact=True).dblclick()
    person.click("button", "Open addresses")
    person.click("button", "Open home")
    page.get_by_label("Value").nth(6).fill("9 Quai Perrache")
    expect(page.get_by_label("Attribute", exact=True).nth(8)).to_have_value("street")
    served = person.served.dynamodb
    served.update_item(
        TableName=shop,
        Key=key,
        UpdateExpression="SET addresses.office = :w",
        ExpressionAttributeValues={":w": {"M": {}}},
    )
    person.click("button", "Stage change")
    person.click("button", "Review 1 change")
    person.click("button", "Write")
    expect(page.get_by_role("heading", name="has changed since it was read")).to_be_visible()
    person.click("button", "Apply my change to theirs")
    person.click("button", "Write")
    expect(page.get_by_text("1 written")).to_be_visible()
    item = served.get_item(TableName=shop, Key=key)["Item"]
    assert item["addresses"]["M"]["office"] == {"M": {}}
    assert "9 Quai Perrache" in str(item["addresses"])
    person.done("Change a nested value that somebody else changes too")


def test_500_of_20000_items_are_deleted(person: Person) -> None:
    served, page = person.served, person.page
    create(served, "events")
    lift_limits(served, "events")
    for at in range(0, 20_000, 25):
        items = [
            {"pk": {"S": f"p{n}"}, "sk": {"S": "s"}, "state": {"S": "old" if n % 40 == 0 else "new"}}
            for n in range(at, at + 25)
        ]
        served.dynamodb.batch_write_item(
            RequestItems={"events": [{"PutRequest": {"Item": i}} for i in items]}
        )
    person.begin("/tables/events/items")
    person.click("button", "Filters")
    person.click("button", "Add filter")
    page.get_by_label("Attribute", exact=True).fill("state")
    page.get_by_label("Value", exact=True).fill("old")
    page.get_by_label("Value", exact=True).press("Enter")
    expect(page.get_by_text("examined")).to_be_visible()
    person.click("button", "All results")
    page.get_by_text("Delete…").click()
    page.get_by_label("Type events to confirm").fill("events")
    person.click("button", "Delete all")
    expect(page.get_by_text("500 read, 500 deleted")).to_be_visible(timeout=120_000)
    assert served.dynamodb.describe_table(TableName="events")["Table"]["ItemCount"] == 19_500
    person.done("Delete 500 of 20,000 items")


def test_a_csv_and_a_json_are_imported(person: Person) -> None:
    page = person.page
    create(person.served, "imported")
    person.begin("/tables/imported/items")
    for name, text in (
        ("a.csv", b"pk,sk,n\na,1,5\n"),
        ("b.json", b'[{"pk": "b", "sk": "1", "tags": ["x"]}]'),
    ):
        upload = page.locator(".q-uploader input[type=file]")
        upload.set_input_files({"name": name, "mimeType": "text/plain", "buffer": text})
        person.click("button", "Stage 1 items")
    person.click("button", "Review 2 changes")
    person.click("button", "Write")
    expect(page.get_by_text("2 written")).to_be_visible()
    items = person.served.dynamodb.scan(TableName="imported")["Items"]
    assert {"N": "5"} in [item.get("n") for item in items]
    person.done("Import a CSV and a JSON")


def test_a_throttled_key_is_found_and_cured(person: Person) -> None:
    served, page = person.served, person.page
    create(served, "busy")
    hurried = boto3.client(
        "dynamodb",
        endpoint_url=served.endpoint,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )
    ended = threading.Event()

    def load() -> None:
        while not ended.wait(0.2):
            for _ in range(20):
                with suppress(hurried.exceptions.ClientError):
                    hurried.put_item(TableName="busy", Item={"pk": {"S": "celebrity"}, "sk": {"S": "1"}})

    loading = threading.Thread(target=load, daemon=True)
    loading.start()
    row = page.locator(".health-row", has_text="throttled").get_by_role("link", name="busy")
    person.begin("/")
    # The page looks again every ten seconds.
    expect(row).to_be_visible()
    row.click()
    expect(page.get_by_text("celebrity").first).to_be_visible()
    person.click("button", "Fix")
    expect(page.get_by_text("keys in turn")).to_be_visible()
    person.click("button", "Watch whether it works")
    ended.set()
    loading.join()
    expect(page.get_by_text("It worked.")).to_be_visible(timeout=60_000)
    person.done("Find a throttled key and cure it")


def test_a_table_is_restored_to_five_minutes_ago(person: Person, shop: str) -> None:
    person.begin(f"/tables/{shop}/backups")
    person.click("button", "5 minutes ago")
    person.click("button", "Restore to this moment")
    expect(person.page.get_by_role("heading", name=f"{shop}-restored / Overview")).to_be_visible()
    expect(person.page.get_by_text("active", exact=True).first).to_be_visible(timeout=60_000)
    person.done("Restore a table to five minutes ago")


def test_what_a_deploy_changed_is_seen_in_the_stream(person: Person, shop: str) -> None:
    page = person.page
    key = {"PK": {"S": "CUSTOMER#00005"}, "SK": {"S": "PROFILE"}}
    values = {":v": {"S": "2"}}
    person.served.dynamodb.update_item(
        TableName=shop, Key=key, UpdateExpression="SET schemaVersion = :v", ExpressionAttributeValues=values
    )
    person.begin(f"/tables/{shop}/stream")
    person.click("button", "From the oldest record")
    page.get_by_label("Filter by text").fill("schemaVersion")
    page.locator(".record", has_text="modified").click()
    expect(page.locator(".difference > *")).to_have_text(["schemaVersion", "absent", "2"])
    person.done("See what a deploy changed")


def test_a_table_with_index_expiry_and_stream_is_created(person: Person) -> None:
    page = person.page
    person.begin("/tables")
    person.click("button", "Create table")
    page.get_by_label("Table name").fill("orders")
    page.get_by_label("Partition key").fill("id")
    page.get_by_label("Time-to-live attribute").fill("expires")
    page.get_by_label("Stream", exact=True).click()
    person.click("option", "New and old images")
    person.click("button", "Add index")
    page.get_by_label("Index name").fill("by-status")
    page.get_by_label("Partition key").last.fill("status")
    person.click("button", "Create")
    expect(page.get_by_role("heading", name="orders / Overview")).to_be_visible()
    made = person.served.dynamodb.describe_table(TableName="orders")["Table"]
    assert (made["GlobalSecondaryIndexes"][0]["IndexName"], "LatestStreamArn" in made) == ("by-status", True)
    person.done("Create a table with index, expiry and stream")


def test_a_colleague_gets_a_link(person: Person, shop: str, browser: Any) -> None:
    page = person.page
    person.begin(f"/tables/{shop}/items")
    page.get_by_label("PK (S)").fill("CUSTOMER#00012")
    page.get_by_label("PK (S)").press("Enter")
    expect(page.get_by_text("5 items, 5 examined")).to_be_visible()
    person.done("Give a colleague a link")
    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_text("5 items, 5 examined")).to_be_visible()
    other.context.close()
