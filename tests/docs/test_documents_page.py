"""Runs every block of docs/reference/documents.md, each on a database of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures.answer_scripts import Script, settings_of
from fixtures.in_process import InProcess

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "documents.md"
BLOCKS = re.findall(r"(?m)^(\S[^\n]*)\n\n```script\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL)
"""The last line of each statement, and its requests."""
DEFINITIONS = re.findall(r"(?ms)^```define\n(.*?)^```$", PAGE.read_text("utf-8"))[0].splitlines()


def test_every_block_is_found() -> None:
    assert len(BLOCKS) == PAGE.read_text("utf-8").count("```script") >= 24


@pytest.mark.parametrize("requests", [block for _, block in BLOCKS], ids=[line[:60] for line, _ in BLOCKS])
def test_a_statement_holds(requests: str, bugs_surface: None) -> None:
    case = [*DEFINITIONS, *requests.splitlines()]
    process = InProcess(**settings_of(case))
    Script(process).run(case)
    process.check()
    process.close()
