"""DynamoDB JSON: one JSON object per line, an item under `Item`, or a change of an incremental export.

Source: new-features.md section 3; a line end separates records, so no record spans two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import orjson

RECORD_BYTES_MAX = 8 * 1024 * 1024
"""Of one record's text. An item of 400 KB takes 3.6 MB at most (a list of empty strings), so what is longer
is no record."""


@final
@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that is no record; the text is for the error log."""

    reason: str


TOO_LONG = Malformed("The record is too long to be an item")
_NOT_JSON = Malformed("The record is no JSON object")


def lines(
    pieces: Iterable[bytes], *, limit: int = RECORD_BYTES_MAX, keep_empty: bool = False
) -> Iterator[bytes | Malformed]:
    """The lines of a content, without their ends and, unless asked for, without empty ones.

    Holds one line at most; of one that is longer than `limit` the rest is passed over.
    """
    rest = b""
    skipping = False
    for piece in pieces:
        parts = piece.split(b"\n")
        if len(parts) == 1:
            if not skipping:
                rest += piece
        else:
            first, *whole, last = parts
            if skipping:
                skipping = False
            elif (line := rest + first) or keep_empty:
                yield line
            yield from whole if keep_empty else filter(None, whole)
            rest = last
        if len(rest) > limit:
            yield TOO_LONG
            rest, skipping = b"", True
    if rest:
        yield rest


def records(pieces: Iterable[bytes]) -> Iterator[dict[str, Any] | Malformed]:
    """The JSON objects of a content, one per line; blank lines are none."""
    loads = orjson.loads
    for line in lines(pieces):
        if type(line) is Malformed:
            yield line
            continue
        try:
            document = loads(line)
        except orjson.JSONDecodeError as error:
            if not line.strip():
                continue
            yield Malformed(f"The record is no valid JSON: {error}")
            continue
        yield document if type(document) is dict else _NOT_JSON


def item_line(item_json: bytes) -> bytes:
    """A line of a full export, from an item's canonical JSON."""
    return b'{"Item":' + item_json + b"}\n"
