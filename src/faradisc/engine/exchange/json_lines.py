"""DynamoDB JSON: one JSON object per line, an item under `Item`, or a change of an incremental export.

Source: new-features.md section 3; a line end separates records, so no record spans two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import orjson

from faradisc.engine.tables.loading import Rows

RECORD_BYTES_MAX = 8 * 1024 * 1024
"""Of one record's text. An item of 400 KB takes 3.6 MB at most (a list of empty strings), so what is longer
is no record."""
BLANKS_AT_ONCE = 4096
"""Lines of nothing but spaces passed over before a pause."""

Shortcut = Callable[[bytes], Iterable[Rows | tuple[bytes, ...]]]
"""Makes rows of the lines of a block, where it can, and leaves the others, without blank ones."""


@final
@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that is no record; the text is for the error log."""

    reason: str


TOO_LONG = Malformed("The record is too long to be an item")
_NOT_JSON = Malformed("The record is no JSON object")


def blocks(pieces: Iterable[bytes], *, limit: int = RECORD_BYTES_MAX) -> Iterator[bytes | Malformed | None]:
    """The lines of a content with their ends, as many at a time as have ended in one piece.

    None for a piece in which none has: a pause for whoever must not take long. Holds what may become a line;
    of one that is longer than `limit` the rest is passed over. The last line has an end, be there one or not.
    """
    rest = b""
    skipping = False
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            begin = piece.index(b"\n") + 1 if skipping else 0
            yield b"".join((rest, memoryview(piece)[begin:end])) or None
            rest, skipping = piece[end:], False
        else:
            if not skipping:
                rest += piece
            yield None
        if len(rest) > limit:
            yield TOO_LONG
            rest, skipping = b"", True
    if rest:
        yield rest + b"\n"


def lines(
    pieces: Iterable[bytes], *, limit: int = RECORD_BYTES_MAX, keep_empty: bool = False
) -> Iterator[bytes | Malformed | None]:
    """The lines of a content, without their ends and, unless asked for, without empty ones; with pauses."""
    for block in blocks(pieces, limit=limit):
        if type(block) is not bytes:
            yield block
            continue
        found = block.split(b"\n")[:-1] if keep_empty else [*filter(None, block.split(b"\n"))]
        if found:
            yield from found
        else:
            yield None


def records(
    pieces: Iterable[bytes], shortcut: Shortcut | None = None
) -> Iterator[dict[str, Any] | Malformed | Rows | None]:
    """The JSON objects of a content, one per line; blank lines are none. None is a pause.

    shortcut: the rows that it makes of lines stand in place of their objects.
    """
    loads = orjson.loads
    blanks = 0
    for run in _runs(pieces, shortcut):
        if not isinstance(run, tuple):
            yield run
            continue
        for line in run:
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


def _runs(
    pieces: Iterable[bytes], shortcut: Shortcut | None
) -> Iterator[tuple[bytes, ...] | Malformed | Rows | None]:
    """Lines that are to be read, what a shortcut has made of others, and pauses."""
    for block in blocks(pieces):
        if not isinstance(block, bytes):
            yield block
        elif shortcut is None:
            yield tuple(filter(None, block.split(b"\n"))) or None
        else:
            for run in shortcut(block):
                yield run or None


def item_line(item_json: bytes) -> bytes:
    """A line of a full export, from an item's canonical JSON."""
    return b'{"Item":' + item_json + b"}\n"
