"""The records of one object, in any format and compression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from faradisc.engine.formats import compression, csv_rows, ion_values, json_lines
from faradisc.engine.formats.compression import InputDamaged
from faradisc.engine.formats.json_lines import RECORD_BYTES_MAX, Malformed
from faradisc.engine.tables.table import Table
from faradisc.records import dataclass

EMPTY_BYTES_MAX = 2 * RECORD_BYTES_MAX
"""Content without a record that is read before the object counts as damaged. Without this limit blank lines,
or one line of gigabytes unpacked from a small file, would block the server for one whole step."""

Record = dict[str, Any] | Malformed
"""A document as in a DynamoDB JSON line, its values unchecked; or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class InputFormat:
    """How objects are read, as ImportTable and StartBulkPutItems specify it."""

    format: str
    """DYNAMODB_JSON, ION or CSV."""
    compression: str = "NONE"
    delimiter: str = ","
    headers: tuple[str, ...] | None = None
    """Of CSV without a header line."""

    def check_libraries(self) -> None:
        """Raises compression.Unavailable when reading needs a library that is not installed."""
        if self.compression == "ZSTD":
            compression.zstd_library()
        if self.format == "ION":
            ion_values.library()


@dataclass(frozen=True, slots=True)
class KeyAttributes:
    """The key attributes of a table and of its indexes."""

    types: Mapping[str, str]
    only_in_indexes: frozenset[str]
    """Names of those that are in no key of the table."""


class ObjectReader:
    """Reads one object; `bytes_read` counts its decompressed content."""

    def __init__(self, file: BinaryIO, source: InputFormat, keys: KeyAttributes) -> None:
        """keys: give attributes of CSV rows their types. The iterators raise InputDamaged and OSError."""
        self.bytes_read = 0
        self._bytes_at_last_record = 0
        pieces = self._counted(compression.pieces(file, source.compression))
        if source.format == "ION":
            found: Iterator[Record | None] = ion_values.records(pieces)
        elif source.format == "CSV":
            found = csv_rows.records(
                pieces,
                delimiter=source.delimiter,
                headers=source.headers,
                key_types=keys.types,
                may_be_absent=keys.only_in_indexes,
            )
        else:
            found = json_lines.records(pieces)
        self.records_and_pauses = self._tracked(found)
        """The records, and None wherever the reader may stop although no record is complete."""

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.bytes_read += len(piece)
            if self.bytes_read - self._bytes_at_last_record > EMPTY_BYTES_MAX:
                raise InputDamaged(f"more than {EMPTY_BYTES_MAX >> 20} MB of it hold no record")
            yield piece

    def _tracked(self, found: Iterator[Record | None]) -> Iterator[Record | None]:
        for each in found:
            if each is not None:
                self._bytes_at_last_record = self.bytes_read
            yield each

    @property
    def records(self) -> Iterator[Record]:
        """The records alone."""
        return (each for each in self.records_and_pauses if each is not None)


def keys_of(table: Table) -> KeyAttributes:
    """Returns the key attributes of a table and of all its indexes."""
    types: dict[str, str] = dict(table.key.types)
    for index in table.indexes:
        types.update(index.schema.key.types)
    return KeyAttributes(types, frozenset(types) - frozenset(table.key.names))
