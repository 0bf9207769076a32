"""One reading of a table: its pages as Arrow batches in a temporary file, and what occurs in its columns."""

from __future__ import annotations

import tempfile
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from faradisc.frames.shaping import MIXED, ColumnContents, Nested, Numbers, Shaping, json_text
from faradisc.tools.transfer.endpoints import Endpoint
from faradisc.tools.transfer.scanning import Page, State, scan
from faradisc.tools.transfer.tables import describe, key_names_of

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY_BYTES: Final = 64 << 20
"""Of batches that are kept in memory before they go to a temporary file."""
_LENGTH_BYTES = 8


class FramesUnavailable(ImportError):
    """pyarrow is not installed."""


def arrow() -> Any:
    """Returns pyarrow. Raises FramesUnavailable."""
    try:
        import pyarrow  # noqa: PLC0415 - an extra
        import pyarrow.compute  # noqa: PLC0415
    except ImportError:
        raise FramesUnavailable("frames need pyarrow: pip install 'faradisc[frames]'") from None
    return pyarrow


class TableReading:
    """One reading of a table: its pages as batches in a temporary file, and what occurs in its columns."""

    def __init__(self, endpoint: Endpoint, table: str, masked: Callable[[Any], Any] | None = None) -> None:
        """masked: returns a masked item. Raises RequestRejected, Unreachable."""
        self._arrow = arrow()
        self._endpoint = endpoint
        self._table = table
        self._masked = masked
        self.described = describe(endpoint, table)
        self._columns: dict[str, ColumnContents] = {
            name: ColumnContents() for name in key_names_of(self.described)
        }
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - see `reader`
        self._lock = threading.Lock()
        self.items = 0

    def read(self, segments: int, done: Callable[[int, int], None] | None = None) -> None:
        """Reads all pages. done: called with the items and bytes of each.

        Raises RequestRejected, Unreachable.
        """

        def handle(segment: int, page: Page) -> None:
            items = page if self._masked is None else [self._masked(item) for item in page]
            size = self._keep(items)
            if done is not None:
                done(len(items), size)

        scan(self._endpoint, self._table, segments, handle, State(None, {}))

    def _keep(self, items: Page) -> int:
        """Adds a page. Returns the bytes of its batch."""
        pa = self._arrow
        cells: dict[str, list[Any]] = {}
        kinds: dict[str, set[str]] = {}
        count = len(items)
        for row, item in enumerate(items):
            for name, value in item.items():
                column = cells.get(name)
                if column is None:
                    column = cells[name] = [None] * count
                    kinds[name] = set()
                ((kind, content),) = value.items()
                if kind != "NULL":
                    column[row] = (kind, content)
                    kinds[name].add(kind)
        arrays, fields, found = [], [], {}
        for name, column in cells.items():
            kind = next(iter(kinds[name])) if len(kinds[name]) == 1 else MIXED if kinds[name] else "NULL"
            array = _array(pa, kind, column)
            arrays.append(array)
            fields.append(pa.field(name, array.type, metadata={"kind": kind}))
            found[name] = _digits(kind, column)
        batch = pa.record_batch(arrays, schema=pa.schema(fields)) if fields else None
        content = _packed(pa, batch, count)
        with self._lock:
            for name, (whole, fraction) in found.items():
                column_of_all = self._columns.setdefault(name, ColumnContents())
                column_of_all.kinds |= kinds[name]
                column_of_all.whole = max(column_of_all.whole, whole)
                column_of_all.fraction = max(column_of_all.fraction, fraction)
            self.items += count
            self._file.write(len(content).to_bytes(_LENGTH_BYTES, "little") + content)
        return len(content)

    def reader(self, numbers: Numbers = "decimal", nested: Nested = "dynamodb") -> pa.RecordBatchReader:
        """Returns all batches with one schema. Warns of columns that are texts because their values are of
        several types, or are numbers that no Arrow type holds."""
        pa = self._arrow
        shaping = Shaping(pa, self._columns, numbers, nested)
        schema = pa.schema([pa.field(name, shaping.types[name]) for name in self._columns])

        def shaped() -> Iterator[Any]:
            with self._file:
                self._file.seek(0)
                while head := self._file.read(_LENGTH_BYTES):
                    content = self._file.read(int.from_bytes(head, "little"))
                    yield shaping.batch(pa.ipc.open_stream(content).read_next_batch(), schema)
            shaping.warn()

        return pa.RecordBatchReader.from_batches(schema, shaped())


def _array(pa: Any, kind: str, column: list[Any]) -> Any:
    """Returns a column of one page: numbers as texts, lists and maps as JSON, both exact."""
    values = [None if each is None else each[1] for each in column]
    match kind:
        case "NULL":
            return pa.nulls(len(column))
        case "S" | "N":
            return pa.array(values, pa.string())
        case "BOOL":
            return pa.array(values, pa.bool_())
        case "B":
            return pa.array([None if each is None else _bytes(each) for each in values], pa.binary())
        case "SS" | "NS":
            return pa.array([None if each is None else list(each) for each in values], pa.list_(pa.string()))
        case "BS":
            sets = [None if each is None else [*map(_bytes, each)] for each in values]
            return pa.array(sets, pa.list_(pa.binary()))
        case "L" | "M":
            return pa.array([None if each is None else json_text(each) for each in values], pa.string())
    texts = [None if each is None else json_text({each[0]: each[1]}) for each in column]
    return pa.array(texts, pa.string())


def _bytes(content: Any) -> bytes:
    return b64decode(content) if isinstance(content, str) else bytes(content)


def _digits(kind: str, column: list[Any]) -> tuple[int, int]:
    """Returns the most digits before and after the point of the numbers of a column."""
    if kind not in ("N", "NS"):
        return 0, 0
    whole = fraction = 0
    for each in column:
        if each is not None:
            for text in (each[1],) if kind == "N" else each[1]:
                before, _, after = text.partition(".")
                whole = max(whole, len(before) - before.startswith("-"))
                fraction = max(fraction, len(after))
    return whole, fraction


def _packed(pa: Any, batch: Any, count: int) -> bytes:
    if batch is None:
        batch = pa.record_batch([pa.nulls(count)], names=[""])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
