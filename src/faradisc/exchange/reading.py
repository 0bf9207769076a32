"""The records of one object, whatever its format and compression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from faradisc.exchange import compression, csv_rows, ion_values, json_lines
from faradisc.exchange.json_lines import Malformed
from faradisc.tables.table import Table

Record = dict[str, Any] | Malformed
"""A document as a DynamoDB JSON line has it, its values unchecked; or what is there instead of one."""


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

    def __init__(self, file: BinaryIO, source: Source, keys: KeyAttributes) -> None:
        """keys: give attributes of CSV rows their types."""
        self.bytes_read = 0
        pieces = self._counted(compression.pieces(file, source.compression))
        if source.format == "ION":
            self.records: Iterator[Record] = ion_values.records(pieces)
        elif source.format == "CSV":
            self.records = csv_rows.records(
                pieces,
                delimiter=source.delimiter,
                headers=source.headers,
                key_types=keys.types,
                may_be_absent=keys.of_indexes,
            )
        else:
            self.records = json_lines.records(pieces)

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.bytes_read += len(piece)
            yield piece


def keys_of(table: Table) -> KeyAttributes:
    types: dict[str, str] = dict(table.key.types)
    for index in table.indexes:
        types.update(index.schema.key.types)
    return KeyAttributes(types, frozenset(types) - frozenset(table.key.names))
