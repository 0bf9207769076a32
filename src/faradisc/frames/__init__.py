"""A table as Arrow batches: for pandas, polars, DuckDB and files of Parquet and Arrow.

    from faradisc import frames

    frames.pandas("Orders")                                # of the server at http://127.0.0.1:8000
    frames.polars("Orders", source="aws", numbers="double")
    frames.duckdb("Orders").query("orders", "SELECT status, count(*) FROM orders GROUP BY 1")
    frames.batches("Orders", source=database)              # of a LocalDatabase, a pyarrow.RecordBatchReader

Needs `faradisc[frames]`. A table has no schema, so it is read once, in parallel, each page as a batch with
the types that occur in it, which are kept in a temporary file (reading.py); then every batch gets the schema
of all (shaping.py). Memory is bounded by pages and one batch. docs/guide/frames.md has the types; nothing is
lost without a word. files.py writes Parquet and Arrow.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from faradisc.frames.reading import FramesUnavailable, TableReading, arrow
from faradisc.frames.shaping import FrameWarning, Nested, Numbers
from faradisc.tools.transfer.endpoints import Directory, Endpoint, Remote

if TYPE_CHECKING:
    import pyarrow as pa

URL: Final = "http://127.0.0.1:8000"


def batches(
    table: str,
    *,
    source: Any = None,
    region: str | None = None,
    segments: int = 4,
    numbers: Numbers = "decimal",
    nested: Nested = "dynamodb",
) -> pa.RecordBatchReader:
    """Returns the items of a table, read once, as Arrow batches.

    source: the address of an endpoint, `aws` for Amazon's, a LocalDatabase, a boto3 client, or the Path of a
    data directory that no server has open; by default the local server. numbers: `double` can lose digits,
    with a FrameWarning. nested: of lists and maps, `plain` is JSON without DynamoDB's types.

    Raises FramesUnavailable, RequestRejected, Unreachable.
    """
    arrow()
    with closing(_endpoint(source, region, segments)) as endpoint:
        reading = TableReading(endpoint, table)
        reading.read(segments)
    return reading.reader(numbers, nested)


def table(name: str, **options: Any) -> pa.Table:
    """Returns a table as a pyarrow.Table. options: of `batches`."""
    return batches(name, **options).read_all()


def pandas(name: str, **options: Any) -> Any:
    """Returns a table as a pandas.DataFrame, its columns backed by Arrow. options: of `batches`."""
    import pandas as library  # noqa: PLC0415

    return batches(name, **options).read_pandas(types_mapper=library.ArrowDtype)


def polars(name: str, **options: Any) -> Any:
    """Returns a table as a polars.DataFrame. options: of `batches`."""
    import polars as library  # noqa: PLC0415

    return library.from_arrow(table(name, **options))


def duckdb(name: str, **options: Any) -> Any:
    """Returns a table as a relation of DuckDB, which can be read once. options: of `batches`."""
    import duckdb as library  # noqa: PLC0415

    return library.from_arrow(batches(name, **options))


class _Client:
    """A boto3 client as an endpoint."""

    threads = 1

    def __init__(self, client: Any) -> None:
        self._methods = {"Scan": client.scan, "DescribeTable": client.describe_table}

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._methods[operation](**request)
        return answer

    def wait(self) -> None:
        raise AssertionError("a reading waits for nothing")

    def close(self) -> None:
        """The client is the caller's."""


def _endpoint(source: Any, region: str | None, threads: int) -> Endpoint:
    """Raises Unreachable, StorageError."""
    if source is None or isinstance(source, str):
        url = source or os.environ.get("FARADISC_URL") or URL
        return Remote(None if url == "aws" else url, region, threads=threads)
    if isinstance(source, os.PathLike):
        return Directory(Path(source), region=region)
    return _Client(source.client() if hasattr(source, "database") else source)


__all__ = [
    "FrameWarning",
    "FramesUnavailable",
    "batches",
    "duckdb",
    "pandas",
    "polars",
    "table",
]
