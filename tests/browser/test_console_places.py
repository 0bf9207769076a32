"""Places as they are drawn: a server over two places of a real PostgreSQL, and a table that moves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from browser.conftest import expect
from fixtures.clients import http_client
from fixtures.places import new_places
from fixtures.schemas import schema
from fixtures.served import Server

pytestmark = pytest.mark.slow


def test_places_are_drawn_with_their_tables(page: Any, postgres: str, tmp_path: Path) -> None:
    store = tmp_path / "places"
    store.write_text("\n".join(new_places(postgres)) + "\n")
    with Server("--store", str(store), "--data-dir", str(tmp_path)) as server:
        client = http_client(server.url)
        client.create_table(TableName="music", **schema("p:S"))
        client.get_waiter("table_exists").wait(TableName="music")
        command = [sys.executable, "-m", "faradisc", "console", "--url", server.url, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            try:
                assert process.stdout is not None
                line = next(line for line in process.stdout if line.startswith("Console of "))
                page.goto(re.findall(r" on (\S+)", line)[0] + "/servers")
                cards = page.locator(".diagram-card")
                expect(cards.filter(has_text="(home)")).to_have_count(1)
                expect(cards.filter(has_text="units/s")).to_have_count(2)
                here = cards.filter(has_text="music")
                expect(here).to_have_count(1)
                at = int(here.inner_text().partition(":")[0])
                # The page asks again every two seconds.
                body = json.dumps({"table": "music", "to": 1 - at}).encode()
                urlopen(
                    Request(f"{server.url}/_faradisc/places", body, {"Content-Type": "application/json"}),
                    timeout=20,
                ).close()
                expect(here).to_contain_text(f"{1 - at}: ")
            finally:
                process.terminate()
