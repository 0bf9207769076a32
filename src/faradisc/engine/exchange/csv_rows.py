"""CSV: a header and rows, or rows under headers that the request names.

Each column is an attribute. Key attributes of the table and its indexes get the types of their definitions,
all others are strings. A row that ends early lacks its last attributes; one that is too long is refused.
An empty field is an empty string, except in a key of an index, where it is no attribute at all: so rows
without it stay out of that index. Assumed, as far as no capture or document shows it: the last two.

Source: the model's CsvOptions; quoting is that of RFC 4180.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from faradisc.engine.exchange.compression import Damaged
from faradisc.engine.exchange.json_lines import BLANKS_AT_ONCE, Malformed, lines

FIELD_BYTES_MAX = 1024 * 1024
"""No attribute is longer than 400 KB."""
HEADERS_MAX = 255
PAUSES_IN_ROW_MAX = 64
"""A row that is read to its end at once may hold so many; one of 2 MB has 8."""


def records(
    pieces: Iterable[bytes],
    *,
    delimiter: str,
    headers: Sequence[str] | None,
    key_types: Mapping[str, str],
    may_be_absent: frozenset[str] = frozenset(),
) -> Iterator[dict[str, Any] | Malformed | None]:
    """The rows of a content as documents with an `Item`; None is a pause. Raises: Damaged.

    key_types: types of the attributes that are not strings whatever they look like.
    may_be_absent: those of them that an empty field leaves out.
    """
    if csv.field_size_limit() < FIELD_BYTES_MAX:
        csv.field_size_limit(FIELD_BYTES_MAX)
    source = _Lines(lines(pieces, limit=2 * FIELD_BYTES_MAX, keep_empty=True))
    rows = csv.reader(source, delimiter=delimiter, strict=True)
    blanks = 0
    while True:
        source.begin_row()
        try:
            row = next(rows, None)
        except _Pause:
            yield None
            continue
        except (csv.Error, _BadLine) as error:
            yield Malformed(f"The row is no valid CSV: {error}")
            # What the reader had begun is lost with it; the next line begins a new row.
            rows = csv.reader(source, delimiter=delimiter, strict=True)
            continue
        if row is None:
            return
        if not row:
            blanks += 1
            if not blanks % BLANKS_AT_ONCE:
                yield None
            continue
        if headers is not None:
            yield _document(row, headers, key_types, may_be_absent)
        elif (fault := _header_fault(row)) is None:
            headers = row
        else:
            yield Malformed(f"The rest of the object cannot be read: {fault}")
            return


class _BadLine(Exception):
    pass


class _Pause(Exception):
    """There is no line yet. Raised between two rows only: the csv module forgets a row that is cut short."""


class _Lines:
    """Lines as the csv module takes them: texts with their ends, which matter inside quotes."""

    def __init__(self, found: Iterator[bytes | Malformed | None]) -> None:
        self._found = found
        self._first = True
        self._in_row = False
        self._pauses = 0
        """In this row."""

    def begin_row(self) -> None:
        self._in_row = False
        self._pauses = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while (line := next(self._found)) is None:
            if not self._in_row:
                raise _Pause
            self._pauses += 1
            if self._pauses > PAUSES_IN_ROW_MAX:
                raise Damaged("what lies between two lines of one row holds too little for its length")
        self._in_row = True
        if isinstance(line, Malformed):
            raise _BadLine(line.reason)
        try:
            text = line.decode("utf-8-sig" if self._first else "utf-8")
        except UnicodeDecodeError as error:
            raise _BadLine(str(error)) from None
        finally:
            self._first = False
        return text + "\n"


def _header_fault(row: Sequence[str]) -> str | None:
    """What keeps a first row from naming attributes; None when nothing does."""
    if len(row) > HEADERS_MAX:
        return f"there are more than {HEADERS_MAX} headers"
    if not all(row):
        return "a header is empty"
    if len(set(row)) != len(row):
        return "two headers are the same"
    return None


def _document(
    row: Sequence[str], headers: Sequence[str], key_types: Mapping[str, str], may_be_absent: frozenset[str]
) -> dict[str, Any] | Malformed:
    if len(row) > len(headers):
        return Malformed(f"The row has {len(row)} fields, the header {len(headers)}")
    item = {
        name: {key_types.get(name, "S"): field}
        for name, field in zip(headers, row, strict=False)
        if field or name not in may_be_absent
    }
    return {"Item": item}
