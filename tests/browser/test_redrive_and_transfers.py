"""Dead letters delivered again, and exports and imports begun from a page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from browser.conftest import Served
from browser.test_console import create
from faradisc.streams import consume

pytestmark = pytest.mark.slow


@contextmanager
def handler(refused: str) -> Iterator[tuple[str, list[str]]]:
    """A handler on HTTP that refuses the records of one key; yields its address and the keys it accepted."""
    accepted: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (record,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["Records"]
            key = record["dynamodb"]["Keys"]["pk"]["S"]
            if key != refused:
                accepted.append(key)
            self.send_response(500 if key == refused else 200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", accepted
    server.shutdown()
    thread.join()
    server.server_close()


def fail(event: Any) -> None:
    raise RuntimeError("the mail server is down")


def test_dead_letters_are_delivered_again(page: Any, served: Served) -> None:
    view = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    create(served, "lettered", StreamSpecification=view)
    for key in ("a", "refused", "b", "refused"):
        served.dynamodb.update_item(
            TableName="lettered",
            Key={"pk": {"S": key}, "sk": {"S": "1"}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
    streams = {"endpoint_url": served.endpoint, "region_name": "us-east-1"}
    letters = {"retries": 0, "dead_letters": "table:kept-letters", "batch_size": 1}
    with consume("lettered", fail, group="mail", **streams, **letters) as consumer:
        consumer.drain()
    page.goto(f"{served.console}/tables/lettered/stream")
    page.get_by_label("Table", exact=True).fill("kept-letters")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("letters of this stream").wait_for()
    page.locator("th .q-checkbox").last.click()
    with handler("refused") as (url, accepted):
        page.get_by_label("Handler").fill(url)
        page.get_by_role("button", name="Redrive the selected").click()
        page.get_by_text("2 delivered and deleted").wait_for()
        page.get_by_text("HandlerFailed").wait_for()
    assert sorted(accepted) == ["a", "b"]
    left = served.dynamodb.scan(TableName="kept-letters")["Items"]
    assert {json.loads(item["record"]["S"])["dynamodb"]["Keys"]["pk"]["S"] for item in left} == {"refused"}


def test_a_table_is_exported_and_imported(page: Any, served: Served) -> None:
    create(served, "moved")
    served.dynamodb.put_item(TableName="moved", Item={"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}})
    recovery = {"PointInTimeRecoveryEnabled": True}
    served.dynamodb.update_continuous_backups(TableName="moved", PointInTimeRecoverySpecification=recovery)
    (served.buckets / "my-bucket").mkdir()
    page.goto(f"{served.console}/operations")
    page.get_by_role("button", name="Export a table").click()
    page.get_by_label("Table", exact=True).click()
    page.get_by_role("option", name="moved").click()
    page.get_by_label("S3 bucket").fill("my-bucket")
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_text("export completed, 1 item").wait_for()
    page.get_by_role("button", name="Files").click()
    page.get_by_text("Buckets that are directories are on the server's machine").wait_for()
    page.get_by_text("s3://my-bucket/AWSDynamoDB/").wait_for()
    page.get_by_role("button", name="Close").click()
    (data,) = served.buckets.glob("my-bucket/AWSDynamoDB/*/data")
    page.get_by_role("button", name="Import a table").click()
    page.get_by_label("S3 bucket").fill("my-bucket")
    page.get_by_label("Prefix").fill(str(data.relative_to(served.buckets / "my-bucket")))
    page.get_by_label("Name of the new table").fill("arrived")
    page.get_by_label("Partition key").fill("pk")
    page.get_by_label("Sort key").fill("sk")
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("import completed, 1 item").wait_for()
    scanned = served.dynamodb.scan
    assert scanned(TableName="arrived")["Items"] == scanned(TableName="moved")["Items"]
