"""DynamoDB JSON: one JSON object per line, an item under `Item`, or a change of an incremental export.

Source: new-features.md section 3; a line end separates records, so no record spans two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, final

import orjson

RECORD_BYTES_MAX = 8 * 1024 * 1024
"""Of one record's text. An item of 400 KB takes 3.6 MB at most (a list of empty strings), so what is longer
is no record."""
BLANKS_AT_ONCE = 4096
"""Lines of nothing but spaces passed over before a pause."""

R = TypeVar("R")


@final
@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that is no record; the text is for the error log."""

    reason: str


TOO_LONG = Malformed("The record is too long to be an item")
_NOT_JSON = Malformed("The record is no JSON object")


def lines(
    pieces: Iterable[bytes], *, limit: int = RECORD_BYTES_MAX, keep_empty: bool = False
) -> Iterator[bytes | Malformed | None]:
    """The lines of a content, without their ends and, unless asked for, without empty ones.

    None for a piece in which no line ended: a pause for whoever must not take long. Holds the lines of one
    piece and what may become a line; of one that is longer than `limit` the rest is passed over.
    """
    rest = b""
    skipping = False
    for piece in pieces:
        *ended, begun = piece.split(b"\n")
        if ended:
            if skipping:
                del ended[0]
            else:
                ended[0] = rest + ended[0]
            rest, skipping = begun, False
        elif not skipping:
            rest += begun
        found: list[bytes | Malformed] = [*ended] if keep_empty else [*filter(None, ended)]
        if len(rest) > limit:
            found.append(TOO_LONG)
            rest, skipping = b"", True
        if found:
            yield from found
        else:
            yield None
    if rest:
        yield rest


def records(
    pieces: Iterable[bytes], shortcut: Callable[[bytes], R | None] | None = None
) -> Iterator[dict[str, Any] | Malformed | R | None]:
    """The JSON objects of a content, one per line; blank lines are none. None is a pause.

    shortcut: what it makes of a line, if anything, stands in place of the object.
    """
    loads = orjson.loads
    blanks = 0
    for line in lines(pieces):
        if line is None or type(line) is Malformed:
            yield line
            continue
        if shortcut is not None:
            made = shortcut(line)
            if made is not None:
                yield made
                continue
        try:
            document = loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                yield Malformed(f"The record is no valid JSON: {error}")
                continue
            blanks += 1
            if not blanks % BLANKS_AT_ONCE:
                yield None
            continue
        yield document if type(document) is dict else _NOT_JSON


def item_line(item_json: bytes) -> bytes:
    """A line of a full export, from an item's canonical JSON."""
    return b'{"Item":' + item_json + b"}\n"
