"""The steps of the Dockerfile in a root file system that debootstrap makes, and its program.

What it does not prove: that Docker builds the image, since no daemon is needed here, nor that
python:3.13-slim has what Debian's Python has. Needs root, debootstrap, and a network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples.endpoint import connect

from faradisc.server.setting import ENVIRONMENT_PREFIX
from faradisc.server.settings import ServerSettings
from fixtures.environments import cache_folder

ROOT = Path(__file__).resolve().parents[2]
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"


def instructions() -> list[tuple[str, str]]:
    """Returns (instruction, rest) of the Dockerfile, in order."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in lines if line.strip()]


def shell_words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


# --- What files promise ------------------------------------------------------------------------------


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    return found


def test_image_has_an_unprivileged_user_a_volume_and_a_health_check() -> None:
    found = dict(instructions())
    assert (found["USER"], found["VOLUME"], found["EXPOSE"]) == ("faradisc", "/data", "8000")
    command = found["HEALTHCHECK"].partition("CMD ")[2]
    assert json.loads(command)[:2] == ["faradisc", "wait"]
    assert json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"]) == ["faradisc", "serve"]


def test_settings_of_the_files_are_settings_of_the_server() -> None:
    known = {ENVIRONMENT_PREFIX + name.upper() for name in ServerSettings.__dataclass_fields__}
    used = [name for word, rest in instructions() if word == "ENV" for name in shell_words(rest)]
    used += [name for each in services().values() for name in each.get("environment", {})]
    used = [name for name in used if name.startswith(ENVIRONMENT_PREFIX)]
    assert set(used) <= known
    assert len(used) >= 6


def test_image_listens_for_other_machines_only_when_told() -> None:
    image = {
        key: value
        for word, rest in instructions()
        if word == "ENV"
        for key, value in shell_words(rest).items()
    }
    assert image["FARADISC_HOST"] == "0.0.0.0"
    assert "FARADISC_TRUST_NETWORK" not in image
    assert all(
        each["environment"]["FARADISC_TRUST_NETWORK"] == "1"
        for name, each in services().items()
        if name not in ("postgres", "console")
    )


def test_compose_publishes_on_this_machine_only_and_has_three_nodes() -> None:
    found = services()
    published = [port for each in found.values() for port in each.get("ports", [])]
    assert sorted(published) == [f"127.0.0.1:{port}:8000" for port in (8000, 8001, 8002, 8003)]
    assert len([name for name, each in found.items() if "FARADISC_STORE" in each.get("environment", {})]) == 3
    assert found["console"]["network_mode"] == "host"


# --- The steps ---------------------------------------------------------------------------------------


class Box:
    """A root file system in which the steps of the Dockerfile are run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.arguments: dict[str, str] = {}
        self.user = "root"
        self.folder = "/"
        self.stages = 0

    def command(self, *words: str) -> list[str]:
        prefix = ["chroot", f"--userspec={self.user}", str(self.root), "env", "-i", f"--chdir={self.folder}"]
        return [*prefix, *(f"{name}={value}" for name, value in self.environment.items()), *words]

    def build(self) -> None:
        for word, rest in instructions():
            match word:
                case "FROM":
                    self.stages += 1
                    assert rest.startswith("python:3.")
                    self.folder = "/"
                case "ARG":
                    self.arguments |= shell_words(rest)
                case "ENV":
                    values = shell_words(rest)
                    old = self.environment["PATH"]
                    self.environment |= {name: value.replace("$PATH", old) for name, value in values.items()}
                case "WORKDIR":
                    self.folder = rest
                    (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(rest.split())
                case "RUN":
                    exports = "".join(f"{name}='{value}'; " for name, value in self.arguments.items())
                    self._run(exports + rest)
                case "USER":
                    self.user = rest
                case _:
                    assert word in ("VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD")

    def _copy(self, words: list[str]) -> None:
        if words[0].startswith("--from="):  # all stages are one file system here
            assert words[1] == words[2]
            assert (self.root / words[1].lstrip("/")).exists()
            return
        *sources, target = words
        for source in sources:
            copy = self.root / self.folder.lstrip("/") / target / (source if target == "./" else "")
            if (ROOT / source).is_dir():
                leave = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, copy, dirs_exist_ok=True, ignore=leave)
            else:
                shutil.copy(ROOT / source, copy)

    def _run(self, script: str) -> None:
        # How this machine reaches the package index is no part of the image.
        outside = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_CERT"))}
        before, self.environment = self.environment, self.environment | outside
        command = self.command("/bin/sh", "-ec", script)
        self.environment = before
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    root = cache_folder() / f"debian-{SUITE}"
    if not (root / "usr" / "bin" / "python3").exists():
        include = "--include=python3,python3-venv,ca-certificates"
        command = ["debootstrap", "--variant=minbase", include, SUITE, str(root), MIRROR]
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
        if Path(name).exists():
            shutil.copy(name, root / name.lstrip("/"))
    for name in ("opt/faradisc", "data", "src"):
        shutil.rmtree(root / name, ignore_errors=True)
    subprocess.run(["chroot", str(root), "userdel", "faradisc"], capture_output=True, check=False)
    made = Box(root)
    made.build()
    yield made


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="chroot needs root")
@pytest.mark.skipif(shutil.which("debootstrap") is None, reason="debootstrap is not installed")
def test_steps_make_a_server_that_serves_and_is_healthy(box: Box) -> None:
    assert box.stages == 2
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    box.environment |= {"FARADISC_PORT": str(port), "FARADISC_TRUST_NETWORK": "1"}
    found = dict(instructions())
    server = subprocess.Popen(box.command(*json.loads(found["ENTRYPOINT"]), *json.loads(found["CMD"])))
    try:
        health = json.loads(found["HEALTHCHECK"].partition("CMD ")[2])
        subprocess.run(box.command(*health[:-1], "30"), check=True, timeout=60)
        assert Path(f"/proc/{server.pid}").stat().st_uid == 10001
        dynamodb = connect(f"http://127.0.0.1:{port}")
        dynamodb.create_table(
            TableName="Music",
            KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "Artist", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        dynamodb.get_waiter("table_exists").wait(TableName="Music", WaiterConfig={"Delay": 1})
        dynamodb.put_item(TableName="Music", Item={"Artist": {"S": "Ella Fitzgerald"}})
        assert dynamodb.scan(TableName="Music")["Count"] == 1
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    owners = {path.stat().st_uid for path in (box.root / "data").rglob("*")}
    assert owners == {10001}
    sick = subprocess.run(box.command(*health[:-1], "1"), capture_output=True, check=False, timeout=60)
    assert sick.returncode == 1
