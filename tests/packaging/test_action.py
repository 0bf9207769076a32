"""action.yml: its steps are run by a shell, as GitHub's runner would, on this machine.

What is not proved: that the runner starts them so. The slow test installs the package as the action does.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


class Runner:
    """Runs the steps of the action in a folder."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self._folder = folder
        self._inputs = {name: each["default"] for name, each in ACTION["inputs"].items()} | inputs
        for name in ("GITHUB_ENV", "GITHUB_OUTPUT"):
            (folder / name).touch()

    def _value(self, expression: str) -> str:
        def value(found: re.Match[str]) -> str:
            area, _, name = found[1].partition(".")
            return {"inputs": self._inputs, "github": {"action_path": str(ROOT)}}[area][name]

        return re.sub(r"\$\{\{ ([a-z._]+) \}\}", value, expression)

    def run(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: text for name, text in os.environ.items() if not name.startswith(("AWS_", "FARADISC_"))
        }
        files = {name: str(self._folder / name) for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        given = {name: self._value(text) for name, text in step["env"].items()}
        output = self._folder / "printed"
        with output.open("w") as printed:  # not a pipe: the server that the step leaves running would hold it
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self._folder,
                env={
                    **inherited,
                    **files,
                    **given,
                    "AWS_REGION": "eu-west-1",
                    "RUNNER_TEMP": str(self._folder),
                },
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=300,
                check=False,
                text=True,
            )
        done.stdout = output.read_text()
        return done

    def written(self, name: str) -> dict[str, str]:
        lines = (self._folder / name).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)  # type: ignore[misc]

    def stop(self) -> None:
        """Ends the server that listens for this folder, if there is one."""
        listed = subprocess.run(
            ["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True
        ).stdout
        for line in listed.splitlines():
            if str(self._folder / "faradisc.port") in line:
                os.kill(int(line.split()[0]), signal.SIGTERM)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with an environment whose `faradisc` is this one."""
    program = tmp_path / "faradisc" / "bin" / "faradisc"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m faradisc "$@"\n')
    program.chmod(0o755)
    return tmp_path


@pytest.fixture
def runner(installed: Path) -> Iterator[Runner]:
    runner = Runner(installed, options="--memory --region eu-west-1")
    yield runner
    runner.stop()


def _check(runner: Runner) -> None:
    """Checks that the SDK reaches the server through what the action has exported."""
    environment = runner.written("GITHUB_ENV")
    endpoint = environment["AWS_ENDPOINT_URL_DYNAMODB"]
    assert runner.written("GITHUB_OUTPUT") == {"endpoint": endpoint}
    assert environment["AWS_ENDPOINT_URL_CLOUDWATCH"] == endpoint
    assert "AWS_REGION" not in environment, "the region of the job has to stay"
    client = boto3.client(
        "dynamodb",
        environment["AWS_DEFAULT_REGION"],
        endpoint_url=endpoint,
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
    assert client.list_tables()["TableNames"] == []


def test_action_is_a_composite_whose_output_is_a_step_s() -> None:
    assert ACTION["runs"]["using"] == "composite"
    steps = {step["id"] for step in ACTION["runs"]["steps"] if "id" in step}
    for output in ACTION["outputs"].values():
        assert re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.endpoint \}\}", output["value"])[1] in steps  # type: ignore[index]
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


def test_action_starts_a_server_and_exports_its_endpoint(runner: Runner) -> None:
    _, start = ACTION["runs"]["steps"]
    done = runner.run(start)
    assert done.returncode == 0, done.stdout
    _check(runner)


def test_action_shows_the_log_of_a_server_that_does_not_start(installed: Path) -> None:
    _, start = ACTION["runs"]["steps"]
    program = installed / "faradisc" / "bin" / "faradisc"
    waits = "until [ -s faradisc.log ]; do :; done; exit 1"  # as `faradisc wait` does, until the log is there
    program.write_text(f'#!/bin/sh\n[ "$1" = wait ] && {{ {waits}; }}\necho "$@"\nexit 2\n')
    done = Runner(installed, options="--throughput much").run(start)
    assert done.returncode != 0
    assert "--throughput much" in done.stdout


@pytest.mark.slow
def test_action_installs_what_it_starts(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    try:
        for step in ACTION["runs"]["steps"]:
            done = runner.run(step)
            assert done.returncode == 0, done.stdout
        _check(runner)
    finally:
        runner.stop()
