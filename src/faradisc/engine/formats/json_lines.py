"""DynamoDB JSON: JSON objects with an item under `Item`, or a change of an incremental export.

Source: new-features.md section 3. A line usually contains one record; it may contain several one after
another, but no record spans two lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json import JSONDecoder
from typing import Any, final

import orjson

from faradisc.records import dataclass

RECORD_BYTES_MAX = 8 * 1024 * 1024
"""Largest text of one record. The text of an item of 400 KB has at most 3.6 MB (a list of empty strings)."""
BLANKS_AT_ONCE = 4096
"""Blank lines that are skipped before a pause."""


@final
@dataclass(frozen=True, slots=True)
class Malformed:
    """Stands for text that is not a record; the reason goes to the error log."""

    reason: str
    unparsed: bool = False
    """Its text is of another format, or cut off."""


TOO_LONG = Malformed("The record is too long to be an item")
_DECODER = JSONDecoder()
_BLANKS = re.compile(r"[ \t\r]*")
_NOT_JSON = Malformed("The record is no JSON object")


def lines(
    pieces: Iterable[bytes], *, limit: int = RECORD_BYTES_MAX, keep_empty: bool = False
) -> Iterator[bytes | Malformed | None]:
    """Yields the lines of a content without their ends, and None (a pause) for each piece that completes
    none.

    Holds at most `limit` bytes of an incomplete line; the rest of a longer one is skipped and the line
    reported as TOO_LONG. keep_empty: yield empty lines too.
    """
    rest = b""
    skipping = False
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        found: list[bytes] = []
        if end:
            begin = piece.index(b"\n") + 1 if skipping else 0
            found = (rest + piece[begin : end - 1]).split(b"\n") if end > begin else []
            rest, skipping = piece[end:], False
        elif not skipping:
            rest += piece
        if not keep_empty:
            found = [*filter(None, found)]
        if found:
            yield from found
        else:
            yield None
        if len(rest) > limit:
            yield TOO_LONG
            rest, skipping = b"", True
    if rest:
        yield rest


def records(pieces: Iterable[bytes]) -> Iterator[dict[str, Any] | Malformed | None]:
    """Yields the JSON objects of a content, and None as a pause. Skips blank lines."""
    loads = orjson.loads
    blanks = 0
    for line in lines(pieces):
        if not isinstance(line, bytes):
            yield line
            continue
        try:
            document = loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                yield from _several(line, Malformed(f"The record is no valid JSON: {error}", True))
                continue
            blanks += 1
            if not blanks % BLANKS_AT_ONCE:
                yield None
            continue
        yield document if type(document) is dict else _NOT_JSON


def _several(line: bytes, mistake: Malformed) -> Iterator[dict[str, Any] | Malformed]:
    """Yields the objects that follow each other in a line; `mistake` in the place of the first that is none
    and of the rest of the line."""
    begin = 0
    try:
        text = line.decode().rstrip()
        while begin < len(text):
            _, end = _DECODER.raw_decode(text, begin)
            document = orjson.loads(text[begin:end])
            begin = _BLANKS.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing too
            yield document if type(document) is dict else _NOT_JSON
    except (ValueError, RecursionError):
        yield mistake


def item_line(item_json: bytes) -> bytes:
    """Returns the line of a full export for an item's canonical JSON."""
    return b'{"Item":' + item_json + b"}\n"
