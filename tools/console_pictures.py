"""Draws the pictures of docs/guide/console.md: a server with the sample shop, a hot key, and a browser.

    python tools/console_pictures.py            # needs Chromium, or CHROMIUM=path

Each picture is a PNG of less than 100 KB.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from playwright.sync_api import Locator, Page, sync_playwright

from faradisc.tools.console import sample
from faradisc.tools.console.values import to_client

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "console"
WIDE, NARROW = {"width": 1120, "height": 640}, {"width": 390, "height": 700}
BYTES_MAX = 100_000
READ_MS = 25_000
"""Milliseconds in which the records of the stream are read."""
WARM_S = 150
"""Seconds of load before the heat map is drawn: a few splits, and throttles."""


def prepare(client: Any) -> None:
    """Makes the shop."""
    client.create_table(**sample.request())
    client.get_waiter("table_exists").wait(TableName=sample.TABLE, WaiterConfig={"Delay": 1})
    for item in sample.items():
        client.put_item(TableName=sample.TABLE, Item=to_client(item))


def traffic(client: Any, ended: threading.Event) -> None:
    """Writes carts until that is ended; one customer is too busy."""
    count = 0
    while not ended.wait(0.01):
        count += 1
        number = 7 if count % 3 else count % 24 + 1
        key = {"PK": {"S": f"CUSTOMER#{number:05d}"}, "SK": {"S": "CART"}}
        with contextlib.suppress(client.exceptions.ClientError):
            client.put_item(TableName=sample.TABLE, Item={**key, "lines": {"N": str(count)}})
        for index, name, value in (("GSI1", "GSI1PK", "PRODUCT#coil"), (None, "PK", "CUSTOMER#00001")):
            if count % 50 == 0:
                where = {
                    "KeyConditionExpression": f"{name} = :v",
                    "ExpressionAttributeValues": {":v": {"S": value}},
                }
                with contextlib.suppress(client.exceptions.ClientError):
                    client.query(TableName=sample.TABLE, **where, **({"IndexName": index} if index else {}))


def shown(page: Page, address: str, text: str) -> None:
    page.goto(address)
    page.get_by_text(text).first.wait_for()
    page.wait_for_timeout(1500)


def draw(page: Page | Locator, name: str) -> None:
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{name}: {size:,} bytes")
    if size > BYTES_MAX:
        raise SystemExit(f"{path} is larger than {BYTES_MAX:,} bytes")


def draw_all(page: Page, narrow: Page, console: str, ended: threading.Event) -> None:
    """ended: ends the traffic, once it was drawn."""
    table = f"{console}/tables/{sample.TABLE}"
    shown(page, f"{table}/items?partition=CUSTOMER%2300012", "examined")
    draw(page, "items")
    page.get_by_role("gridcell", name="PROFILE", exact=True).dblclick()
    page.get_by_role("button", name="Open addresses").click()
    page.get_by_role("button", name="Open home").click()
    page.get_by_role("button", name="Plain").click()
    page.wait_for_timeout(800)
    draw(page.locator(".q-dialog .q-card"), "editor")
    shown(page, f"{table}/design", "Seen in the last")
    draw(page, "design")
    shown(page, f"{table}/throughput", "Heat of the partitions")
    draw(page, "throughput")
    ended.set()
    shown(page, f"{console}/partiql", "Run selection")
    page.locator(".cm-content").fill(f'SELECT * FROM "{sample.TABLE}" WHERE GSI')
    page.keyboard.press("End")
    page.keyboard.type("1")
    page.wait_for_timeout(800)
    draw(page, "partiql")
    shown(page, f"{table}/stream", "shards followed")
    page.get_by_role("button", name="From the oldest record").click()
    page.wait_for_timeout(READ_MS)
    page.locator(".record").first.wait_for()
    page.locator(".record", has_text="modified").first.click()
    page.locator(".difference").wait_for()
    page.wait_for_timeout(500)
    page.set_viewport_size({"width": 1120, "height": 480})
    draw(page, "stream")
    page.set_viewport_size(WIDE)
    shown(page, f"{console}/", "Busiest tables")
    draw(page, "start")
    shown(narrow, f"{table}/design", "Seen in the last")
    draw(narrow, "design-narrow")
    shown(narrow, f"{table}/items", "examined")
    draw(narrow, "items-narrow")


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    command = [
        sys.executable,
        "-m",
        "faradisc",
        "serve",
        "--memory",
        "--port",
        "0",
        "--throughput",
        "aws:60/20",
    ]
    command += ["--console", "--console-port", "0"]
    ended = threading.Event()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server,
    ):
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if line.startswith("Console of "))
            endpoint, console = re.findall(r"Console of (\S+) on (\S+)", line)[0]
            key = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
            once = Config(retries={"total_max_attempts": 1})
            patient = boto3.client("dynamodb", endpoint_url=endpoint, **key)
            prepare(patient)
            hurried = boto3.client("dynamodb", endpoint_url=endpoint, config=once, **key)
            loading = threading.Thread(target=traffic, args=(hurried, ended))
            loading.start()
            time.sleep(WARM_S)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport=WIDE)
                narrow = browser.new_page(viewport=NARROW, color_scheme="dark")
                draw_all(page, narrow, console, ended)
                browser.close()
        finally:
            ended.set()
            server.terminate()


if __name__ == "__main__":
    main()
