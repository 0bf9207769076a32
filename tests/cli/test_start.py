"""What a start loads: nothing that its first requests do not need, so that it is short and the process small.

What it proves: which modules are not imported. How long a start takes is for `make bench` to say.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from faradisc.operations.registry import OPERATIONS
from fixtures.clients import client_at
from fixtures.schemas import schema

FOR_FEW = (
    *("amazon", "boto3", "botocore", "cbor2", "cryptography", "hcl2", "numpy", "prometheus_client", "yaml"),
    *("bz2", "lzma", "tempfile", "zoneinfo"),
    *(
        "faradisc.charts",
        "faradisc.engine.check",
        "faradisc.console",
        "faradisc.tools.consumers",
        "faradisc.local",
    ),
    *(
        "faradisc.services.cloudwatch",
        "faradisc.language.partiql",
        "faradisc.tools.planner",
        "faradisc.services.autoscaling",
        "faradisc.tools.seeding",
    ),
    *("faradisc.tools.transfer", "faradisc.cli.backups", "faradisc.cli.plan", "faradisc.cli.transfers"),
    *("faradisc.auth.strict", "faradisc.engine.exchange.exporting", "faradisc.engine.exchange.importing"),
    *(
        "faradisc.engine.exchange.s3",
        "faradisc.server.exposition",
        "faradisc.server.seed",
        "faradisc.storage.memory",
    ),
)
"""Packages and modules that a server loads when somebody asks for what they do, or never."""

TELLING = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from faradisc.cli.main import main
main()
"""
"""The command; at its end it tells the names of all modules that it has imported."""


def brought_along() -> set[str]:
    """What Python and the libraries of every start import, which is not ours to choose."""
    libraries = "import asyncio, click, httptools, orjson, rocksdict, sys, uvloop; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", libraries], capture_output=True, text=True, check=True)
    return set(told.stdout.split())


def loaded_by(tmp_path: Path, command: Callable[..., Any], ask: Callable[[Any], object]) -> set[str]:
    """The names of all modules that a server has imported when it has answered and ended."""
    port_file, loaded = tmp_path / "port", tmp_path / "loaded"
    serve = ["serve", "--port", "0", "--port-file", str(port_file), "--data-dir", str(tmp_path / "data")]
    with loaded.open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-c", TELLING, *serve], stdout=subprocess.DEVNULL, stderr=told
        )
        try:
            assert command("wait", "--port-file", str(port_file)).returncode == 0
            ask(client_at(int(port_file.read_text())))
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait()
    assert code == 0
    return set(loaded.read_text().split()) - brought_along()


def below(package: str, loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.startswith(f"{package}.")}


def test_a_server_that_lists_its_tables_has_loaded_no_other_operation(tmp_path: Path, command: Any) -> None:
    loaded = loaded_by(tmp_path, command, lambda dynamodb: dynamodb.list_tables())
    assert loaded & set(FOR_FEW) == set()
    assert below("faradisc.language.expressions", loaded) == set()
    assert below("faradisc.operations", loaded) == {
        f"faradisc.operations.{name}" for name in ("call", "list_tables", "registry")
    }


def test_a_server_that_keeps_items_has_loaded_nothing_for_few(tmp_path: Path, command: Any) -> None:
    def ask(dynamodb: Any) -> None:
        dynamodb.create_table(TableName="things", **schema("pk:S"))
        item = {"pk": {"S": "a"}, "n": {"N": "1"}}
        dynamodb.put_item(TableName="things", Item=item, ConditionExpression="attribute_not_exists(pk)")
        assert dynamodb.get_item(TableName="things", Key={"pk": {"S": "a"}})["Item"] == item
        assert dynamodb.scan(TableName="things")["Count"] == 1

    loaded = loaded_by(tmp_path, command, ask)
    assert "faradisc.language.expressions.condition" in loaded, "the names are those that Python tells"
    assert loaded & set(FOR_FEW) == set()


def test_the_list_names_modules_that_there_are() -> None:
    assert {name for name in FOR_FEW if name.startswith("faradisc") and find_spec(name) is None} == set()


def test_a_command_loads_no_other() -> None:
    told = subprocess.run(
        [sys.executable, "-c", TELLING, "version"], capture_output=True, text=True, check=True
    )
    loaded = set(told.stderr.split())
    assert below("faradisc.cli", loaded) == {"faradisc.cli.main"}
    assert loaded & {"asyncio", "faradisc.server", "faradisc.database"} == set()


def test_every_operation_has_its_function() -> None:
    for operation in OPERATIONS.values():
        handler = operation.load()
        assert handler is operation.handler
        assert handler.__module__.startswith("faradisc.operations.")
