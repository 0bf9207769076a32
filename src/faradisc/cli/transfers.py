"""`faradisc export`, `import` and `copy`: tables to files, from files, and between databases."""

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
from faradisc.server.setting import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from faradisc.engine.exchange.locations import Locations
    from faradisc.engine.formats.masking import Masking
    from faradisc.frames.shaping import Nested, Numbers
    from faradisc.tools.transfer.endpoints import Endpoint

SALT_VARIABLE = ENVIRONMENT_PREFIX + "MASKING_SALT"
SOME_REJECTED = 3
"""Exit code when everything was read and some records were rejected."""

_mask = click.option(
    "--mask",
    type=click.Path(path_type=Path),
    help=f"Masking rules, YAML or JSON; ${SALT_VARIABLE} replaces their salt.",
)
_segments = click.option(
    "--segments", type=click.IntRange(1, 64), default=4, show_default=True, help="Parallel readers."
)


def _location(prefix: str, side: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that adds the options for a database."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        name = f"{prefix}-" if prefix else ""
        for option, text in (
            ("profile", f"AWS profile for {side}."),
            ("region", f"Region of {side}; by default the environment's."),
            ("data-dir", f"Data directory of {side}, when no server has it open."),
        ):
            command = click.option(f"--{name}{option}", help=text)(command)
        return click.option(
            f"--{name}url",
            default=None if prefix else LOCAL_URL,
            show_default=not prefix,
            envvar=None if prefix else ENVIRONMENT_PREFIX + "URL",
            callback=address,
            help=f"Endpoint of {side}, or `aws` for Amazon's.",
        )(command)

    return add


@click.command("export")
@click.argument("table")
@click.argument("directory", type=click.Path(path_type=Path))
@_location("", "the database")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "ion"]),
    default="json",
    show_default=True,
    help="DynamoDB JSON or Ion, both compressed with gzip.",
)
@click.option("--parquet", is_flag=True, help="Write DIRECTORY as one file of Parquet instead.")
@click.option("--arrow", is_flag=True, help="Write DIRECTORY as one file of Arrow (IPC) instead.")
@click.option(
    "--numbers",
    type=click.Choice(["decimal", "double"]),
    default="decimal",
    show_default=True,
    help="Of Parquet and Arrow: decimals have all digits.",
)
@click.option(
    "--nested",
    type=click.Choice(["dynamodb", "plain"]),
    default="dynamodb",
    show_default=True,
    help="Of Parquet and Arrow: lists and maps as DynamoDB JSON or plain JSON.",
)
@_mask
@_segments
def export_table(
    table: str,
    directory: Path,
    *,
    format_: str,
    parquet: bool,
    arrow: bool,
    numbers: Numbers,
    nested: Nested,
    mask: Path | None,
    segments: int,
    **location: Any,
) -> None:
    """Write TABLE into DIRECTORY in the layout of the service's exports, or as a file of columns.

    Scans any DynamoDB endpoint; the export may or may not contain writes made meanwhile. `faradisc import`
    and ImportTable, here and of the service, read the layout.
    """
    if parquet and arrow:
        raise click.UsageError("--parquet excludes --arrow.")
    if parquet or arrow:
        ending = ".parquet" if parquet else ".arrow"
        path = directory / f"{table}{ending}" if directory.is_dir() else directory
        with _errors_as_sentences():
            _export_columns(table, path, _masking(mask), location, (segments, parquet, numbers, nested))
        return
    with _errors_as_sentences():
        from faradisc.clock import SystemClock, SystemEntropy  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.file_export import FileExport  # noqa: PLC0415
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

        masking = _masking(mask)
        kind = {"json": "DYNAMODB_JSON", "ion": "ION"}[format_]
        with _endpoint(location, threads=segments, create=False) as source:
            export = FileExport(directory, kind, SystemClock(), SystemEntropy())
            progress = Progress()
            written = export.table(
                source, table, masker=masking.of(table), segments=segments, progress=progress
            )
            progress.end()
        click.echo(f"{progress.line()} in {directory / written}")


def _export_columns(
    table: str,
    path: Path,
    masking: Masking,
    location: dict[str, Any],
    form: tuple[int, bool, Numbers, Nested],
) -> None:
    """Writes a table as a file of Parquet or Arrow."""
    import warnings  # noqa: PLC0415 - for this option only

    from faradisc.frames.files import write  # noqa: PLC0415 - slow to import
    from faradisc.frames.reading import TableReading  # noqa: PLC0415
    from faradisc.frames.shaping import FrameWarning  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415
    from faradisc.tools.transfer.tables import key_names_of  # noqa: PLC0415

    if not path.absolute().parent.is_dir():
        fail(f"The directory {path.absolute().parent} does not exist.")
    masker = masking.of(table)
    segments, parquet, numbers, nested = form
    with _endpoint(location, threads=segments, create=False) as source:
        reading = TableReading(source, table, masker.masked if masker else None)
        masker.check_keys(key_names_of(reading.described))
        progress = Progress(reading.described.get("ItemCount"))
        reading.read(segments, lambda items, size: progress.add(items, size, items))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", FrameWarning)
        write(reading, path, parquet=parquet, numbers=numbers, nested=nested)
    progress.end()
    for each in warned:
        click.echo(f"note: {each.message}", err=True)
    click.echo(f"{progress.line()} in {path}")


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("table")
@_location("", "the database")
@click.option("--key", help="Partition key of a new table, such as id:S.")
@click.option("--sort-key", help="Sort key of a new table, such as at:N.")
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    help="Definition of a new table, in any form that `faradisc seed` reads.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "ion", "csv"]),
    help="Format; by default from the file names.",
)
@click.option(
    "--compression",
    type=click.Choice(["none", "gzip", "zstd"]),
    help="Compression; by default from the file names.",
)
@click.option("--delimiter", help="Delimiter of CSV; by default a comma.")
@click.option("--headers", help="Attributes of CSV without a header line, separated by commas.")
@click.option("--errors", type=click.Path(path_type=Path), help="File for rejected records, as JSON lines.")
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
    **location: Any,
) -> None:
    """Read SOURCE into TABLE: an export of the service, full or incremental, or files of items.

    The checksums of an export are verified first. Files are DynamoDB JSON lines, Ion or CSV, plain, .gz or
    .zst; or items as JSON: a list, lines, an answer of Scan, a BatchWriteItem request, the sample items of a
    NoSQL Workbench model. With --data-dir a new table becomes visible when it is complete.
    """
    with _errors_as_sentences():
        from faradisc.tools.readers.inputs import find_input  # noqa: PLC0415
        from faradisc.tools.transfer import file_import  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

        kinds = {"json": "DYNAMODB_JSON", "ion": "ION", "csv": "CSV"}
        given = find_input(
            source,
            format_=kinds[format_] if format_ is not None else None,
            compression=compression.upper() if compression is not None else None,
            delimiter=delimiter,
            headers=tuple(headers.split(",")) if headers is not None else None,
        )
        given.source.check_libraries()
        masker = _masking(mask).of(table)
        new = _definition(table, key, sort_key, definition)
        if new is None and given.is_documents and source.is_file() and source.suffix == ".json":
            new = _read_definition(source, table, required=False)  # a model has its tables
        logs = Path(location["data_dir"] or ".", "logs")
        locations = file_import.locations_for(given, masker, logs) if given.files else None
        progress = Progress(given.size_bytes if given.source.compression == "NONE" else None)
        with _endpoint(location, threads=threads, locations=locations) as target:
            if file_import.can_import_new(target, given, new, table):
                masker.check_keys(tuple(each["AttributeName"] for each in (new or {})["KeySchema"]))
                outcome = file_import.import_new(target, given, new or {}, progress)  # type: ignore[arg-type]
            else:
                outcome = file_import.put_all(target, given, table, new, masker=masker, progress=progress)
        progress.end()
        click.echo(f"{progress.line()}; {outcome.items:,} imported, {outcome.error_count:,} rejected")
        if errors is not None:
            errors.write_text("".join(json.dumps(each) + "\n" for each in outcome.errors))
        if outcome.error_count:
            for each in outcome.errors[: 0 if errors is not None else 5]:
                click.echo(f"  {each['file']}, record {each['record']}: {each['reason']}", err=True)
            raise SystemExit(SOME_REJECTED)


@click.command()
@click.argument("tables", nargs=-1, required=True)
@_location("from", "the source")
@_location("to", "the target")
@click.option("--as", "new_name", help="Name of the copy, when one table is copied.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="Directory for the progress; the same command continues after an interruption.",
)
@click.option(
    "--compare", is_flag=True, help="Count the items of both tables afterwards; exits 1 if they differ."
)
@_mask
@_segments
def copy(
    tables: tuple[str, ...],
    *,
    new_name: str | None,
    compare: bool,
    resume: Path | None,
    mask: Path | None,
    segments: int,
    **options: Any,
) -> None:
    """Copy TABLES from one DynamoDB endpoint to another.

    Missing tables are created with the keys and indexes of the source, on demand.
    """
    with _errors_as_sentences():
        from faradisc.tools.transfer.copying import compare_counts, copy_table  # noqa: PLC0415 - slow to import
        from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

        if new_name is not None and len(tables) > 1:
            raise click.UsageError("--as needs exactly one table.")
        sides = [
            {name.removeprefix(f"{side}_"): value for name, value in options.items() if name.startswith(side)}
            for side in ("from", "to")
        ]
        if not all(side["url"] or side["data_dir"] for side in sides):
            raise click.UsageError(
                "Give a source (--from-url, --from-data-dir) and a target (--to-url, --to-data-dir)."
            )
        masking = _masking(mask)
        if resume is not None:
            resume.mkdir(parents=True, exist_ok=True)
        with (
            _endpoint(sides[0], threads=segments, create=False) as source,
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
                if compare:
                    count = compare_counts(source, target, (table, new_name or table))
                    click.echo(f"  {count:,} items in both")


@contextmanager
def _endpoint(
    location: dict[str, Any], *, threads: int, locations: Locations | None = None, create: bool = True
) -> Iterator[Endpoint]:
    """Yields the database of the options. create: create a missing data directory."""
    from faradisc.storage import format as data_format  # noqa: PLC0415 - slow to import
    from faradisc.tools.transfer.endpoints import Directory, Remote  # noqa: PLC0415

    url = None if location["url"] in (None, "aws") else location["url"].rstrip("/") + "/"
    opened: Endpoint
    if location["data_dir"] is not None:
        if not create:
            data_format.found(Path(location["data_dir"]))
        opened = Directory(location["data_dir"], locations)
    else:
        opened = Remote(url, location["region"], profile=location["profile"], threads=threads)
    try:
        yield opened
    finally:
        opened.close()


def _masking(path: Path | None) -> Masking:
    """Raises BadRules, OSError."""
    from faradisc.engine.formats.masking import BadRules, Masking  # noqa: PLC0415 - for transfers only

    if path is None:
        return Masking({"rules": []})
    text = path.read_text()
    if path.suffix in (".yaml", ".yml"):
        import yaml  # noqa: PLC0415 - for YAML only

        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise BadRules(f"{path} is not valid YAML: {error}") from None
    else:
        try:
            document = json.loads(text)
        except ValueError as error:
            raise BadRules(f"{path} is not valid JSON: {error}") from None
    return Masking(document, os.environ.get(SALT_VARIABLE) or None)


def _definition(
    table: str, key: str | None, sort_key: str | None, path: Path | None
) -> dict[str, Any] | None:
    """Returns the CreateTable request for a new table, None without options for one."""
    if path is not None:
        if key is not None or sort_key is not None:
            raise click.UsageError("--definition has the key; it excludes --key and --sort-key.")
        return _read_definition(path, table, required=True)
    if key is None:
        if sort_key is not None:
            raise click.UsageError("--sort-key needs --key.")
        return None
    elements = [(key, "HASH"), *([(sort_key, "RANGE")] if sort_key is not None else [])]
    named = [(*text.rpartition(":")[::2], kind) for text, kind in elements]
    if any(not name or type_ not in ("S", "N", "B") for name, type_, _ in named):
        raise click.UsageError("A key needs a name and a type, S, N or B: id:S.")
    return {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": type_} for name, type_, _ in named],
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, _, kind in named],
        "BillingMode": "PAY_PER_REQUEST",
    }


def _read_definition(path: Path, table: str, *, required: bool) -> dict[str, Any] | None:
    """Returns the CreateTable request of a table in a file of definitions: of its name, or the only one."""
    from faradisc.tools.readers.definitions import read_definitions  # noqa: PLC0415
    from faradisc.tools.transfer.tables import definition_of  # noqa: PLC0415

    found = read_definitions(path)
    if found.errors:
        fail(f"{path.parent / str(found.errors[0])}")
    chosen = found.table(table) or (found.tables[0] if required and len(found.tables) == 1 else None)
    if chosen is None:
        if required:
            fail(f"{path} defines no table {table}.")
        return None
    return definition_of(chosen.request, table)


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """Ends the program with one sentence for an error."""
    from faradisc.engine.formats.compression import InputDamaged, Unavailable  # noqa: PLC0415
    from faradisc.engine.formats.masking import BadRules  # noqa: PLC0415
    from faradisc.engine.objects.api import BucketError  # noqa: PLC0415
    from faradisc.errors import RequestRejected, StorageError, Unreachable  # noqa: PLC0415 - slow to import
    from faradisc.tools.readers.inputs import NoInput  # noqa: PLC0415
    from faradisc.tools.transfer.putting import TableUnusable  # noqa: PLC0415
    from faradisc.tools.transfer.scanning import BadState  # noqa: PLC0415

    errors = (
        BadRules,
        BadState,
        BucketError,
        InputDamaged,
        RequestRejected,
        NoInput,
        StorageError,
        TableUnusable,
    )
    try:
        yield
    except (*errors, Unavailable, Unreachable, ImportError, OSError, json.JSONDecodeError) as error:
        fail(str(error))
