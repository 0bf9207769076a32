"""The four sources of settings: command line, environment, file, default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from faradisc.cli.config import config
from faradisc.cli.main import cli
from faradisc.cli.serving import serve
from faradisc.server.setting import COMMON, EMULATION
from faradisc.server.settings import SETTINGS


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shown(*arguments: str, **environment: str) -> dict[str, tuple[Any, str]]:
    """Returns value and source of each setting that has not its default."""
    result = CliRunner().invoke(config, [*arguments, "--format", "json"], env=environment)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    return {each["name"]: (each["value"], each["source"]) for each in found if each["source"] != "default"}


def rejection(*arguments: str, **environment: str) -> str:
    result = CliRunner().invoke(config, arguments, env=environment)
    assert result.exit_code == 2
    return result.output


def test_each_source_overrides_those_below_it() -> None:
    Path("faradisc.toml").write_text('port = 1\nhost = "from-file"\nregion = "eu-west-1"\n')
    assert shown("--port", "3", FARADISC_PORT="2", FARADISC_HOST="from-environment") == {
        "port": (3, "--port"),
        "host": ("from-environment", "FARADISC_HOST"),
        "region": ("eu-west-1", "faradisc.toml"),
    }


def test_a_repeatable_setting_has_all_its_values() -> None:
    two = "a=http://x b=http://y"
    Path("faradisc.toml").write_text(f'regions = "us-east-1"\npeer = "{two}"\n')
    assert shown()["peer"] == (two, "faradisc.toml")
    assert shown(FARADISC_PEER="c=http://z d=http://z")["peer"] == ("c=http://z d=http://z", "FARADISC_PEER")
    assert shown("--peer", "a=http://x", "--peer", "b=http://y")["peer"] == (two, "--peer")


def test_another_file_can_be_named() -> None:
    Path("faradisc.toml").write_text("port = 1\n")
    Path("other.toml").write_text("slow-ms = 5\n")  # a whole number is a number
    assert shown("--config", "other.toml") == {"slow-ms": (5.0, "other.toml")}
    assert shown(FARADISC_CONFIG="other.toml") == {"slow-ms": (5.0, "other.toml")}
    assert "missing.toml cannot be used" in rejection("--config", "missing.toml")


@pytest.mark.parametrize(
    "arguments", [("--emulate", "conflict-rate=0.5"), ("--conflict-rate", "0.5")], ids=["emulate", "own"]
)
def test_settings_of_emulation(arguments: tuple[str, ...]) -> None:
    Path("faradisc.toml").write_text("[emulate]\nconflict-rate = 0.1\ntransition-ms = 7\n")
    assert shown() == {"conflict-rate": (0.1, "faradisc.toml"), "transition-ms": (7, "faradisc.toml")}
    found = shown(*arguments, FARADISC_TRANSITION_MS="8")
    assert found["conflict-rate"][0] == 0.5
    assert found["transition-ms"] == (8, "FARADISC_TRANSITION_MS")
    assert shown("--config", "faradisc.toml", *arguments)["conflict-rate"][0] == 0.5
    assert shown(*arguments, "--config", "faradisc.toml")["conflict-rate"][0] == 0.5
    several = shown(FARADISC_EMULATE="conflict-rate=0.2 transition-ms=9")
    assert several == {
        "conflict-rate": (0.2, "FARADISC_EMULATE"),
        "transition-ms": (9, "FARADISC_EMULATE"),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("port = 1\nprot = 2\n", "faradisc.toml line 2: there is no setting prot here. Did you mean port?"),
        ('\nport = "1"\n', "faradisc.toml line 2: port is a whole number, not '1'."),
        ("console = 1\n", "line 1: console is true or false, not 1."),
        ("account = 12\n", "line 1: account is a text, not 12."),
        ("slow-ms = true\n", "line 1: slow-ms is a number, not True."),
        (
            "conflict-rate = 0.1\n",
            "there is no setting conflict-rate here. Did you mean conflict-rate under [emulate]?",
        ),
        ("[emulate]\nport = 1\n", "line 2: there is no setting port here."),
        ("emulate = 1\n", "line 1: emulate is a table: write [emulate]."),
        ("port = \n", "line 1"),
        ("xyz = 1\n", "`faradisc config --all` lists them."),
        ("conflict_rate = 1\n", "Did you mean conflict-rate under [emulate]?"),
    ],
)
def test_mistakes_in_the_file(text: str, sentence: str) -> None:
    Path("faradisc.toml").write_text(text)
    assert sentence in " ".join(rejection().split())


def test_mistakes_in_emulate() -> None:
    for given in ("conflict-rate", "port=1", "=1"):
        assert f"'{given}' is not KEY=VALUE with one of collection-bytes-max," in rejection(
            "--emulate", given
        )
    assert "transition-ms is a whole number, not 'x'" in rejection("--emulate", "transition-ms=x")
    assert "not between 0 and 1" in rejection("--emulate", "conflict-rate=7")  # of the settings together


def test_memory_and_a_data_directory() -> None:
    Path("faradisc.toml").write_text("memory = true\n")
    assert shown()["memory"] == (True, "faradisc.toml")
    assert "memory" not in {name for name, (value, _) in shown("--data-dir", "x").items() if value is True}
    assert shown("--memory", FARADISC_DATA_DIR="x")["memory"] == (True, "--memory")
    assert "Choose either --memory" in rejection("--memory", "--data-dir", "x")


def test_no_password_is_shown() -> None:
    text = CliRunner().invoke(config, ["--store", "postgresql://me:secret@host/db"]).output
    assert "host/db" in text
    assert "secret" not in text


def test_help_lists_ten_settings_and_help_all_every_one() -> None:
    common = [each for each in SETTINGS if each.group == COMMON]
    assert len(common) == 10
    short = CliRunner().invoke(serve, ["--help"]).output
    whole = CliRunner().invoke(serve, ["--help-all"]).output
    for each in SETTINGS:
        assert (f"  {each.option} " in short) == (each in common)
        assert f"  {each.option} " in whole or each.group == EMULATION
        assert each.group in whole or each in common
        assert each.group != EMULATION or f"  {each.option.removeprefix('--')}={each.default}" in whole


def test_a_command_that_does_not_exist_gets_a_suggestion() -> None:
    assert "There is no command 'serv'. Did you mean serve?" in CliRunner().invoke(cli, ["serv"]).output
    assert "`faradisc --help` lists them." in CliRunner().invoke(cli, ["xyzzy"]).output


@pytest.mark.parametrize("is_installed", [True, False])
def test_without_a_command_it_serves(
    serve_here: None, is_installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: is_installed or None)
    monkeypatch.setattr("faradisc.server.lifecycle.serve", served.append)
    assert CliRunner().invoke(cli, []).exit_code == 0
    assert (served[0].console, served[0].port, served[0].data_dir) == (is_installed, 8000, "faradisc-data")
    served.clear()
    CliRunner().invoke(cli, [], env={"FARADISC_CONSOLE": "0"})
    assert not served[0].console
