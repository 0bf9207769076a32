"""Port file and banner; the whole life of a server is in tests/cli."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faradisc import __version__
from faradisc.server.lifecycle import PortFile, PortFileError, banner
from faradisc.server.settings import ServerSettings


def test_port_file_exists_while_the_server_is_ready(tmp_path: Path) -> None:
    path = tmp_path / "port"
    path.write_text("1\n")
    port_file = PortFile(str(path), 8123)
    assert not path.exists()  # the file of an earlier server is removed
    port_file.write()
    assert path.read_text() == "8123\n"
    assert os.listdir(tmp_path) == ["port"]
    port_file.remove()
    port_file.remove()
    assert os.listdir(tmp_path) == []


def test_port_file_of_another_server_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "port"
    port_file = PortFile(str(path), 8123)
    port_file.write()
    path.write_text("8124\n")
    port_file.remove()
    assert path.read_text() == "8124\n"


def test_a_port_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(PortFileError, match="cannot be written"):
        PortFile(str(tmp_path / "missing" / "port"), 1).write()
    with pytest.raises(PortFileError, match="cannot be written"):
        PortFile(str(tmp_path), 1)


def test_the_banner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert banner(ServerSettings(region="eu-west-1"), 8123).splitlines() == [
        f"Faradisc {__version__}, compatible with Amazon DynamoDB, is ready.",
        "  endpoint  http://127.0.0.1:8123",
        "  region    eu-west-1 (account 000000000000)",
        f"  data      {tmp_path / 'faradisc-data'}",
        "  units     counted; nothing is throttled (--throughput aws enforces limits)",
        "  try       AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws dynamodb list-tables"
        " --region eu-west-1 --endpoint-url http://127.0.0.1:8123",
        '  Python    boto3.client("dynamodb", "eu-west-1", endpoint_url="http://127.0.0.1:8123",'
        ' aws_access_key_id="any", aws_secret_access_key="any")',
        "  in tests  from faradisc.local import patch    # no server: a database in the test's own process",
    ]
    assert "in memory, gone at the end" in banner(ServerSettings(memory=True), 1)
    assert "each region apart" in banner(ServerSettings(per_region=True), 1)
    assert "each region apart" in banner(ServerSettings(regions="us-east-1,eu-west-1"), 1)
