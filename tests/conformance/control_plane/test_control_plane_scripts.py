"""The scripts of this folder: requests of the control plane and what is recorded of their answers.

    == what is shown                a case: a database of its own; a change of state takes ten seconds
    with {..}                       settings of the case's database
    let NAME {..}                   $NAME stands for this in what follows: in the case, or before the first
                                    case in all of them
    > Operation NAME {..}           a request; a name or an ARN before the JSON is TableName or ResourceArn
    + 10                            ten seconds pass
    < Path.to.0.member = JSON       the last answer has this value there
    < Path.to.member absent         ... or no such member
    ! Exception: text               the last request was refused; `...` stands for any text
    $NAME = Path.to.member          keeps a value of the last answer

A request without `!` after it is accepted. Lines that start with `# ` are prose. Source: errors.md section
6.10, unless a case names another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.in_process import InProcess, Refused

TRANSITION_S = 10
ACCOUNT = "000000000000"
ARN = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/"
Case = tuple[str, list[str]]


def cases() -> Iterator[Any]:
    for script in sorted(Path(__file__).parent.glob("*.script")):
        common, *blocks = script.read_text("utf-8").split("\n== ")
        for block in blocks:
            title, _, body = block.partition("\n")
            lines = [line for line in f"{common}\n{body}".split("\n") if line and not line.startswith("# ")]
            yield pytest.param(lines, id=f"{script.stem}: {title}")


class Script:
    def __init__(self, process: InProcess) -> None:
        self._process = process
        self._names: dict[str, str] = {"ARN": ARN, "ACCOUNT": ACCOUNT}
        self._answer: dict[str, Any] = {}
        self._refused: Refused | None = None

    def run(self, lines: list[str]) -> None:
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind != "!":
                assert self._refused is None, f"refused: {self._refused}\nbefore: {line}"
            if kind.startswith("$"):
                self._names[kind[1:]] = str(self._at(rest.removeprefix("= ")))
            else:
                self._step(kind, rest)
        assert self._refused is None, self._refused

    def _step(self, kind: str, rest: str) -> None:
        if kind == "let":
            name, _, value = rest.partition(" ")
            self._names[name] = self._filled(value)
            return
        rest = self._filled(rest)
        if kind == ">":
            self._request(rest)
        elif kind == "+":
            self._process.clock.advance(float(rest))  # type: ignore[attr-defined]
        elif kind == "<":
            self._expect(rest)
        elif kind == "!":
            assert self._refused is not None, f"accepted: {self._answer}"
            found = f"{self._refused.code}: {self._refused.text}"
            parts = [re.escape(part) for part in rest.split("...")]
            assert re.fullmatch("(?s:.*)".join(parts), found), f"{found}\n{rest}"
            self._refused = None
        else:
            raise AssertionError(f"no step of a script: {kind} {rest}")

    def _filled(self, text: str) -> str:
        names = "|".join(sorted(self._names, key=len, reverse=True))
        return re.sub(rf"\$({names})", lambda name: self._names[name[1]], text)

    def _request(self, text: str) -> None:
        head, brace, body = text.partition(" {")
        operation, *named = head.split()
        request = json.loads(brace + body) if brace else {}
        for name in named:
            request["ResourceArn" if name.startswith("arn:") else "TableName"] = name
        self._answer = {}
        try:
            self._answer = self._process.call(operation, **request)
        except Refused as refused:
            self._refused = refused

    def _expect(self, text: str) -> None:
        if text.endswith(" absent"):
            with pytest.raises((KeyError, IndexError)):
                found = self._at(text.removesuffix(" absent"))
                print("present:", found)
            return
        path, _, expected = text.partition(" = ")
        assert self._at(path) == json.loads(expected), path

    def _at(self, path: str) -> Any:
        found: Any = self._answer
        for part in path.split("."):
            found = found[int(part)] if isinstance(found, list) else found[part]
        return found


@pytest.mark.parametrize("case", list(cases()))
def test_a_request_is_answered_as_recorded(
    open_process: Callable[..., InProcess], bugs_surface: None, case: list[str]
) -> None:
    named = [line.removeprefix("with ") for line in case if line.startswith("with ")]
    settings = json.loads(named[0]) if named else {}
    process = open_process(**{"transition_ms": TRANSITION_S * 1000, **settings})
    Script(process).run([line for line in case if not line.startswith("with ")])
