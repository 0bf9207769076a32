"""Keeps private words out of names, comments, docstrings, messages and documentation.

Standard terms are listed in ARCHITECTURE.md. A word counts wherever it stands: `_` and a change from lower to
upper case separate words inside identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
THIS = Path(__file__).relative_to(ROOT).as_posix()

PEOPLE = """
anybody anyone everybody everyone nobody somebody someone whoever whomever
neighbour neighbours neighbouring stranger strangers visit visits visited visitor visitors heir heirs
"""
"""Words for people in place of requests, callers, readers and objects."""

PRIVATE = """
bank banks banked banking
breathe breathes breath breaths
cell cells gate gates door doors turnstile
desk desks ledger ledgers shelf shelves
dial dials
fault faults
filler fillers
harden hardens hardened
hear hears heard heed heeds heeded
lane lanes stretch stretches
noting
refusal refusals
resident
stencil stencils
survey surveys surveyed surveyor
tell tells told telling
tended untended
"""
"""Words for which the field has a term: burst capacity, bucket, limiter, service, task store, backup storage,
error, throttle, flush, read or write capacity, key range, rejection, in-memory, size measurement, report."""

WORDS = frozenset((PEOPLE + PRIVATE).split())

LITERAL = {
    "*": {"resident": "resident memory, as the operating system counts it"},
    "src/faradisc/testing/faulty_store.py": dict.fromkeys(("fault", "faults"), "fault injection"),
    **{
        f"tests/{file}": dict.fromkeys(("fault", "faults"), "fault injection")
        for file in (
            "fixtures/faulty_world.py",
            "simulation/*.py",
            "unit/tables/*.py",
            "unit/testing/test_faulty_store.py",
        )
    },
    "bench/bare.py": {"visit": "methods of ast.NodeTransformer"},
    "src/faradisc/services/cloudwatch/*": {"fault": "CloudWatch's names of errors"},
    "tests/throughput/*": dict.fromkeys(("fault", "faults"), "fault injection"),
    **{
        file: dict.fromkeys(("cell", "cells"), "of a table or a heat map")
        for file in (
            "src/faradisc/charts/*.py",
            "src/faradisc/tools/console/*.py",
            "tests/browser/*.py",
            "src/faradisc/tools/planner/report/*.py",
            "tests/unit/charts/*.py",
            "tests/unit/console/*.py",
            "tests/unit/report/*.py",
        )
    },
    "tests/unit/planner/test_set_iteration.py": dict.fromkeys(("visit", "visitor"), "ast.NodeVisitor"),
    "docs/reference/error-texts.md": {"fault": "CloudWatch's names of errors"},
    "src/faradisc/storage/postgres/private.py": {"nobody": "the operating system's user"},
    "tests/fixtures/patroni.py": {"nobody": "the operating system's user"},
    "tests/fixtures/postgres.py": {"nobody": "the operating system's user"},
    "tests/storage/postgres/*": {"nobody": "the operating system's user"},
    "docs/guide/postgresql.md": {"nobody": "the operating system's user"},
    "src/faradisc/engine/tables/state.py": {"filler": "name of a stored field"},
    "tests/test_plain_words.py": dict.fromkeys(WORDS, "the list itself"),
}
"""By file: words that are meant literally there, and why."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def files() -> list[str]:
    """Returns the paths of all text that people read and write here."""
    found = [*ROOT.glob("*.md")]
    for folder in ("src", "tests", "bench", "docs", "examples"):
        for suffix in ("py", "md", "yaml", "toml"):
            found += (ROOT / folder).rglob(f"*.{suffix}")
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def is_literal(file: str, word: str) -> bool:
    return any(word in words for pattern, words in LITERAL.items() if fnmatch(file, pattern))


def private_words(file: str) -> Iterator[str]:
    """Yields `line: word` for each private word of a file."""
    for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
        for match in _WORD.finditer(line):
            word = match.group().lower()
            if word in WORDS and not is_literal(file, word):
                yield f"{number}: {word}"


def test_files_have_no_private_words() -> None:
    found = [f"{file}:{each}" for file in files() for each in private_words(file)]
    assert found == []
