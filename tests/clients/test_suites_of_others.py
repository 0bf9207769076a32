"""Suites that other projects publish with their packages, fetched and run unchanged against Faradisc.

Slow, and skipped where the package index cannot be reached. A suite is held to exactly the number of tests
that pass and to the list of those that fail, each with its reason: docs/guide/clients.md shows both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.environments import python_with
from fixtures.served import Server

ROOT = Path(__file__).parents[2]
PLUGINS = Path(__file__).parent / "suites"
FARADISC = f"{ROOT}[local]"
RUN_S = 600
NO_NETWORK = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "dial tcp", "ProxyError")

FLOAT = "boto3 rejects a float before anything is sent"
ORDER = "looks at the eighth item of a Scan, whose order AWS does not document"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Suite:
    """What to fetch, what to install beside it, what pytest runs, and what comes out."""

    name: str
    version: str
    passed: int
    installed: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """With {url}, {host} and {port} of the server, and {credentials}, a file of AWS's configuration."""
    failed: Mapping[str, str] = field(default_factory=dict)  # the name of a test, and why it fails
    extra: str = ""


SUITES = (
    Suite(
        "pydynamodb",
        "0.8.2",
        passed=155,
        extra="[sqlalchemy]",
        installed=("pytest", "moto[dynamodb]", "pyparsing<3.2"),
        arguments=("-p", "pydynamodb_fixtures", "tests"),
        environment={"PYDYNAMODB_ENDPOINT": "{url}"},
        failed={"test_reflect_table": ORDER},
    ),
    Suite(
        "aiodynamo",
        "26.4",
        passed=194,
        extra="[httpx,aiohttp]",
        installed=("pytest", "pytest-asyncio", "freezegun", "pyfakefs", "boto3"),
        arguments=("tests",),
        environment={"DYNAMODB_URL": "{url}"},
    ),
    Suite(
        "ddb_single",
        "0.7.0",
        passed=135,
        installed=("pytest",),
        arguments=("tests",),
        environment={"DDB_TEST_ENDPOINT_URL": "{url}"},
    ),
    Suite(
        "celery",
        "5.7.0",
        passed=38,
        extra="[dynamodb]",
        installed=(
            "pytest",
            "pytest-celery",
            "pytest-subtests",
            "pytest-timeout",
            "pytest-click",
            "moto[dynamodb]",
            FARADISC,
        ),
        arguments=("-p", "mock_aws_is_patch", "t/unit/backends/test_dynamodb.py"),
    ),
    Suite(
        "apache-airflow-providers-amazon",
        "9.39.0",
        passed=39,
        installed=("pytest", "pytest-asyncio", "moto[dynamodb]", FARADISC),
        arguments=(
            "-p",
            "mock_aws_is_patch",
            "--noconftest",  # it needs Airflow's own repository
            "-o",
            "asyncio_mode=auto",
            "tests/unit/amazon/aws/hooks/test_dynamodb.py",
            "tests/unit/amazon/aws/sensors/test_dynamodb.py",
            "tests/unit/amazon/aws/waiters/test_dynamo.py",
            "tests/unit/amazon/aws/triggers/test_dynamodb.py",
        ),
    ),
    Suite(
        "langgraph-checkpoint-aws",
        "1.2.6",
        passed=138,
        installed=(
            "pytest",
            "pytest-asyncio",
            "pytest-socket",
            "pytest-mock",
            "langgraph-checkpoint-conformance",
        ),
        arguments=(
            "tests/integration_tests/checkpoint/dynamodb/test_conformance.py",
            "tests/integration_tests/store/dynamodb",
            "tests/unit_tests/store/dynamodb",
        ),
        environment={
            "DYNAMODB_ENDPOINT": "{url}",
            "DYNAMODB_HOST": "{host}",
            "DYNAMODB_PORT": "{port}",
            # Of the vector search, whose fixture removes the keys from the environment.
            "DDB_VECTOR_INTEG": "1",
            "DDB_VECTOR_ENDPOINT": "{url}",
            "AWS_SHARED_CREDENTIALS_FILE": "{credentials}",
        },
        failed={"test_sync_complex_values": FLOAT, "test_async_complex_values": FLOAT},
    ),
)


def _fetch(command: list[str]) -> str:
    """Returns what the command prints. Skips the test if there is no network."""
    run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    if run.returncode and any(sign in run.stderr + run.stdout for sign in NO_NETWORK):
        pytest.skip("the package index cannot be reached: " + " ".join(command[-2:]))
    assert run.returncode == 0, run.stderr[-4000:] + run.stdout[-4000:]
    return run.stdout


def _sdist(suite: Suite, folder: Path) -> tuple[Path, Path]:
    """Returns the source distribution and the folder that it is unpacked to."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--retries", "1", "--no-deps"]
    _fetch([*pip, "--no-binary", suite.name, "-d", str(folder), f"{suite.name}=={suite.version}"])
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return archive, unpacked


def _outcomes(report: Path) -> tuple[Counter[str], set[str]]:
    """Returns the number of tests by outcome, and the names of those that failed."""
    counted: Counter[str] = Counter()
    failed = set()
    for case in ElementTree.parse(report).iter("testcase"):
        outcome = next((part.tag for part in case if part.tag in {"failure", "error", "skipped"}), "passed")
        counted[outcome] += 1
        if outcome in {"failure", "error"}:
            failed.add(case.attrib["name"])
    return counted, failed


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_suite_of_a_python_package(suite: Suite, server: Server, tmp_path: Path) -> None:
    archive, folder = _sdist(suite, tmp_path)
    python = python_with(f"{archive}{suite.extra}", f"suite-{suite.name}-{suite.version}", *suite.installed)
    report = tmp_path / "report.xml"
    credentials = tmp_path / "credentials"
    credentials.write_text("[default]\naws_access_key_id = test\naws_secret_access_key = test\n")
    host, _, port = server.url.removeprefix("http://").partition(":")
    run = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-W", "ignore", f"--junitxml={report}", *suite.arguments],
        cwd=folder,
        env={
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(tmp_path),
            "PYTHONPATH": str(PLUGINS),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            **{
                name: value.format(url=server.url, host=host, port=port, credentials=credentials)
                for name, value in suite.environment.items()
            },
        },
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert report.exists(), run.stdout[-4000:] + run.stderr[-4000:]
    counted, failed = _outcomes(report)
    assert failed == set(suite.failed), run.stdout[-8000:]
    assert counted["passed"] == suite.passed, counted


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_guregu_dynamo_suite(server: Server, tmp_path: Path) -> None:
    described = json.loads(_fetch(["go", "mod", "download", "-json", "github.com/guregu/dynamo/v2@v2.1.1"]))
    folder = tmp_path / "dynamo"
    shutil.copytree(described["Dir"], folder, copy_function=shutil.copyfile)
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        path.chmod(0o755)  # the folders of Go's cache are read-only, and so are copies of them
    run = subprocess.run(
        ["go", "test", "-json", "./..."],
        cwd=folder,
        env={
            **os.environ,
            "DYNAMO_TEST_ENDPOINT": server.url,
            "DYNAMO_TEST_REGION": "local",
            "DYNAMO_TEST_TABLE": "TestDB-%",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        },
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    events = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    ended = Counter(
        event["Action"]
        for event in events
        if event.get("Test") and event["Action"] in {"pass", "fail", "skip"}
    )
    assert ended == {"pass": 190}, run.stderr[-4000:] + run.stdout[-4000:]
