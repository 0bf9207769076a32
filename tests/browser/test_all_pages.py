"""Every page at two widths and in both colours: nothing overflows, nothing serious for axe-core."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.config import Config

from browser.conftest import Served
from browser.test_console import create, lift_limits

pytestmark = pytest.mark.slow

PAGES = {
    "start": "/",
    "tables": "/tables",
    "overview": "/tables/shop",
    "items": "/tables/shop/items",
    "design": "/tables/shop/design",
    "stream": "/tables/shop/stream",
    "throughput": "/tables/shop/throughput",
    "backups": "/tables/shop/backups",
    "partiql": "/partiql",
    "operations": "/operations",
    "advice": "/advice",
    "servers": "/servers",
    "key": "/key",
}
LOAD_S = 60
IGNORED = ("label-content-name-mismatch",)
"""The arrow of an expansion is a ligature of the icons' font, which axe-core takes for its text."""


@pytest.fixture(scope="module")
def shop(served: Served) -> Iterator[None]:
    """A table of a shop with orders and lines, one of whose customers is far too busy."""
    client = served.dynamodb
    names = [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
    types = [{"AttributeName": "status", "AttributeType": "S"}, {"AttributeName": "at", "AttributeType": "N"}]
    index = {"IndexName": "by-status", "KeySchema": names, "Projection": {"ProjectionType": "ALL"}}
    view = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    create(served, "shop", definitions=types, GlobalSecondaryIndexes=[index], StreamSpecification=view)
    create(served, "sessions")
    create(served, "audit-log")
    chance = random.Random(7)
    items: list[dict[str, Any]] = []
    for at in range(30):
        key = {"pk": {"S": f"CUSTOMER#{at:03d}"}}
        address = {"M": {"city": {"S": "Lyon"}, "code": {"N": "69001"}}}
        items.append({**key, "sk": {"S": "PROFILE"}, "name": {"S": f"Ada {at}"}, "address": address})
        for order in range(3):
            state = chance.choice(["OPEN", "PAID", "SENT"])
            placed = {"status": {"S": state}, "at": {"N": str(1_790_000_000 + at)}, "gift": {"BOOL": True}}
            line = {"product": {"S": "coil"}, "quantity": {"N": "2"}}
            items.append({**key, "sk": {"S": f"ORDER#{order:03d}"}, "total": {"N": "12.50"}, **placed})
            items.append({**key, "sk": {"S": f"LINE#{order:03d}#1"}, **line})
    for item in items:
        _put(client, item)
    client.update_continuous_backups(
        TableName="shop", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    client.create_backup(TableName="shop", BackupName="before-the-sale")
    ended = threading.Event()
    hurried = boto3.client(
        "dynamodb",
        endpoint_url=served.endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )
    loading = threading.Thread(target=_load, args=(hurried, ended, chance), daemon=True)
    loading.start()
    time.sleep(LOAD_S)
    yield
    ended.set()
    loading.join()


def _put(client: Any, item: dict[str, Any]) -> None:
    with suppress(client.exceptions.ClientError):
        client.put_item(TableName="shop", Item=item)


def _load(client: Any, ended: threading.Event, chance: random.Random) -> None:
    """Three quarters of the writes go to one customer."""
    count = 0
    while not ended.wait(0.02):
        count += 1
        number = 7 if count % 4 else chance.randrange(30)
        key = {"pk": {"S": f"CUSTOMER#{number:03d}"}, "sk": {"S": "CART"}}
        _put(client, {**key, "total": {"N": str(count)}})


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    """The source of axe-core; None where npm cannot bring it."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    command = [str(npm), "install", "axe-core@4"]
    if npm is None or subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        return None
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("width", "colours"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
def test_pages_fit_and_are_accessible(
    browser: Any, served: Served, axe: str | None, width: int, colours: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=colours)
    page = context.new_page()
    found: list[str] = []
    for name, path in PAGES.items():
        page.goto(served.console + path)
        page.locator(".content > *").first.wait_for(state="attached")
        page.wait_for_timeout(3000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if axe is not None:
            found += [f"{name}: {each}" for each in serious(page, axe)]
    context.close()
    assert not found, "\n".join(found)


def serious(page: Any, axe: str) -> list[str]:
    """Returns what axe-core finds serious or critical on a page."""
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{each['id']} {node['html'][:140]}"
        for each in violations
        if each["impact"] in ("serious", "critical") and each["id"] not in IGNORED
        for node in each["nodes"][:2]
    ]


def test_a_thousand_tables_and_many_items_are_shown_at_once(page: Any, served: Served) -> None:
    """What counts is that the page answers while it is open; the times are printed, not asserted."""
    client = served.dynamodb
    for at in range(1000):
        create_small(client, f"many-{at:04d}")
    print_times(
        page, "1,000 tables", f"{served.console}/tables", page.locator(".ag-row", has_text="many-0000")
    )
    page.locator(".ag-row", has_text="many-0000").get_by_label("ACTIVE").wait_for()
    page.get_by_label("Filter tables").fill("many-0999")
    page.locator(".ag-row", has_text="many-0999").get_by_label("ACTIVE").wait_for()
    create(served, "large")
    lift_limits(served, "large")
    for at in range(0, 100_000, 25):
        items = [{"pk": {"S": f"p{n}"}, "sk": {"S": "s"}, "n": {"N": str(n)}} for n in range(at, at + 25)]
        rest = {"large": [{"PutRequest": {"Item": item}} for item in items]}
        while rest:
            rest = client.batch_write_item(RequestItems=rest).get("UnprocessedItems", {})
    rows = page.locator(".ag-row", has_text="p").first
    print_times(page, "100,000 items", f"{served.console}/tables/large/items", rows)
    page.get_by_text("100 items, 100 examined").wait_for()
    page.get_by_label("Page size").fill("1000")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("1,000 items, 1,000 examined").wait_for()
    page.get_by_role("button", name="Next page").click()
    page.get_by_text("2,000 items, 2,000 examined").wait_for()


def print_times(page: Any, name: str, address: str, row: Any) -> None:
    """Prints how long the first rows take: in a new browser, when it is loaded again, and by a link."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        page.goto(address)
        row.wait_for()
        times.append(time.monotonic() - began)
    page.goto(address.partition("/tables")[0] + "/key")
    page.get_by_label("Access key ID").wait_for()
    path = address[address.index("/tables") :]
    page.evaluate(
        "path => { const link = document.createElement('a'); link.href = path; link.id = 'there';"
        "document.querySelector('.content').append(link); }",
        path,
    )
    began = time.monotonic()
    page.evaluate("document.getElementById('there').click()")
    row.wait_for()
    times.append(time.monotonic() - began)
    first, *again, link = times
    print(f"{name}: {first:.2f} s at first, {min(again):.2f} s again, {link:.2f} s by a link")


def create_small(client: Any, name: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
