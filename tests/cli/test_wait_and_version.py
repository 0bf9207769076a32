"""`faradisc wait` and `faradisc version`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from faradisc import __version__
from faradisc.cli import waiting
from faradisc.cli.main import cli
from faradisc.cli.waiting import READY_PATH
from fixtures.doubles import QuietRequests, serving


def wait(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["wait", *arguments])


@pytest.fixture
def busy_port() -> Iterator[int]:
    """A port that is bound but has no listener, so connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer for an answer than `--timeout 0` waits."""
    monkeypatch.setattr(waiting, "PAUSE_S", waiting.PROBE_S)


class Answers(QuietRequests):
    """Answers each request with the next (status, body), and then repeats the last one."""

    script: list[tuple[int, bytes]]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, body = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.answer(status, body)


@pytest.fixture
def answering() -> Iterator[tuple[type[Answers], int]]:
    class Handler(Answers):
        script: list[tuple[int, bytes]] = []  # noqa: RUF012
        asked: list[str] = []  # noqa: RUF012

    with serving(Handler) as port:
        yield Handler, port


def test_wait_returns_when_the_server_is_ready(
    answering: tuple[type[Answers], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PAUSE_S", 0.001)
    handler, port = answering
    handler.script = [(503, b'{"status":"starting"}')] * 3 + [(200, b'{"status":"ready"}')]
    result = wait("--url", f"http://127.0.0.1:{port}")
    assert (result.exit_code, result.output) == (0, "")
    assert handler.asked == [READY_PATH] * 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((503, b'{"status":"starting"}'), "it answered 503 (starting)"),
        ((503, b""), "it answered 503"),
        ((404, b"<html>"), "it answered 404"),
        ((500, b"[]"), "it answered 500"),
    ],
)
def test_timeout_reports_the_last_answer(
    answering: tuple[type[Answers], int], answer: tuple[int, bytes], reason: str
) -> None:
    handler, port = answering
    handler.script = [answer]
    result = wait("--port", str(port), "--timeout", "0")
    assert result.exit_code == 1
    assert result.stderr == f"faradisc: http://127.0.0.1:{port} is not ready after 0 s: {reason}.\n"


def test_timeout_reports_a_refused_connection(busy_port: int) -> None:
    result = wait("--port", str(busy_port), "--timeout", "0")
    assert (result.exit_code, result.stderr) == (
        1,
        f"faradisc: http://127.0.0.1:{busy_port} is not ready after 0 s: the connection was refused.\n",
    )


def test_timeout_reports_another_protocol() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-something\r\n\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        result = wait("--port", str(server.getsockname()[1]), "--timeout", "0")
        thread.join()
    assert result.exit_code == 1
    assert "SSH-2.0-something" in result.stderr


def test_timeout_reports_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PROBE_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        result = wait("--port", str(silent.getsockname()[1]), "--timeout", "0")
    assert result.exit_code == 1
    assert "it does not answer" in result.stderr


def test_wait_reads_the_port_file(answering: tuple[type[Answers], int], tmp_path: Path) -> None:
    handler, port = answering
    handler.script = [(200, b"")]
    path = tmp_path / "port"
    result = wait("--port-file", str(path), "--timeout", "0")
    assert result.exit_code == 1
    assert result.stderr == (
        f"faradisc: the server of port file {path} is not ready after 0 s: the file does not exist.\n"
    )
    path.write_text("nonsense")
    assert "the file has no port" in wait("--port-file", str(path), "--timeout", "0").stderr
    path.write_text(f"{port}\n")
    assert wait("--port-file", str(path), "--port", "0").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--url", "ftp://127.0.0.1:1"], "is not an http:// or https:// address"),
        (["--url", "http://"], "is not an http:// or https:// address"),
        (["--url", "http://127.0.0.1:x"], "is not an http:// or https:// address"),
        (["--url", "http://127.0.0.1:99999"], "is not an http:// or https:// address"),
        (["--port", "0"], "use --port-file instead"),
        (["--port", "70000"], "0<=x<=65535"),
        (["--timeout", "-1"], "x>=0"),
    ],
)
def test_invalid_addresses(arguments: list[str], text: str) -> None:
    result = wait(*arguments)
    assert result.exit_code == 2
    assert text in result.stderr


def test_url_without_scheme(busy_port: int) -> None:
    for url in (f"127.0.0.1:{busy_port}", f"http://127.0.0.1:{busy_port}/"):
        assert f"http://127.0.0.1:{busy_port} is not ready" in wait("--url", url, "--timeout", "0").stderr


def test_version_command_and_option() -> None:
    for arguments in (["version"], ["--version"]):
        result = CliRunner().invoke(cli, arguments)
        assert (result.exit_code, result.output) == (0, f"faradisc {__version__}\n")


def test_module_is_the_command(command: Any) -> None:
    result = command("version")
    assert (result.returncode, result.stdout) == (0, f"faradisc {__version__}\n")


@pytest.mark.parametrize("command", [("promote",), ("nodes",), ("place",)])
def test_commands_for_administration_say_that_a_server_is_not_ready(
    answering: tuple[type[Answers], int], command: tuple[str, ...]
) -> None:
    handler, port = answering
    handler.do_POST = handler.do_GET  # type: ignore[attr-defined]
    handler.script = [(503, b"")]
    result = CliRunner().invoke(cli, [*command, "--url", f"http://127.0.0.1:{port}"])
    assert result.exit_code != 0
    assert "is starting, stopping or busy; try again in a moment." in result.output
