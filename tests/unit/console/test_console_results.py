"""All results of a query: saved, edited and deleted, each item as it was read; and JSON without types."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from faradisc.local import LocalDatabase
from faradisc.tools.console import results
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.money import query_usd, usd
from faradisc.tools.console.plain_json import item_of_plain, plain_text
from faradisc.tools.console.results import BulkEdit, ResultWalk, save_all, write_all
from faradisc.tools.console.values import Item, ValueMistake, from_client, to_client
from fixtures.schemas import schema

SCAN: tuple[str, dict[str, Any]] = ("Scan", {"TableName": "all-items", "ReturnConsumedCapacity": "TOTAL"})
KEYS = ["pk"]


class Asking:
    """Asks a database in the process. before: called with each operation and the number of the call."""

    def __init__(
        self, client: Any, before: Callable[[str, int], None] = lambda operation, number: None
    ) -> None:
        self.client = client
        self.before = before
        self.calls = 0

    async def call(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        self.calls += 1
        self.before(operation, self.calls)
        method = getattr(self.client, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower())
        try:
            answered: dict[str, Any] = from_client(method(**to_client(request or {})))
        except ClientError as error:
            raise Failure(error.response["Error"]["Code"], str(error)) from error
        return answered


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """30 items; pages of 7."""
    monkeypatch.setattr(results, "PAGE", 7)
    monkeypatch.setattr(results, "PATIENCE_S", (0.0,))
    with LocalDatabase() as database:
        found = database.client()
        found.create_table(TableName="all-items", **schema("pk:S"))
        for at in range(30):
            address = {"M": {"city": {"S": "Graz"}}}
            found.put_item(
                TableName="all-items", Item={"pk": {"S": str(at)}, "n": {"N": str(at)}, "address": address}
            )
        yield found


def test_all_results_are_saved_in_each_form(client: Any, tmp_path: Path) -> None:
    walk = ResultWalk()
    for form in ("jsonl", "plain", "csv"):
        asyncio.run(save_all(Asking(client), SCAN, form, tmp_path / form, walk))
    assert (walk.read, walk.done) == (90, 90)
    typed = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert sorted(int(item["n"]["N"]) for item in typed) == list(range(30))
    bare = [json.loads(line) for line in (tmp_path / "plain").read_text().splitlines()]
    assert sorted(item["n"] for item in bare) == list(range(30))
    with (tmp_path / "csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["n"]) for row in rows) == list(range(30))
    assert json.loads(rows[0]["address"]) == {"city": {"S": "Graz"}}
    assert not list(tmp_path.glob("*.lines"))


def test_what_changes_meanwhile_is_left_alone(client: Any) -> None:
    theirs = {"pk": {"S": "29"}, "address": {"M": {"city": {"S": "Oslo"}}}}

    class Raced(Asking):
        async def call(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
            if operation == "UpdateItem" and request and request["Key"] == {"pk": theirs["pk"]}:
                self.client.put_item(TableName="all-items", Item=theirs)
            return await super().call(operation, request)

    walk, edit = ResultWalk(), BulkEdit("address.city", {"S": "Lyon"})
    asyncio.run(write_all(Raced(client), SCAN, KEYS, edit, walk))
    cities = [item["address"]["M"]["city"]["S"] for item in client.scan(TableName="all-items")["Items"]]
    assert (walk.done, walk.changed, walk.write_units >= 29) == (29, 1, True)
    assert sorted(cities) == ["Lyon"] * 29 + ["Oslo"]
    assert walk.text("changed") == "30 read, 29 changed, 1 left alone, changed since"


def test_a_deletion_goes_on_after_throttles_and_stops_when_asked(client: Any) -> None:
    walk = ResultWalk()

    def before(operation: str, number: int) -> None:
        if number % 5 == 2:
            raise Failure("ProvisionedThroughputExceededException", "slow down")
        if walk.done >= 7:
            walk.stopped = True

    asyncio.run(write_all(Asking(client, before), SCAN, KEYS, lambda item: None, walk))
    left = client.scan(TableName="all-items")["Count"]
    assert walk.paused > 0
    assert left == 30 - walk.done > 0
    again = ResultWalk()
    asyncio.run(write_all(Asking(client), SCAN, KEYS, lambda item: None, again))
    assert (again.done, client.scan(TableName="all-items")["Count"]) == (left, 0)
    assert again.text("deleted") == f"{left} read, {left} deleted"


def test_an_error_ends_a_walk_after_the_writes_that_run(client: Any) -> None:
    def before(operation: str, number: int) -> None:
        if operation == "DeleteItem" and number == 4:
            raise Failure("AccessDeniedException", "no")

    walk = ResultWalk()
    with pytest.raises(Failure, match="no"):
        asyncio.run(write_all(Asking(client, before), SCAN, KEYS, lambda item: None, walk))
    assert client.scan(TableName="all-items")["Count"] == 30 - walk.done


@pytest.mark.parametrize("path", ["", "a..b", "list[0]", "pk"])
def test_a_bulk_edit_needs_an_attribute_that_many_items_can_have(path: str) -> None:
    with pytest.raises(ValueMistake):
        BulkEdit(path, {"S": "x"}).check(KEYS)


def test_a_bulk_edit_removes_only_what_is_there() -> None:
    item: Item = {"pk": {"S": "1"}, "a": {"M": {"b": {"N": "1"}, "c": {"N": "2"}}}}
    assert BulkEdit("a.b", None)(item) == {"pk": {"S": "1"}, "a": {"M": {"c": {"N": "2"}}}}
    assert BulkEdit("x.y", None)(item) == item


def test_plain_json_keeps_types_and_digits() -> None:
    item: Item = {
        "n": {"N": "12345678901234567890.50"},
        "e": {"N": "1E+100"},
        "b": {"B": "AP8="},
        "s": {"SS": ["x", "y"]},
        "l": {"L": [{"NS": ["1", "2.5"]}, {"M": {"deep": {"BS": ["AQ=="]}, "no": {"BOOL": False}}}]},
        "z": {"NULL": True},
        "empty": {"M": {}},
    }
    text = plain_text(item)
    assert json.loads(text)["l"] == [[1, 2.5], {"deep": ["AQ=="], "no": False}]
    assert item_of_plain(text, item) == item
    assert item_of_plain(plain_text(item, None), item) == item
    assert plain_text({"n": {"N": "+.5"}}, None) == '{"n": 0.5}'
    assert item_of_plain('{"s": ["x", 1], "new": ["x"]}', item) == {
        "s": {"L": [{"S": "x"}, {"N": "1"}]},
        "new": {"L": [{"S": "x"}]},
    }


def test_money_shows_digits_that_say_something() -> None:
    assert [usd(each) for each in (0, 0.0000000625, 0.25, 1250)] == [
        "$0",
        "$0.000000062",
        "$0.25",
        "$1,250.00",
    ]
    on_demand = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
    assert query_usd(128, 0, on_demand) == "$16.00 for a million times"
    assert query_usd(1_000_000, 0, on_demand) == "$0.12, $125,000.00 for a million times"
    assert query_usd(128, 0, {}) == "paid by provisioned capacity ($0.000016 on demand)"
