"""Statements of PartiQL as the console reads them: which of them write, and how a SELECT reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from faradisc.tools.console.queries import schema_of

_SOURCE: Final = re.compile(
    r'\bFROM\s+(?:"((?:[^"]|"")+)"|(\w[\w.-]*))(?:\s*\.\s*"((?:[^"]|"")+)")?', re.IGNORECASE
)
_STRINGS: Final = re.compile(r"'(?:[^']|'')*'")
_TOKENS: Final = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'|;|[^"\';]+')
_COMMENTS: Final = re.compile(r"\A(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_WRITES: Final = re.compile(r"(INSERT|UPDATE|DELETE|UPSERT|REPLACE)\b", re.IGNORECASE)
_WORDS: Final = re.compile(
    "and|or|not|in|between|is|null|missing|begins_with|contains|attribute_type|size|exists|order|by|asc|desc"
    "|true|false|value",
    re.IGNORECASE,
)


def statements(text: str) -> list[str]:
    """Returns the statements of a text; semicolons between them separate, those in strings do not."""
    found, current = [], ""
    for token in _TOKENS.findall(text):
        if token == ";":
            found.append(current)
            current = ""
        else:
            current += token
    return [each.strip() for each in [*found, current] if each.strip()]


def is_write(statement: str) -> bool:
    """Returns whether a statement is one of those that write; what begins with no known word is none."""
    return bool(_WRITES.match(_COMMENTS.sub("", statement)))


def source_of(statement: str) -> tuple[str, str] | None:
    """Returns the table and the index (or "") that a statement reads."""
    found = _SOURCE.search(statement)
    if found is None:
        return None
    return (found[1] or found[2]).replace('""', '"'), (found[3] or "").replace('""', '"')


def plan(statement: str, described: Mapping[str, Any]) -> str:
    """Returns how DynamoDB runs a SELECT, by the keys that its WHERE compares: GetItem, Query or Scan."""
    source = source_of(statement)
    index = source[1] if source else ""
    keys = schema_of(described, index)
    where = re.split(r"\bWHERE\b", statement, maxsplit=1, flags=re.IGNORECASE)
    tests = _STRINGS.sub("''", where[1]) if len(where) > 1 else ""

    def is_fixed(name: str) -> bool:
        return bool(re.search(rf'(?<![\w"])"?{re.escape(name)}"?\s*(=|IN\b)', tests, re.IGNORECASE))

    at = f"index {index} of {described['TableName']}" if index else described["TableName"]
    if not is_fixed(keys[0]) or re.search(r"\bOR\b", tests, re.IGNORECASE):
        return f"Scan of {at}: all of it is read, because WHERE does not fix {keys[0]}."
    others = sorted(_names(tests) - set(keys))
    filtered = ""
    if others:
        filtered = f" The test of {', '.join(others)} comes after that: what it drops is read and paid too."
    if index or (len(keys) > 1 and not is_fixed(keys[1])):
        is_part = len(keys) > 1 and keys[1] in _names(tests)
        read = "a part of one item collection" if is_part else "one whole item collection"
        return f"Query of {at}: {read} is read.{filtered}"
    return f"GetItem on {at}: one item.{filtered}"


def _names(tests: str) -> set[str]:
    """Returns the attributes that conditions mention."""
    found = re.findall(r'"((?:[^"]|"")+)"|(?<![\w."])([A-Za-z_]\w*)', tests)
    return {quoted or bare for quoted, bare in found if quoted or not _WORDS.fullmatch(bare)}
