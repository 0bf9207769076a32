"""Every command of the pages is one that exists, with options that exist.

Options of `faradisc` commands are held against the command line, those of `aws` commands against the service
model. JSON and YAML blocks are parsed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import botocore.session
import click
import pytest
from botocore import xform_name
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faradisc.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packages/**/*.md", "bench/*.md")
    for path in ROOT.glob(pattern)
    if "node_modules" not in path.parts
)
_LINE = re.compile(r"^(?:    |\$ |    \$ )?(?:[A-Z_]+=\S+ )*((?:faradisc|aws) .*)$")
_LINE_ENDS = re.compile(r"\n(?=[^']*(?:'[^']*'[^']*)*$)")
"""Ends of lines that are not within quotes."""
_SHELL = {"sh", "bash", "console", "shell"}
_GLOBAL_AWS = {
    "--endpoint-url",
    "--region",
    "--profile",
    "--query",
    "--output",
    "--cli-input-json",
    "--no-verify-ssl",
}


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yields the language and the text of each fenced block; "" for the indented lines of a page."""
    language: str | None = None
    block: list[str] = []
    indented: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            if language is None:
                language, block = line.lstrip()[3:], []
            else:
                yield language, "\n".join(block)
                language = None
        elif language is not None:
            block.append(line)
        elif line.startswith("    "):
            indented.append(line)
    yield "", "\n".join(indented)


def _commands(path: Path) -> Iterator[list[str]]:
    for language, text in _blocks(path.read_text()):
        if language in _SHELL | {""}:
            text = re.sub(r"\\\n\s*", " ", text)
            for line in _LINE_ENDS.split(text) if language else text.splitlines():
                if match := _LINE.match(line):
                    words = _words(match[1])
                    if "..." not in words:
                        yield words


def _words(line: str) -> list[str]:
    """Returns the words of a command, up to a pipe, a redirection or an explanation after wide space."""
    for space in re.finditer(" {3,}", line):
        if line[: space.start()].count("'") % 2 == 0:
            line = line[: space.start()]
            break
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(takewhile(lambda word: not set(word) <= set("|&;<>()"), lexer))


def _check_faradisc(words: list[str]) -> None:
    command: click.Command = cli
    context = click.Context(cli, info_name="faradisc")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
        context = click.Context(command, info_name=words[0] if words else "", parent=context)
    names = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    names |= {"--help", "-h", "--version"}
    used = {word.split("=")[0] for word in words if word.startswith("-") and len(word) > 1}
    assert used <= names, used - names


def _check_aws(words: list[str]) -> None:
    session = botocore.session.get_session()
    service = {"s3": None, "s3api": "s3"}.get(words[0], words[0])
    if service is None:
        return  # its commands are the CLI's own
    model = session.get_service_model(service)
    operations = {xform_name(name, "-"): name for name in model.operation_names}
    assert words[1] in operations, words[1]
    shape = model.operation_model(operations[words[1]]).input_shape
    members = (
        {f"--{xform_name(name, '-')}": member for name, member in shape.members.items()} if shape else {}
    )
    flags = {f"--no-{name[2:]}" for name, member in members.items() if member.type_name == "boolean"}
    used = {word.split("=")[0] for word in words[2:] if word.startswith("--")}
    unknown = used - members.keys() - flags - _GLOBAL_AWS
    assert unknown == set(), unknown
    required = {f"--{xform_name(name, '-')}" for name in shape.required_members} if shape else set()
    assert required <= used, required - used


def test_commands_of_the_pages_exist_with_their_options() -> None:
    wrong = []
    count = 0
    for path in PAGES:
        for words in _commands(path):
            count += 1
            try:
                (_check_faradisc if words[0] == "faradisc" else _check_aws)(words[1:])
            except (AssertionError, LookupError) as error:
                wrong.append(f"{path.relative_to(ROOT)}: {shlex.join(words)}: {error}")
    assert wrong == []
    assert count > 60


def test_json_and_yaml_blocks_can_be_parsed() -> None:
    wrong = []
    for path in PAGES:
        for language, text in _blocks(path.read_text()):
            try:
                if language == "json":
                    json.loads(text)
                elif language in {"yaml", "yml"}:
                    YAML(typ="safe").load(text)
            except (ValueError, YAMLError) as error:
                wrong.append(f"{path.relative_to(ROOT)}: {error}")
    assert wrong == []


def test_a_wrong_option_and_a_wrong_command_are_found() -> None:
    for words in (["serve", "--colour", "red"], ["sevre"]):
        with pytest.raises(AssertionError):
            _check_faradisc(words)
    for words in (["dynamodb", "put-item"], ["dynamodb", "list-tables", "--name", "x"], ["dynamodb", "list"]):
        with pytest.raises(AssertionError):
            _check_aws(words)
