"""A server, its console and a real browser. Without Chromium the tests are skipped.

A page is never asserted at once but awaited: what a server sends to a page arrives in steps, so its heading
may be there before its title. A test that fails in the browser all the same is run once more, with a server
and a browser of its own; the summary names it (RERUN) and shows why the first run failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WAIT_MS = 20_000


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if "browser" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Ends every fixture of this folder before a test is run once more: the server still has the tables of
    the first run, and the browser may have crashed."""
    if getattr(item, "execution_count", 1) > 1:
        assert isinstance(item, pytest.Function)
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                if Path(definition.func.__code__.co_filename).parent == Path(__file__).parent:
                    definition.finish(item._request)


def expect(what: Any) -> Any:
    """Returns Playwright's assertions of a page or of a part of it: they wait until they hold."""
    from playwright.sync_api import expect as playwright_expect  # noqa: PLC0415 - with Chromium only

    playwright_expect.set_options(timeout=WAIT_MS)
    return playwright_expect(what)


@dataclass
class Served:
    """A server with its console."""

    endpoint: str
    console: str
    dynamodb: Any
    buckets: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Small partitions, so that a key becomes hot at once."""
    command = [sys.executable, "-m", "faradisc", "serve", "--memory", "--port", "0"]
    command += ["--throughput", "aws:30/10", "--console", "--console-port", "0"]
    folder = tmp_path_factory.mktemp("browser")
    buckets = folder / "s3"
    buckets.mkdir()
    command += ["--s3-root", str(buckets)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Console of "):
                break
        endpoint, console = re.findall(r"Console of (\S+) on (\S+)", lines[-1])[0]
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        reader.start()
        key = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        client = boto3.client("dynamodb", endpoint_url=endpoint, region_name="us-east-1", **key)
        yield Served(endpoint, console, client, buckets)
    finally:
        process.terminate()
        process.wait(20)
        reader.join(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Ends with the module: a thread with a running browser has a running event loop."""
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: the console is not tried in a browser")
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - with Chromium only

    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page in a new profile. Errors of the page's scripts and requests to other hosts fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: _own(request.url) or errors.append(f"fetched {request.url}"))
    yield opened
    context.close()
    assert errors == []


def _own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))
