"""The AWS SDK for JavaScript v3, ElectroDB, OneTable and dynamodb-admin against a real server.

Slow, and skipped with a reason where Node.js is missing: the packages are installed by name with npm into a
folder that stays after the run (`FARADISC_TEST_CACHE`, or one beside the temporary files).

The packages of ElectroDB (3.9.3) and OneTable (2.7.7) carry none of the tests of these libraries, so a tour
of the calls of each takes their place. What OneTable's package does carry are the tests of its metrics, which
run here unchanged.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from fixtures.environments import cache_folder
from fixtures.served import Server

HERE = Path(__file__).parent / "javascript"
NODE, NPM = shutil.which("node"), shutil.which("npm")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None or NPM is None, reason="Node.js and npm are not installed"),
]


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with package.json, the tours and node_modules."""
    folder = cache_folder() / "javascript"
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    subprocess.run(
        [str(NPM), "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"],
        cwd=folder,
        check=True,
        timeout=300,
    )
    return folder


def _printed(server: Server, packages: Path, *arguments: str) -> str:
    """Returns what Node.js prints for these arguments."""
    run = subprocess.run(
        [str(NODE), *arguments],
        cwd=packages,
        env={"PATH": os.environ.get("PATH", ""), "ENDPOINT": server.url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr + run.stdout[-4000:]
    return run.stdout


def _findings(tour: str, server: Server, packages: Path) -> Any:
    """Returns the JSON object of findings that a tour prints."""
    return json.loads(_printed(server, packages, tour))


def test_javascript_sdk_operations(server: Server, packages: Path) -> None:
    assert _findings("tour.mjs", server, packages) == {
        "waiter": "SUCCESS",
        "roundTrip": True,
        "batch": 1,
        "query": [4, 10],
        "scan": 21,
        "update": [1, ["four"]],
        "condition": [True, "even", "The conditional request failed"],
        "transaction": [True, ["None", "ConditionalCheckFailed"]],
        "partiql": "even",
        "records": 22,
        "tables": ["Tour.JavaScript"],
        "deleted": "SUCCESS",
    }


def test_electrodb_operations(server: Server, packages: Path) -> None:
    condition_failed = [4001, "ConditionalCheckFailedException"]
    assert _findings("electrodb.mjs", server, packages) == {
        "create": "2026-01-01",
        "createAgain": condition_failed,
        "roundTrip": True,
        "missing": None,
        "batch": [["ada", "cyd"], 0],
        "batchWrite": 0,
        "query": ["27", "28", "29"],
        "between": ["05", "04", "03"],
        "begins": 10,
        "where": [21, 23, 25, 27, 29],
        "pages": [5, 30],
        "count": 13,
        "attributes": {"salary": 20},
        "resumed": ["13"],
        "update": {
            "employee": "ada",
            "team": "looms",
            "office": "london",
            "salary": 15,
            "skills": ["chess", "code", "poetry"],
            "history": [{"role": "intern", "year": 1}, {"role": "lead", "year": 2}],
            "address": {"city": "größe ☃", "code": "W2"},
            "joined": "2026-01-01",
        },
        "remove": "W2",
        "moved": ["ada", "bob", "cyd"],
        "patchMissing": condition_failed,
        "conditional": condition_failed,
        "upsert": 7,
        "ifNotExists": "open",
        "collection": [3, 30],
        "filteredCollection": [0, [24, 26, 28]],
        "transaction": False,
        "canceled": [True, [[True, "ConditionalCheckFailed"], [False, "None"]], 1],
        "transactionGet": [1, "closed", None],
        "scan": [4, 30],
        "match": ["new"],
        "delete": 28,
        "removeMissing": condition_failed,
        "deleted": "SUCCESS",
    }


def test_onetable_operations(server: Server, packages: Path) -> None:
    not_unique = ["OneTableError", "UniqueError"]
    condition_failed = ["OneTableError", "ConditionalCheckFailedException"]
    assert _findings("onetable.mjs", server, packages) == {
        "exists": True,
        "indexes": [[["gs1", "KEYS_ONLY"], ["gs2", "ALL"]], ["ls1"]],
        "schema": "0.0.1",
        "created": True,
        "unique": not_unique,
        "uniqueUpdate": not_unique,
        "renamed": "Acme 2",
        "nameIsFree": "Acme",
        "freedByRemove": "Bolts",
        "again": not_unique,
        "scoped": [not_unique, None],
        "roundTrip": True,
        "raw": ["User", "1815-12-10T00:00:00.000Z", "W1", False],
        "missing": True,
        "batchWrite": True,
        "batchGet": ["ada@example.com", "user03@example.com"],
        "pages": [4, 21, 21],
        "previous": 6,
        "reverse": ["user19@example.com", "user18@example.com"],
        "begins": 10,
        "between": [3, 4, 5],
        "where": [10.5, 18, 19],
        "whereSubstitution": 2,
        "count": 20,
        "fields": ["email", "balance"],
        "globalIndex": [18, 19],
        "role": "x@example.com",
        "follow": 10.5,
        "localIndex": [2, 1, 0],
        "update": [7.5, ["3"], "admin"],
        "noMap": ["OneTableError", "ValidationException"],
        "nested": [{"city": "paris", "code": "W1"}, 10.25, ["four", "2"], True],
        "tags": ["y"],
        "whereFailed": condition_failed,
        "updateMissing": condition_failed,
        "validation": ["OneTableError", "ValidationError"],
        "upsert": [1, True],
        "canceled": ["OneTableError", "TransactionCanceledException"],
        "transactionGet": ["closed", 100],
        "collection": [1, 21],
        "scan": 22,
        "segments": 22,
        "removeOne": ["OneTableError", "NonUniqueError"],
        "left": ["ada@example.com", "new@example.com", "user05@example.com"],
        "deleted": True,
    }


def test_onetable_metrics_suite(server: Server, packages: Path) -> None:
    printed = _printed(server, packages, "--test-reporter=tap", "onetable_metrics.cjs").splitlines()
    assert [line for line in printed if line.startswith(("# pass", "# fail"))] == ["# pass 45", "# fail 0"]


@pytest.fixture
def admin(server: Server, packages: Path) -> Iterator[str]:
    """Starts dynamodb-admin for the server and returns its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "DYNAMO_ENDPOINT": server.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "tour",
        "AWS_SECRET_ACCESS_KEY": "tour",
    }
    command = [str(NODE), "node_modules/dynamodb-admin/dist/dynamodb-admin.js", "--host", "127.0.0.1"]
    process = subprocess.Popen([*command, "--port", str(port)], cwd=packages, env=environment)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "dynamodb-admin ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("dynamodb-admin does not listen")


def _page(address: str, path: str) -> str:
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        assert answer.status == http.client.OK
        return answer.read().decode()


def test_dynamodb_admin_shows_tables_and_items(server: Server, admin: str) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="tour",
        aws_secret_access_key="tour",
    )
    client.create_table(
        TableName="Books",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    client.put_item(TableName="Books", Item={"id": {"S": "first"}, "title": {"S": "A book on dynamos"}})
    try:
        assert "Books" in _page(admin, "/")
        assert "Books" in _page(admin, "/tables/Books")
        assert "A book on dynamos" in _page(admin, "/tables/Books/items")
        assert "Books" in _page(admin, "/tables/Books/meta")
        key = urllib.parse.quote("first")
        assert "A book on dynamos" in _page(admin, f"/tables/Books/items/{key}")
    finally:
        client.delete_table(TableName="Books")
