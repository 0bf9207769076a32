"""CSV: a header and rows, or rows with headers given in the request.

Each column is an attribute. Key attributes of the table and its indexes have the types of their definitions,
all others are strings. A short row lacks its last attributes; a row that is too long is an error. An empty
field is an empty string, but for a key attribute of an index it means that the attribute is missing, so the
row is not in that index. Assumed, because no capture or document shows it: the last two.

Source: the model's CsvOptions; quoting is that of RFC 4180.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.json_lines import BLANKS_AT_ONCE, Malformed, lines

FIELD_BYTES_MAX = 1024 * 1024
"""An attribute has at most 400 KB."""
HEADERS_MAX = 255
PAUSES_IN_ROW_MAX = 64
"""Pauses of the input within one row, which is read without a pause; a row of 2 MB has 8."""


def records(
    pieces: Iterable[bytes],
    *,
    delimiter: str,
    headers: Sequence[str] | None,
    key_types: Mapping[str, str],
    may_be_absent: frozenset[str] = frozenset(),
) -> Iterator[dict[str, Any] | Malformed | None]:
    """Yields the rows of a content as documents with an `Item`, and None as a pause. Raises InputDamaged.

    key_types: types of key attributes; all others are strings.
    may_be_absent: attributes that are missing when their field is empty.
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
            # A new reader drops the incomplete row; the next line starts a new one.
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
        elif (reason := _header_error(row)) is None:
            headers = row
        else:
            yield Malformed(f"The rest of the object cannot be read: {reason}")
            return


class _BadLine(Exception):
    pass


class _Pause(Exception):
    """Raised between two rows when there is no line yet. Within a row the csv module would lose the row."""


class _Lines:
    """Lines for the csv module: texts with their line ends, which count inside quotes."""

    def __init__(self, found: Iterator[bytes | Malformed | None]) -> None:
        self._found = found
        self._first = True
        self._in_row = False
        self._pauses = 0
        """Pauses in this row."""

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
                raise InputDamaged("too much input without content lies between two lines of one row")
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


def _header_error(row: Sequence[str]) -> str | None:
    """Returns the reason why a row is not a valid header, None for a valid one."""
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
