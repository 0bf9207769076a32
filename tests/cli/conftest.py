"""Runs the command: in this process where that makes no difference, otherwise in a separate one."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faradisc.cli import serving
from faradisc.server import lifecycle
from fixtures.commands import run_here

TIMEOUT_S = 60
"""Timeout of a test that hangs."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FARADISC_")}

Command = Callable[..., "subprocess.CompletedProcess[str]"]


SEPARATE = frozenset({"serve", "streams", "version"})
"""Commands that are always run in a separate process: they handle signals, or serve."""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `faradisc ...` in an empty directory to its end."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        if arguments[0] not in SEPARATE:
            return run_here(arguments, tmp_path, environment)
        return subprocess.run(
            [sys.executable, "-m", "faradisc", *arguments],
            cwd=tmp_path,
            env={**ENVIRONMENT, **environment},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    return run


@pytest.fixture
def serve_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets `faradisc serve` begin in this process: the collector is on again, and the logs are the tests'."""
    monkeypatch.setattr(serving, "configure_logs", lambda level, layout: None)
    yield
    gc.enable()


@pytest.fixture
def rejected_serve(serve_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `faradisc serve ...` in this process with settings that it rejects; accepted ones fail."""

    def accepted(*_: object, **__: object) -> None:
        raise AssertionError("the settings were accepted")

    monkeypatch.setattr(lifecycle, "bind", accepted)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_here(("serve", *arguments), tmp_path, environment)

    return run


@pytest.fixture
def rejected_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `faradisc streams ...` in this process, with what ends it by an error before it reads."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # it looks for handlers in the directory

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_here(("streams", *arguments), tmp_path, {})

    return run


class Server:
    """A running `faradisc serve`."""

    def __init__(self, process: subprocess.Popen[str], port_file: Path) -> None:
        self.process = process
        self.port_file = port_file

    @property
    def port(self) -> int:
        return int(self.port_file.read_text())

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Sends a signal. Returns exit code, output and errors."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, output, errors


StartServer = Callable[..., Server]


@pytest.fixture
def start_server(tmp_path: Path, command: Command) -> Iterator[StartServer]:
    """Starts `faradisc serve ...` on a free port and waits until it is ready.

    url: https://... for a server over TLS with the certificate tls/cert.pem.
    """
    started: list[Server] = []

    def start(*arguments: str, url: str = "", wait: bool = True, **environment: str) -> Server:
        port_file = tmp_path / f"port-{len(started)}"
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "faradisc",
                "serve",
                "--port",
                "0",
                "--port-file",
                str(port_file),
                *arguments,
            ],
            cwd=tmp_path,
            env={**ENVIRONMENT, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        server = Server(process, port_file)
        started.append(server)
        if not wait:  # with mutual TLS, `faradisc wait` gets no answer
            while not port_file.exists() and process.poll() is None:
                time.sleep(0.01)
            return server
        trusted = {"AWS_CA_BUNDLE": str(tmp_path / "tls" / "cert.pem")} if url else {}
        waited = command("wait", "--port-file", str(port_file), "--url", url, **trusted)
        if waited.returncode:
            process.kill()
            raise AssertionError((waited.stderr, process.communicate()))
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()
