"""The drawn design with access patterns from traffic; servers and regions; advice applied and dismissed."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import Served
from browser.test_console import create, lift_limits


def create_drawn(served: Served, name: str) -> None:
    """Creates a table of two entities and an index, and queries the index three times."""
    index = {
        "IndexName": "by-mail",
        "KeySchema": [{"AttributeName": "mail", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    mail = [{"AttributeName": "mail", "AttributeType": "S"}]
    create(served, name, definitions=mail, GlobalSecondaryIndexes=[index])
    lift_limits(served, name)
    for at in range(3):
        key = {"pk": {"S": f"CUSTOMER#{at}"}}
        served.dynamodb.put_item(
            TableName=name, Item={**key, "sk": {"S": "PROFILE"}, "mail": {"S": f"MAIL#{at}"}}
        )
        served.dynamodb.put_item(TableName=name, Item={**key, "sk": {"S": "ORDER#1"}})
        served.dynamodb.query(
            TableName=name,
            IndexName="by-mail",
            KeyConditionExpression="mail = :mail",
            ExpressionAttributeValues={":mail": {"S": f"MAIL#{at}"}},
        )


def test_a_design_is_drawn(page: Any, served: Served) -> None:
    create_drawn(served, "drawn")
    page.goto(f"{served.console}/tables/drawn/design")
    expect(page.locator(".diagram .entity")).to_have_text(["Customer", "Order"])
    expect(page.locator(".diagram path.arrow")).to_have_count(3)
    expect(page.locator(".arrow-label")).to_have_text("MAIL#…")


@pytest.mark.slow
def test_traffic_becomes_an_access_pattern(page: Any, served: Served) -> None:
    """Metrics of requests are summed when their minute has ended."""
    create_drawn(served, "queried")
    page.goto(f"{served.console}/tables/queried/design")
    row = page.locator(".sheet-row", has_text="Customer by mail (MAIL#…)")
    while not row.count():
        page.reload()
        expect(page.get_by_text("in the last 3 hours")).to_be_visible()
    row.get_by_role("button", name="Add").click()
    expect(page.get_by_label("Pattern", exact=True)).to_have_value("Customer by mail (MAIL#…)")
    page.get_by_role("button", name="Run the query").click()
    expect(page.get_by_role("heading", name="queried / Items")).to_be_visible()
    expect(page.get_by_text("1 item, 1 examined")).to_be_visible()


def test_servers_are_drawn(page: Any, served: Served) -> None:
    page.goto(f"{served.console}/servers")
    expect(page.locator(".diagram-card")).to_contain_text(["us-east-1", "127.0.0.1", "One store"])
    expect(page.get_by_text("No table has replicas in other regions.")).to_be_visible()
