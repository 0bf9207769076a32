"""`faradisc inspect`: prints the stored keys and records as text. Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from faradisc.cli.databases import (
    LOCAL_DIRECTORY,
    Run,
    opened_shared,
    shared_settings,
    store_option,
    with_keys,
)
from faradisc.cli.failing import fail
from faradisc.server.setting import ENVIRONMENT_PREFIX
from faradisc.server.settings import ServerSettings

if TYPE_CHECKING:
    from faradisc.engine.check.explain import Explainer
    from faradisc.engine.check.inventory import Inventory
    from faradisc.engine.inspection.layouts import Fields
    from faradisc.engine.tables.layout import TableLayout
    from faradisc.storage.api import Part, ReadOnlyStore, Store

LIMIT = 20


@click.command()
@click.argument(
    "directory", type=click.Path(path_type=Path), envvar=ENVIRONMENT_PREFIX + "DATA_DIR", required=False
)
@store_option
@click.option("--table", "table_name", metavar="NAME", help="Only the data of this table.")
@click.option(
    "--key",
    "key_text",
    metavar="JSON",
    help="Only the data of the item with this key, as plain or DynamoDB JSON; needs --table.",
)
@click.option(
    "--part",
    "part_text",
    metavar="HEX",
    help="Rows and log of one part: resource and slot as in the overview, 0000000103.",
)
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Rows per part.")
@click.option("--raw", is_flag=True, help="Also print the bytes of every field.")
@click.pass_context
def inspect(
    context: click.Context,
    /,
    directory: Path | None,
    *,
    store: str | None,
    table_name: str | None,
    key_text: str | None,
    part_text: str | None,
    limit: int,
    raw: bool,
) -> None:
    """Print the data stored in DIRECTORY, ./faradisc-data if not given, or in the PostgreSQL of --store.

    Without an option: a list of all parts with their content and size. Servers may run; then their present
    state is printed. docs/formats describes the layouts.
    """
    from faradisc.engine.sealing.sealer import KeyDenied  # noqa: PLC0415
    from faradisc.errors import StorageError  # noqa: PLC0415 - for this command only

    if key_text is not None and table_name is None:
        _fail("--key needs --table.")
    try:
        with _opened(shared_settings(context, directory, store), directory or LOCAL_DIRECTORY) as (
            place,
            opened,
            run,
        ):
            state = run(with_keys(opened, directory or LOCAL_DIRECTORY, _fail, run).snapshot())
            inspector = _Inspector(state, run, limit=limit, raw=raw)
            lines: Iterable[str] = ()
            if part_text is not None:
                lines = inspector.part(_part(part_text))
            elif key_text is not None:
                lines = inspector.item(inspector.table(table_name or ""), key_text)
            elif table_name is not None:
                lines = inspector.whole_table(inspector.table(table_name))
            else:
                click.echo(place)
                inspector.print_overview()
            for line in lines:
                click.echo(line)
    except (StorageError, KeyDenied) as error:
        _fail(str(error))


@contextmanager
def _opened(settings: ServerSettings | None, directory: Path) -> Iterator[tuple[str, Store, Run]]:
    """Yields a name of the place, its store, and the function that runs coroutines on it."""
    from faradisc.storage import format as data_format  # noqa: PLC0415
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.storage.rocks_reading import read_only_rocks  # noqa: PLC0415

    if settings is not None:
        with opened_shared(settings) as (shared, run_shared):
            yield settings.where.words, shared, run_shared
        return
    version = data_format.found(directory)
    with read_only_rocks(directory) as store:
        yield f"{directory}, storage format {version}", store, run


class _Inspector:
    """Describes one state of a store as text."""

    def __init__(self, store: ReadOnlyStore, run: Run, *, limit: int, raw: bool) -> None:
        from faradisc.engine.check.explain import Explainer  # noqa: PLC0415
        from faradisc.engine.check.inventory import take_inventory  # noqa: PLC0415
        from faradisc.engine.inspection.problems import Report  # noqa: PLC0415

        self._run = run
        self._store = store
        self._limit = limit
        self._raw = raw
        self._inventory: Inventory = run(take_inventory(store, Report()))
        self._explainer: Explainer = Explainer(self._inventory)

    # --- Requests ---

    def table(self, name: str) -> TableLayout:
        for table in self._inventory.tables:
            if table.name == name:
                return table
        names = ", ".join(table.name for table in self._inventory.tables) or "none"
        _fail(f"The table {name} does not exist; the tables are: {names}.")

    def print_overview(self) -> None:
        """Prints a table of all parts."""
        from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

        rows = []
        for part, last in self._inventory.parts.items():
            items, size = self._run(self._store.usage(part))
            counted = f"{items:,} rows counted, {size:,} bytes" if items or size else ""
            logged = f"log up to {last:,}" if last else ""
            details = ", ".join(filter(None, (counted, logged)))
            content = f"{self._explainer.layout(part).what}{f' ({details})' if details else ''}"
            rows.append((part.hex(), content))
        print_table(("part", "content"), rows)

    def whole_table(self, table: TableLayout) -> Iterator[str]:
        """Yields the catalog row of a table, and some rows of each of its parts."""
        from faradisc.model.codec.keyspace import CATALOG_PART  # noqa: PLC0415

        key = table.state.namespace.encode() + b"\x00" + table.name.encode()
        yield from self._rows(CATALOG_PART, [key])
        wanted = {table.state.resource}
        wanted.update(each.resource for each in self._inventory.derived[table.state.resource])
        for part in self._inventory.parts:
            if int.from_bytes(part[:4], "big") in wanted:
                yield from self.part(part)

    def part(self, part: Part) -> Iterator[str]:
        """Yields some rows and log entries of one part."""
        layout = self._explainer.layout(part)
        yield from self._heading(part)
        rows = self._run(self._store.range(part, None, None, limit=self._limit + 1))
        for key, (version, payload) in rows[: self._limit]:
            yield from self._row(f"row, version {version}", [*layout.key(key), *layout.payload(payload)])
        if len(rows) > self._limit:
            yield f"  more rows follow; --limit shows more than {self._limit}"
        entries = self._run(self._store.log(part, 0, self._limit + 1))
        for sequence, entry in entries[: self._limit]:
            yield from self._row(f"log entry {sequence}", layout.entry(entry))
        if len(entries) > self._limit:
            yield f"  more log entries follow; --limit shows more than {self._limit}"

    def item(self, table: TableLayout, key_text: str) -> Iterator[str]:
        """Yields all stored data of one item."""
        from faradisc.engine.inspection.words import read_item  # noqa: PLC0415

        key = _key(table, key_text)
        row_key = table.placement.row_key(key)
        part = table.placement.part_of(row_key)
        yield from self._rows(part, [row_key])
        (row,) = self._run(self._store.get(part, (row_key,)))
        item = read_item(row[1]) if row is not None else None
        look = self._inventory.look(self._store, 0)
        look.rows_max = self._limit
        record = b"" if row is None else row[1]
        for derived in self._inventory.derived_of(table):
            for about, keys in self._run(derived.rows_about(look, key, item, record)):
                yield from self._rows(about, keys)
        yield from self._records(table, table.named_placement.row_key(key), part[4])

    # --- Lines ---

    def _heading(self, part: Part) -> Iterator[str]:
        from faradisc.engine.check.explain import part_name  # noqa: PLC0415
        from faradisc.engine.inspection.layouts import lines  # noqa: PLC0415

        yield ""
        yield f"part {part.hex()}: {self._explainer.layout(part).what}"
        if self._raw:
            yield from lines(part_name(part), raw=True)

    def _rows(self, part: Part, keys: Iterable[bytes]) -> Iterator[str]:
        """Yields rows of one part, missing ones included."""
        layout = self._explainer.layout(part)
        keys = list(keys)
        if not keys:
            return
        yield from self._heading(part)
        for key, row in zip(keys, self._run(self._store.get(part, keys)), strict=True):
            fields = layout.key(key)
            if row is None:
                yield from self._row("no row", fields)
            else:
                yield from self._row(f"row, version {row[0]}", [*fields, *layout.payload(row[1])])

    def _row(self, title: str, fields: Fields) -> Iterator[str]:
        from faradisc.engine.inspection.layouts import lines  # noqa: PLC0415

        yield f"  {title}"
        yield from lines(fields, raw=self._raw)

    def _records(self, table: TableLayout, row_key: bytes, slot: int) -> Iterator[str]:
        """Yields the records of one item in the streams of its table. row_key: as log entries have it."""
        from faradisc.engine.inspection.reading import log_pages  # noqa: PLC0415
        from faradisc.engine.streams.records import parse_entry  # noqa: PLC0415

        for stream in self._inventory.streams.values():
            if (stream.namespace, stream.table_name) != (table.state.namespace, table.name):
                continue
            part = stream.resource.to_bytes(4, "big") + bytes([slot])
            layout = self._explainer.layout(part)

            async def of_item(part: Part = part) -> list[tuple[int, bytes]]:
                matching: list[tuple[int, bytes]] = []
                async for entries in log_pages(self._store, part):
                    matching += [pair for pair in entries if _is_about(pair[1], row_key, parse_entry)]
                    del matching[self._limit :]
                return matching

            for number, (sequence, entry) in enumerate(self._run(of_item())):
                if not number:
                    yield from self._heading(part)
                yield from self._row(f"log entry {sequence}", layout.entry(entry))


def _is_about(entry: bytes, row_key: bytes, parse_entry: Any) -> bool:
    try:
        return bool(parse_entry(entry).row_key == row_key)
    except ValueError:
        return False


def _part(text: str) -> bytes:
    try:
        part = bytes.fromhex(text)
    except ValueError:
        part = b""
    if not part:
        _fail(f"{text!r} is not a part, which has the form of hex digits: 0000000103.")
    return part


def _key(table: TableLayout, text: str) -> dict[str, Any]:
    """Returns a key of the table from plain or DynamoDB JSON."""
    from faradisc.model.values.checks import canonicalise  # noqa: PLC0415

    try:
        given = json.loads(text)
    except ValueError as error:
        _fail(f"--key is not valid JSON: {error}.")
    names = table.key.names
    if not isinstance(given, dict) or set(given) != set(names):
        _fail(f"--key must have the key attributes of {table.name}: {', '.join(names)}.")
    key = {name: _value(given[name], table.key.types[name]) for name in names}
    for name, value in key.items():
        if table.key.types[name] not in value or not canonicalise(value):
            _fail(f"--key: {name} must have the type {table.key.types[name]}.")
    return key


def _value(given: object, kind: str) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if kind == "N" and isinstance(given, int | float) and not isinstance(given, bool):
        return {"N": str(given)}
    return {kind: given}


def _fail(sentence: str) -> NoReturn:
    fail(sentence, 2)
