"""A server imports only the modules that its first requests need.

What it proves: which modules are not imported. `make bench` measures the time of a start.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from faradisc.operations.registry import OPERATIONS
from fixtures.clients import client_at
from fixtures.schemas import schema

OPTIONAL = (
    *(
        "amazon",
        "boto3",
        "botocore",
        "cbor2",
        "cryptography",
        "hcl2",
        "numpy",
        "prometheus_client",
        "rich",
        "yaml",
    ),
    *("bz2", "lzma", "tempfile", "zoneinfo"),
    *(
        "faradisc.charts",
        "faradisc.engine.check",
        "faradisc.tools.console",
        "faradisc.tools.consumers",
        "faradisc.local",
    ),
    *(
        "faradisc.services.cloudwatch",
        "faradisc.language.partiql",
        "faradisc.tools.planner",
        "faradisc.tools.traces",
        "faradisc.services.autoscaling",
        "faradisc.tools.seeding",
    ),
    *("faradisc.tools.transfer", "faradisc.cli.backups", "faradisc.cli.plan", "faradisc.cli.transfers"),
    *("faradisc.auth.identity", "faradisc.auth.policy", "faradisc.auth.strict"),
    *("faradisc.engine.exchange.exporting", "faradisc.engine.exchange.importing"),
    *(
        "faradisc.engine.objects.s3",
        "faradisc.server.exposition",
        "faradisc.server.seed",
        "faradisc.storage.memory",
    ),
)
"""Packages and modules that a server imports on demand, or never."""

MODULES_MAX = 270
"""Modules of Faradisc that a server without tables imports; 265 in November 2026."""
COMPILED_MAX = 40
"""Functions that it compiles: the `__init__` of classes that have objects; 32 in November 2026."""

PRINT_MODULES = """
import atexit, sys
functions = []
def count(event, given):
    if event == "compile" and given[1] == "<string>" and "def " in str(given[0]):
        functions.append(given)
sys.addaudithook(count)
atexit.register(lambda: print(*sys.modules, f"compiled:{len(functions)}", file=sys.stderr))
from faradisc.cli.main import main
main()
"""
"""The command; at its end it prints the names of all imported modules, and how many functions it compiled."""


def modules_of_the_libraries() -> set[str]:
    """Returns the modules that Python and the libraries of every start import."""
    libraries = "import asyncio, click, httptools, orjson, rocksdict, sys, uvloop; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", libraries], capture_output=True, text=True, check=True)
    return set(printed.stdout.split())


def loaded_by(tmp_path: Path, command: Callable[..., Any], ask: Callable[[Any], object]) -> set[str]:
    """Returns the names of all modules that a server has imported when it has answered and ended."""
    port_file, loaded = tmp_path / "port", tmp_path / "loaded"
    serve = ["serve", "--port", "0", "--port-file", str(port_file), "--data-dir", str(tmp_path / "data")]
    with loaded.open("w") as printed:
        process = subprocess.Popen(
            [sys.executable, "-c", PRINT_MODULES, *serve], stdout=subprocess.DEVNULL, stderr=printed
        )
        try:
            assert command("wait", "--port-file", str(port_file)).returncode == 0
            ask(client_at(int(port_file.read_text())))
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait()
    assert code == 0
    return set(loaded.read_text().split()) - modules_of_the_libraries()


def below(package: str, loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.startswith(f"{package}.")}


def test_server_imports_only_the_operations_it_serves(tmp_path: Path, command: Any) -> None:
    loaded = loaded_by(tmp_path, command, lambda dynamodb: dynamodb.list_tables())
    assert loaded & set(OPTIONAL) == set()
    assert below("faradisc.language.expressions", loaded) == set()
    assert below("faradisc.operations", loaded) == {
        f"faradisc.operations.{name}" for name in ("backend", "call", "registry", "request_counter", "tables")
    }
    assert len(below("faradisc", loaded)) <= MODULES_MAX
    compiled = [int(name.partition(":")[2]) for name in loaded if name.startswith("compiled:")]
    assert 0 < compiled[0] <= COMPILED_MAX


def test_server_with_items_imports_no_optional_module(tmp_path: Path, command: Any) -> None:
    def ask(dynamodb: Any) -> None:
        dynamodb.create_table(TableName="things", **schema("pk:S"))
        item = {"pk": {"S": "a"}, "n": {"N": "1"}}
        dynamodb.put_item(TableName="things", Item=item, ConditionExpression="attribute_not_exists(pk)")
        assert dynamodb.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"] == item
        assert dynamodb.scan(TableName="things")["Count"] == 1

    loaded = loaded_by(tmp_path, command, ask)
    assert "faradisc.language.expressions.condition" in loaded, "the listed names are those of sys.modules"
    assert loaded & set(OPTIONAL) == set()


def test_listed_modules_exist() -> None:
    assert {name for name in OPTIONAL if name.startswith("faradisc") and find_spec(name) is None} == set()


def test_command_imports_no_other_command() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES, "version"], capture_output=True, text=True, check=True
    )
    loaded = set(printed.stderr.split())
    assert below("faradisc.cli", loaded) == {"faradisc.cli.main"}
    assert loaded & {"asyncio", "faradisc.server", "faradisc.database"} == set()


@pytest.mark.parametrize(
    "name", ["advise", "backup", "check", "doctor", "iam", "inspect", "plan", "serve", "wait"]
)
def test_help_of_a_command_imports_no_database(name: str) -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES, name, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(printed.stderr.split())
    assert "faradisc.server.settings" in loaded or name == "doctor"
    assert loaded & {"asyncio", "numpy", "faradisc.database", "faradisc.engine.tables.tables"} == set()


def test_local_database_imports_no_test_framework() -> None:
    program = "import faradisc.local, sys; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "faradisc.local.patching" in printed.stdout.split()
    assert not set(printed.stdout.split()) & {"unittest", "pytest"}


def test_every_operation_has_a_function() -> None:
    for operation in OPERATIONS.values():
        handler = operation.load()
        assert handler is operation.handler
        assert handler.__module__.startswith("faradisc.operations.")
