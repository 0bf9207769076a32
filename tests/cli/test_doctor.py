"""`faradisc doctor`: what is installed, writable and reachable, and why not; completion of the shell."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from faradisc.cli import doctor
from fixtures.served import Server


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def results(command: Any, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Returns the exit code, and result and text of each check."""
    ended = command("doctor", "--format", "json", *arguments)
    return ended.returncode, {
        check["name"]: (check["result"], check["text"]) for check in json.loads(ended.stdout)
    }


def test_machine_that_can_serve_passes(command: Any) -> None:
    code, found = results(command, "--port", free_port())
    assert code == 0 and {result for result, _ in found.values()} <= {"ok", "missing"}
    assert found["data directory"] == ("ok", "faradisc-data does not exist yet and can be created")
    assert "is free" in found["port"][1] and "botocore" in found["libraries"][1]
    assert "extra plan" in found and "extra vectors" in found


def test_text_has_a_line_for_each_check(command: Any) -> None:
    ended = command("doctor", "--port", free_port())
    assert ended.stdout.startswith("ok       faradisc ") and ended.stdout.count("\n") >= 8


def test_used_directory_and_port_are_recognised(tmp_path: Path, command: Any) -> None:
    with Server("--data-dir", str(tmp_path / "data")) as server:
        port = server.url.rpartition(":")[2]
        code, found = results(command, "--data-dir", "data", "--port", port, "--url", server.url)
        assert code == 0
        assert found["data directory"][1].endswith("a server has it open")
        assert "a server is ready" in found["port"][1] and found["server"][0] == "ok"
        assert server.stop() == 0
    _, found = results(command, "--data-dir", "data", "--port", free_port())
    assert "open" not in found["data directory"][1]


def test_port_of_another_program_fails(command: Any) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
        code, found = results(command, "--port", port)
    assert code == 1 and found["port"][0] == "failed" and "Address already in use" in found["port"][1]


def test_server_that_is_not_there_fails(command: Any) -> None:
    code, found = results(command, "--port", free_port(), "--url", "http://127.0.0.1:1")
    assert code == 1 and found["server"][1].endswith("the connection was refused")


def test_directories_that_cannot_be_used_fail(tmp_path: Path, command: Any) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").write_text("mine")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "FORMAT").write_text("faradisc storage format 99\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o700)
    for name, sentence in (
        ("other", "is no data directory"),
        ("newer", "has storage format 99"),
        ("file", "is not a directory"),
    ):
        code, found = results(command, "--data-dir", name, "--port", free_port())
        assert code == 1 and sentence in found["data directory"][1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_directory_of_another_user_fails(command: Any) -> None:
    code, found = results(command, "--data-dir", "/data-of-faradisc", "--port", free_port())
    assert code == 1 and "cannot be created" in found["data directory"][1]


def test_little_space_fails(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FREE_BYTES_MIN", 1 << 62)
    code, found = results(command, "--port", free_port())
    assert code == 1 and "room for its log" in found["disk"][1]


def test_missing_and_old_libraries_are_named(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "numpy":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "orjson" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    code, found = results(command, "--port", free_port())
    assert code == 1
    assert found["libraries"] == ("failed", "orjson is 0.1, needed is >=3.10. Run: pip install faradisc")
    assert found["extra vectors"] == (
        "missing",
        "numpy is not installed. Run: pip install 'faradisc[vectors]'",
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell: str) -> None:
    words = {"COMP_WORDS": "faradisc adv", "COMP_CWORD": "1" if shell != "fish" else "adv"}
    environment = {**os.environ, "_FARADISC_COMPLETE": f"{shell}_complete", **words}
    completed = subprocess.run(
        [sys.executable, "-c", "from faradisc.cli.main import main; main()"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "advise" in completed.stdout and "serve" not in completed.stdout
