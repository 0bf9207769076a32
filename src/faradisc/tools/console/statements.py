"""Statements of PartiQL as the console reads them: which of them write, and how a SELECT reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from faradisc.language.partiql.grammar import stopping_place
from faradisc.tools.console.queries import indexes_of, schema_of, types_of

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


_CLOSED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_PLACE: Final = re.compile(r"\bat (\d+):(\d+):(\d+)\s*$")
_FIRST: Final = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE", "EXISTS", "UPSERT", "REPLACE"))


def place_of(message: str, statement: str) -> tuple[int, int] | None:
    """Returns where in a statement an error is: offset and length. None when it is not known.

    Errors of statements that cannot be parsed have no position: it is where Faradisc's own parser stops, or a
    first word that no statement begins with, or a quote that nothing closes.
    """
    found = _PLACE.search(message)
    if found is not None:
        line, column, length = map(int, found.groups())
        lines = statement.split("\n")
        if line > len(lines) or column > len(lines[line - 1]) + 1:
            return None
        begin = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        return begin, min(max(length, 1), len(statement) - begin)
    if "well formed" not in message:
        return None
    word = re.match(r"\s*(\w+)", statement)
    if word is not None and word[1].upper() not in _FIRST:
        return word.start(1), len(word[1])
    open_quote = re.search(r"['\"]", _CLOSED.sub(lambda found: " " * len(found[0]), statement))
    if open_quote is not None:
        return open_quote.start(), len(statement) - open_quote.start()
    return stopping_place(statement)


_KEYWORDS: Final = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "BETWEEN", "IS MISSING", "IS NOT MISSING"),
    *("ORDER BY", "ASC", "DESC", "INSERT INTO", "VALUE", "UPDATE", "SET", "REMOVE", "DELETE FROM"),
)
_FUNCTIONS: Final = ("begins_with(", "contains(", "attribute_type(", "size(", "EXISTS(")


def completions(
    tables: Iterable[str], described: Mapping[str, Any] | None, attributes: Iterable[str]
) -> list[dict[str, Any]]:
    """Returns the words that completion.js offers. described: of the table that is read."""
    words = [{"label": each, "type": "keyword", "detail": "", "quoted": False} for each in _KEYWORDS]
    words += [{"label": each, "type": "function", "detail": "", "quoted": False} for each in _FUNCTIONS]
    words += [{"label": each, "type": "class", "detail": "table", "quoted": True} for each in tables]
    if described is not None:
        keys = {name: f"key ({kind})" for name, kind in types_of(described).items()}
        words += [
            {"label": each["IndexName"], "type": "class", "detail": "index", "quoted": True}
            for each in indexes_of(described)
        ]
        words += [
            {"label": name, "type": "property", "detail": keys.get(name, ""), "quoted": True}
            for name in dict.fromkeys((*keys, *attributes))
        ]
    return words


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
