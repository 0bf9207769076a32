"""Films the console while a partition turns red, and splits: writes docs/images/hot-key.gif.

    pip install pillow; python tools/moving_picture.py

The server, the console and the traffic are real, on partitions of 20 write units; only the time is shortened:
each frame is SECONDS_APART seconds after the one before, and is shown for FRAME_MS.
"""

from __future__ import annotations

import io
import random
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
from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "hot-key.gif"
FRAMES, SECONDS_APART, FRAME_MS = 30, 6.0, 500
CALM_FRAMES = 8
"""Before the hot key begins."""
WIDTH, HEIGHT = 1100, 620
COLOURS = 64


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "faradisc", "serve", "--memory", "--port", "0"]
        command += ["--throughput", "aws:60/20", "--console", "--console-port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if line.startswith("Console of "))
            endpoint, console = re.findall(r"Console of (\S+) on (\S+)", line)[0]
            frames = _film(endpoint, console)
        finally:
            server.terminate()
            server.wait()
    palette = frames[-1].quantize(COLOURS)
    first, *others = (each.quantize(COLOURS, palette=palette, dither=Image.Dither.NONE) for each in frames)
    first.save(TARGET, save_all=True, append_images=others, duration=FRAME_MS, loop=0, optimize=True)
    print(f"{TARGET}: {TARGET.stat().st_size / 1e6:.1f} MB")


def _film(endpoint: str, console: str) -> list[Image.Image]:
    """Returns the pictures of a table's page of throughput under traffic."""
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client("dynamodb", "us-east-1", endpoint_url=endpoint, config=once, **keys)
    client.create_table(
        TableName="orders",
        KeySchema=[
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "order", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "order", "AttributeType": "S"},
        ],
        ProvisionedThroughput={"ReadCapacityUnits": 200, "WriteCapacityUnits": 160},
    )
    client.get_waiter("table_exists").wait(TableName="orders")
    stop, hot = threading.Event(), threading.Event()
    traffic = threading.Thread(target=_write, args=(client, stop, hot))
    traffic.start()
    frames = []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark")
            page.goto(f"{console}/tables/orders/throughput")
            page.locator(".heatmap canvas").wait_for(timeout=60_000)
            for number in range(FRAMES):
                if number == CALM_FRAMES:
                    hot.set()
                page.wait_for_timeout(SECONDS_APART * 1000)
                frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    finally:
        stop.set()
        traffic.join()
    return frames


def _write(client: Any, stop: threading.Event, hot: threading.Event) -> None:
    """Writes some 40 items a second to many customers, and then as many again to one."""
    chance, number = random.Random(7), 0
    while not stop.is_set():
        began = time.monotonic()
        for _ in range(8 if hot.is_set() else 4):
            one = hot.is_set() and chance.random() < 0.6
            customer = "Ada" if one else f"customer-{chance.randrange(500)}"
            number += 1
            key = {"customer": {"S": customer}, "order": {"S": f"{number:08d}"}}
            try:
                client.put_item(TableName="orders", Item={**key, "note": {"S": "x" * 900}})
            except client.exceptions.ProvisionedThroughputExceededException:
                pass
            except client.exceptions.ThrottlingException:
                pass
        stop.wait(max(0.1 - (time.monotonic() - began), 0))


if __name__ == "__main__":
    main()
