"""The built wheel in a clean environment: it serves, and each extra that is missing is one sentence.

It installs from the configured index, with the versions of constraints.txt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
EXTRAS = ("console", "exchange", "local", "mcp", "plan", "postgres", "seed", "vectors")
SCRIPT = """
import subprocess, sys, time
from pathlib import Path
from botocore.session import get_session
port = Path("port")
options = ["--data-dir", "data", "--port", "0", "--port-file", "port"]
process = subprocess.Popen(["{faradisc}", "serve", *options])
try:
    subprocess.run(["{faradisc}", "wait", "--port-file", "port"], check=True)
    url = "http://127.0.0.1:" + port.read_text().strip()
    client = get_session().create_client("dynamodb", region_name="us-east-1", endpoint_url=url,
        aws_access_key_id="any", aws_secret_access_key="any")
    key = [{{"AttributeName": "pk", "KeyType": "HASH"}}]
    types = [{{"AttributeName": "pk", "AttributeType": "S"}}]
    client.create_table(TableName="Things", KeySchema=key, AttributeDefinitions=types,
        BillingMode="PAY_PER_REQUEST")
    client.put_item(TableName="Things", Item={{"pk": {{"S": "a"}}, "n": {{"N": "1"}}}})
    print(client.get_item(TableName="Things", Key={{"pk": {{"S": "a"}}}})["Item"]["n"]["N"])
finally:
    process.terminate()
    process.wait(30)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment that has the wheel without extras."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([folder / "bin" / "pip", "-q", "install", *CONSTRAINTS, str(wheel)], check=True)
    return folder / "bin"


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(clean: Path, tmp_path: Path) -> Run:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [clean / "faradisc", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return command


def examined(run: Run) -> dict[str, dict[str, Any]]:
    ended = run("doctor", "--port", "0", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    return {check["name"]: check for check in json.loads(ended.stdout)}


def test_wheel_has_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"faradisc", f"faradisc-{__version__}.dist-info"}
    assert {"faradisc/py.typed", "faradisc/tools/console/style.css"} <= set(names)
    files = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "faradisc").rglob("*")
        if path.is_file()
    }
    assert {name for name in files if "__pycache__" not in name} <= set(names)


def test_installed_command_serves(clean: Path, run: Run, tmp_path: Path) -> None:
    assert run("--version").stdout == f"faradisc {__version__}\n"
    script = SCRIPT.format(faradisc=clean / "faradisc")
    ended = subprocess.run(
        [clean / "python", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "1"), ended.stderr
    assert "storage format" in run("inspect", "data").stdout


def test_pytest_plugin_is_quiet_also_when_the_package_is_imported_before(clean: Path, tmp_path: Path) -> None:
    subprocess.run([clean / "pip", "-q", "install", *CONSTRAINTS, "pytest"], check=True)
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n\ndef test_missing(dynamodb): pass\n")
    program = "import faradisc, pytest; pytest.main(['-W', 'error', '-p', 'no:cacheprovider', 'test_it.py'])"
    ended = subprocess.run(
        [clean / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "1 passed, 1 error" in ended.stdout, ended.stdout + ended.stderr
    assert "pip install 'faradisc[local]'" in ended.stdout


def test_doctor_names_every_missing_extra(run: Run) -> None:
    found = examined(run)
    assert found["libraries"]["result"] == "ok"
    for extra in EXTRAS:
        assert found[f"extra {extra}"]["result"] == "missing"
        assert found[f"extra {extra}"]["text"].endswith(f"Run: pip install 'faradisc[{extra}]'")


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("plan", ("plan", "plan.yaml")),
        ("plan", ("advise", "--tables", ".")),
        ("mcp", ("mcp",)),
        ("console", ("console", "--port", "0")),
        ("console", ("serve", "--memory", "--port", "0", "--console")),
        ("postgres", ("serve", "--port", "0", "--store", "postgresql://127.0.0.1:1/none")),
        ("seed", ("seed", "tables")),
    ],
)
def test_missing_extra_is_a_sentence(
    run: Run, tmp_path: Path, extra: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "plan.yaml").write_text("duration: 1m\n")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "main.tf").write_text('resource "aws_dynamodb_table" "orders" {}\n')
    ended = run(*arguments)
    assert ended.returncode in (1, 2)
    assert f"pip install 'faradisc[{extra}]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_missing_boto3_is_a_sentence_in_process(clean: Path) -> None:
    ended = subprocess.run(
        [clean / "python", "-c", "import faradisc.local"], capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1].startswith("ImportError: ") and "faradisc[local]" in ended.stderr


def test_extras_are_installed_and_used(wheel: Path, clean: Path, run: Run, tmp_path: Path) -> None:
    """Last: it adds every extra to the environment."""
    extras = f"{wheel}[{','.join(EXTRAS)}]"
    subprocess.run([clean / "pip", "-q", "install", *CONSTRAINTS, extras], check=True)
    found = examined(run)
    assert {found[f"extra {extra}"]["result"] for extra in EXTRAS} == {"ok"}
    (tmp_path / "plan.yaml").write_text(
        "duration: 1m\ntables: {Orders: {mode: on-demand}}\n"
        "traffic: [{operation: GetItem, rate: 1, keys: single}]\n"
    )
    assert run("plan", "plan.yaml").returncode == 0
    imported = "import faradisc.local, faradisc.tools.mcp.server, faradisc.tools.console.pages.items, asyncpg"
    subprocess.run([clean / "python", "-c", imported], check=True)
