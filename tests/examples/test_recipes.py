"""The recipes for test frameworks and for CI run as they are; `uvx faradisc` is this installation.

What is not proved: that `uvx` installs the package, and what GitHub's runners do with the job.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fixtures.environments import cache_folder

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"
JAVASCRIPT = ("jest", "vitest", "@aws-sdk/client-dynamodb")
ENVIRONMENT = {**os.environ, "FARADISC_COMMAND": f"{sys.executable} -m faradisc"}


def run(folder: Path, *command: str, **environment: str) -> str:
    """Returns what the command prints. Raises AssertionError with it when the command fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def packages() -> Path:
    """A folder with the recipes, and with the frameworks in node_modules."""
    folder = cache_folder() / "recipes"
    shutil.copytree(RECIPES, folder, dirs_exist_ok=True)
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent", *JAVASCRIPT)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.parametrize(("framework", "command"), [("jest", ["jest"]), ("vitest", ["vitest", "run"])])
def test_javascript_framework_starts_and_stops_a_server(
    packages: Path, framework: str, command: list[str]
) -> None:
    printed = run(packages / framework, "npx", *command)
    assert "1 passed" in printed


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
def test_junit_extension_starts_and_stops_a_server(tmp_path: Path) -> None:
    shutil.copytree(RECIPES / "junit", tmp_path / "junit")
    assert "Tests run: 1, Failures: 0, Errors: 0" in run(tmp_path / "junit", "mvn", "-B", "test")


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def test_steps_of_the_ci_job(tmp_path: Path) -> None:
    job = yaml.safe_load((RECIPES / "ci" / "github-actions.yml").read_text())["jobs"]["test"]
    steps = [step["run"] for step in job["steps"] if step.get("if") is None and "run" in step]
    (tmp_path / "bin").mkdir()
    uvx = tmp_path / "bin" / "uvx"
    uvx.write_text(
        f'#!/bin/sh\n[ "$1" = faradisc ] || exit 2\nshift\nexec {sys.executable} -m faradisc "$@"\n'
    )
    uvx.chmod(0o755)
    (tmp_path / "Makefile").write_text(
        f"test:\n\t@{sys.executable} -c "
        '\'import boto3; boto3.client("dynamodb").list_tables(); print("tables were listed")\'\n'
    )
    port = free_port()
    script = "\n".join(["trap 'kill $(jobs -p)' EXIT", *steps]).replace("8000", port)
    environment = {name: value.replace("8000", port) for name, value in job["env"].items()}
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert "tables were listed" in run(tmp_path, "bash", "-e", "-c", script, PATH=path, **environment)
