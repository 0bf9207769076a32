"""The records of one object, whatever its format and compression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from faradisc.engine.exchange import compression, csv_rows, ion_values, json_lines
from faradisc.engine.exchange.compression import Damaged
from faradisc.engine.exchange.json_lines import RECORD_BYTES_MAX, Malformed, Shortcut
from faradisc.engine.tables.loading import Rows
from faradisc.engine.tables.table import Table

BARREN_BYTES_MAX = 2 * RECORD_BYTES_MAX
"""Of content without a record in it. Blank lines, or one line of gigabytes unpacked from a small file, would
otherwise be read to their end in one step, with everybody else waiting."""

Record = dict[str, Any] | Malformed
"""A document as a DynamoDB JSON line has it, its values unchecked; or what is there instead of one."""
Found = Record | Rows | None
"""A record; or the rows that a shortcut made of several; or None, a pause: there was work, and no record has
come of it yet."""


@dataclass(frozen=True, slots=True)
class Source:
    """How objects are to be read, as ImportTable and StartBulkPutItems say it."""

    format: str
    """DYNAMODB_JSON, ION or CSV."""
    compression: str = "NONE"
    delimiter: str = ","
    headers: tuple[str, ...] | None = None
    """Of CSV without a header line."""

    def check_libraries(self) -> None:
        """Raises: compression.Unavailable when reading needs what is not installed."""
        if self.compression == "ZSTD":
            compression.check_zstd()
        if self.format == "ION":
            ion_values.check_library()


@dataclass(frozen=True, slots=True)
class KeyAttributes:
    """The attributes that are keys of a table or of its indexes."""

    types: Mapping[str, str]
    of_indexes: frozenset[str]
    """Those that are in no key of the table."""


class Reading:
    """One object being read; `bytes_read` counts its content, decompressed."""

    def __init__(
        self, file: BinaryIO, source: Source, keys: KeyAttributes, shortcut: Shortcut | None = None
    ) -> None:
        """keys: give attributes of CSV rows their types. The records' iterators raise Damaged and OSError."""
        self.bytes_read = 0
        self._fruitful = 0
        """The count of bytes at the last record."""
        self._given_back: Rows | None = None
        pieces = self._counted(compression.pieces(file, source.compression))
        if source.format == "ION":
            found: Iterator[Found] = ion_values.records(pieces)
        elif source.format == "CSV":
            found = csv_rows.records(
                pieces,
                delimiter=source.delimiter,
                headers=source.headers,
                key_types=keys.types,
                may_be_absent=keys.of_indexes,
            )
        else:
            found = json_lines.records(pieces, shortcut)
        self.found = self._noted(found)
        """The records and the pauses between them."""

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.bytes_read += len(piece)
            if self.bytes_read - self._fruitful > BARREN_BYTES_MAX:
                raise Damaged(f"more than {BARREN_BYTES_MAX >> 20} MB of it hold no record")
            yield piece

    def _noted(self, found: Iterator[Found]) -> Iterator[Found]:
        for each in found:
            if each is not None:
                self._fruitful = self.bytes_read
            yield each
            while self._given_back:
                rows, self._given_back = self._given_back, None
                yield rows

    def give_back(self, rows: Rows) -> None:
        """Of the rows that were found last, those that are to be found again."""
        self._given_back = rows

    @property
    def records(self) -> Iterator[Record]:
        """The records without pauses, for whoever has time. Requires: no shortcut was given."""
        for each in self.found:
            assert not isinstance(each, Rows)
            if each is not None:
                yield each


def keys_of(table: Table) -> KeyAttributes:
    types: dict[str, str] = dict(table.key.types)
    for index in table.indexes:
        types.update(index.schema.key.types)
    return KeyAttributes(types, frozenset(types) - frozenset(table.key.names))
