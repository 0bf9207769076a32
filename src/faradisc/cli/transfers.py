"""`faradisc export`, `import` and `copy`: tables out to files, in from files, and from place to place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faradisc.cli.databases import LOCAL_URL, address
from faradisc.cli.failing import fail
from faradisc.server.settings import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from faradisc.engine.exchange.locations import Locations
    from faradisc.engine.exchange.masking import Masking
    from faradisc.tools.transfer.wire import Endpoint

SALT_VARIABLE = ENVIRONMENT_PREFIX + "MASKING_SALT"
SOME_REFUSED = 3
"""Exit code when everything was read and some records were no items."""

_mask = click.option(
    "--mask",
    type=click.Path(path_type=Path),
    help=f"Rules that hide attributes, YAML or JSON; ${SALT_VARIABLE} goes before their salt.",
)
_segments = click.option(
    "--segments", type=click.IntRange(1, 64), default=4, show_default=True, help="Parallel readers."
)


def _place(prefix: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that say where a database is."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        name = f"{prefix}-" if prefix else ""
        for option, text in (
            ("profile", f"AWS profile for {what}."),
            ("region", f"Region of {what}; otherwise the environment's."),
            ("data-dir", f"Data directory of {what}, when no server has it open."),
        ):
            command = click.option(f"--{name}{option}", default=None, help=text)(command)
        return click.option(
            f"--{name}url",
            default=None if prefix else LOCAL_URL,
            show_default=not prefix,
            envvar=None if prefix else ENVIRONMENT_PREFIX + "URL",
            callback=address,
            help=f"Endpoint of {what}, or `aws` for Amazon's own.",
        )(command)

    return add


@click.command("export")
@click.argument("table")
@click.argument("directory", type=click.Path(path_type=Path))
@_place("", "the database")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "ion"]),
    default="json",
    show_default=True,
    help="DynamoDB JSON or Ion, both compressed with gzip.",
)
@_mask
@_segments
def export_table(
    table: str, directory: Path, *, format_: str, mask: Path | None, segments: int, **place: Any
) -> None:
    """Write TABLE into DIRECTORY, in the layout of the service's exports.

    A Scan of any DynamoDB endpoint; writes during it may be in it or not. `faradisc import`, ImportTable here
    and ImportTable of the service read what it writes.
    """
    with _refusals():
        from faradisc.clock import SystemClock, SystemEntropy  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.dumping import Dump  # noqa: PLC0415
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

        masking = _masking(mask)
        kind = {"json": "DYNAMODB_JSON", "ion": "ION"}[format_]
        with _endpoint(place, threads=segments, made=False) as source:
            dump = Dump(directory, kind, SystemClock(), SystemEntropy())
            progress = Progress()
            made = dump.table(source, table, masker=masking.of(table), segments=segments, progress=progress)
            progress.end()
        click.echo(f"{progress.line()} in {directory / made}")


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("table")
@_place("", "the database")
@click.option("--key", help="Partition key of a table to make, such as id:S.")
@click.option("--sort-key", help="Its sort key, such as at:N.")
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    help="CreateTable request, or answer of DescribeTable, of a table to make.",
)
@click.option(
    "--format", "format_", type=click.Choice(["json", "ion", "csv"]), help="Of files that do not say it."
)
@click.option(
    "--compression", type=click.Choice(["none", "gzip", "zstd"]), help="Of files that do not say it."
)
@click.option("--delimiter", help="Of CSV; a comma otherwise.")
@click.option("--headers", help="Attributes of CSV without a header line, separated by commas.")
@click.option("--errors", type=click.Path(path_type=Path), help="Write what was refused here, as JSON lines.")
@click.option("--threads", type=click.IntRange(1, 64), default=4, show_default=True, help="Parallel writers.")
@_mask
def import_files(
    source: Path,
    table: str,
    *,
    key: str | None,
    sort_key: str | None,
    definition: Path | None,
    format_: str | None,
    compression: str | None,
    delimiter: str | None,
    headers: str | None,
    errors: Path | None,
    threads: int,
    mask: Path | None,
    **place: Any,
) -> None:
    """Read SOURCE into TABLE: an export of the service, full or incremental, or files of items.

    An export is held against its checksums first. Files are DynamoDB JSON lines, Ion or CSV, plain, .gz or
    .zst. With --data-dir and a new table, all of it is there at once or nothing.
    """
    with _refusals():
        from faradisc.tools.transfer import loading  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415
        from faradisc.tools.transfer.sources import look  # noqa: PLC0415

        kinds = {"json": "DYNAMODB_JSON", "ion": "ION", "csv": "CSV"}
        given = look(
            source,
            format_=kinds[format_] if format_ is not None else None,
            compression=compression.upper() if compression is not None else None,
            delimiter=delimiter,
            headers=tuple(headers.split(",")) if headers is not None else None,
        )
        given.source.check_libraries()
        masker = _masking(mask).of(table)
        wanted = _definition(table, key, sort_key, definition)
        logs = Path(place["data_dir"] or ".", "logs")
        locations = loading.locations_for(given, masker, logs) if given.files else None
        progress = Progress(given.size_bytes if given.source.compression == "NONE" else None)
        with _endpoint(place, threads=threads, locations=locations) as target:
            if loading.can_import_new(target, given, wanted, table):
                masker.check_keys(tuple(each["AttributeName"] for each in (wanted or {})["KeySchema"]))
                outcome = loading.import_new(target, given, wanted or {}, progress)  # type: ignore[arg-type]
            else:
                outcome = loading.put_all(target, given, table, wanted, masker=masker, progress=progress)
        progress.end()
        click.echo(f"{progress.line()}; {outcome.items:,} imported, {outcome.error_count:,} refused")
        if errors is not None:
            errors.write_text("".join(json.dumps(each) + "\n" for each in outcome.errors))
        if outcome.error_count:
            for each in outcome.errors[: 0 if errors is not None else 5]:
                click.echo(f"  {each['file']}, record {each['record']}: {each['reason']}", err=True)
            raise SystemExit(SOME_REFUSED)


@click.command()
@click.argument("tables", nargs=-1, required=True)
@_place("from", "the source")
@_place("to", "the target")
@click.option("--as", "new_name", help="Name of the copy, when one table is copied.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="Directory to remember progress in; the same call goes on after an interruption.",
)
@_mask
@_segments
def copy(
    tables: tuple[str, ...],
    *,
    new_name: str | None,
    resume: Path | None,
    mask: Path | None,
    segments: int,
    **options: Any,
) -> None:
    """Copy TABLES from one DynamoDB endpoint to another: Amazon's, this one's, any.

    Tables that are missing are made with the keys and indexes of the source, on demand.
    """
    with _refusals():
        from faradisc.tools.transfer.copying import copy_table  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

        if new_name is not None and len(tables) > 1:
            raise click.UsageError("--as names the copy of one table.")
        sides = [
            {name.removeprefix(f"{side}_"): value for name, value in options.items() if name.startswith(side)}
            for side in ("from", "to")
        ]
        if not all(side["url"] or side["data_dir"] for side in sides):
            raise click.UsageError("Say where from and where to: --from-url or --from-data-dir, and --to-...")
        masking = _masking(mask)
        if resume is not None:
            resume.mkdir(parents=True, exist_ok=True)
        with (
            _endpoint(sides[0], threads=segments, made=False) as source,
            _endpoint(sides[1], threads=segments) as target,
        ):
            for table in tables:
                progress = Progress()
                copy_table(
                    source,
                    target,
                    (table, new_name or table),
                    masker=masking.of(table),
                    segments=segments,
                    state_path=resume / f"{table}.json" if resume is not None else None,
                    progress=progress,
                )
                progress.end()
                click.echo(f"{table}: {progress.line()}")


@contextmanager
def _endpoint(
    place: dict[str, Any], *, threads: int, locations: Locations | None = None, made: bool = True
) -> Iterator[Endpoint]:
    """The database of the options.

    made: a data directory that is missing is made. Whoever only reads has mistyped its name.
    """
    from faradisc.storage import format as data_format  # noqa: PLC0415 - slow to import
    from faradisc.tools.transfer.wire import Directory, Remote  # noqa: PLC0415

    url = None if place["url"] == "aws" else place["url"]
    opened: Endpoint
    if place["data_dir"] is not None:
        if not made:
            data_format.found(Path(place["data_dir"]))
        opened = Directory(place["data_dir"], locations)
    else:
        opened = Remote(url, place["region"], profile=place["profile"], threads=threads)
    try:
        yield opened
    finally:
        opened.close()


def _masking(path: Path | None) -> Masking:
    """Raises: BadRules, OSError."""
    from faradisc.engine.exchange.masking import BadRules, Masking  # noqa: PLC0415 - the other commands need none

    if path is None:
        return Masking({"rules": []})
    text = path.read_text()
    if path.suffix in (".yaml", ".yml"):
        import yaml  # noqa: PLC0415 - `serve` needs none of it

        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise BadRules(f"{path} is no YAML: {error}") from None
    else:
        try:
            document = json.loads(text)
        except ValueError as error:
            raise BadRules(f"{path} is no JSON: {error}") from None
    return Masking(document, os.environ.get(SALT_VARIABLE) or None)


def _definition(
    table: str, key: str | None, sort_key: str | None, path: Path | None
) -> dict[str, Any] | None:
    """The table to make, if it is to be made."""
    from faradisc.tools.transfer.tables import definition_of  # noqa: PLC0415

    if path is not None:
        if key is not None or sort_key is not None:
            raise click.UsageError("The key is in --definition; leave out --key and --sort-key.")
        document = json.loads(path.read_text())
        document = document.get("Table", document.get("TableDescription", document))
        return definition_of(document, table)
    if key is None:
        if sort_key is not None:
            raise click.UsageError("--sort-key needs --key.")
        return None
    elements = [(key, "HASH"), *([(sort_key, "RANGE")] if sort_key is not None else [])]
    named = [(*text.rpartition(":")[::2], kind) for text, kind in elements]
    if any(not name or type_ not in ("S", "N", "B") for name, type_, _ in named):
        raise click.UsageError("A key is a name and a type, S, N or B: id:S.")
    return {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": type_} for name, type_, _ in named],
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, _, kind in named],
        "BillingMode": "PAY_PER_REQUEST",
    }


@contextmanager
def _refusals() -> Iterator[None]:
    """Ends the program with one sentence where something cannot be used."""
    from faradisc.engine.exchange.compression import Damaged, Unavailable  # noqa: PLC0415
    from faradisc.engine.exchange.masking import BadRules  # noqa: PLC0415
    from faradisc.engine.exchange.object_storage import BucketError  # noqa: PLC0415
    from faradisc.errors import StorageError  # noqa: PLC0415 - slow to import
    from faradisc.tools.transfer.putting import Gone  # noqa: PLC0415
    from faradisc.tools.transfer.scanning import BadState  # noqa: PLC0415
    from faradisc.tools.transfer.sources import NothingThere  # noqa: PLC0415
    from faradisc.tools.transfer.wire import Refused, Unreachable  # noqa: PLC0415

    mistakes = (BadRules, BadState, BucketError, Damaged, Gone, NothingThere, Refused, StorageError)
    try:
        yield
    except (*mistakes, Unavailable, Unreachable, OSError, json.JSONDecodeError) as error:
        fail(str(error))
