"""`faradisc check`: verifies a whole database, in its directory or through its server, and repairs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from faradisc.cli.copies import endpoint_option, with_place
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
    from faradisc.storage.api import Store

CLEAN, PROBLEMS, CANNOT = 0, 1, 2
SHOWN_MAX = 10
"""Printed details of one kind of problem; --json has more."""


@click.command()
@click.argument(
    "directory", required=False, type=click.Path(path_type=Path), envvar=ENVIRONMENT_PREFIX + "DATA_DIR"
)
@store_option
@click.option("--url", help="Endpoint of a running server, which then checks its own data.")
@click.option("--repair", is_flag=True, help="Rewrite damaged data that can be derived from other data.")
@click.option(
    "--recover", is_flag=True, help="Accept the loss of commits in a damaged log, report them and continue."
)
@click.option("--copy", "copy", help="Verify a continuous copy instead: s3://bucket/prefix, or a directory.")
@endpoint_option
@click.option("--json", "as_json", is_flag=True, help="The report as one JSON document.")
@click.pass_context
def check(
    context: click.Context,
    /,
    directory: Path | None,
    *,
    store: str | None,
    url: str | None,
    repair: bool,
    recover: bool,
    copy: str | None,
    s3_endpoint: str,
    as_json: bool,
) -> None:
    """Verify every item, index, counter, stream and token of the database in DIRECTORY, or of --store.

    Without --repair nothing is changed, and servers may run: then their present state is checked.
    DIRECTORY is ./faradisc-data if not given.

    Exits 0 without problems, or if --repair has repaired all of them; 1 with problems; 2 when the check is
    not possible.
    """
    if copy is not None:
        _check_copy(copy, s3_endpoint, as_json=as_json)
    if url is not None:
        # A place from the environment is overridden by --url.
        sources = map(context.get_parameter_source, ("directory", "store"))
        if ParameterSource.COMMANDLINE in sources or repair or recover:
            _fail(
                "--url excludes DIRECTORY, --store, --repair and --recover; a repair needs a stopped server."
            )
        from faradisc.cli.check_online import check_online  # noqa: PLC0415 - botocore is slow to import

        document = check_online(url, _fail)
    elif (shared := shared_settings(context, directory, store)) is not None:
        if recover:
            _fail("--recover is for a data directory; PostgreSQL recovers its own log.")
        document = _check_shared(shared, repair=repair)
    else:
        document = _check_directory(directory or LOCAL_DIRECTORY, repair=repair, recover=recover)
    if as_json:
        click.echo(json.dumps(document))
    else:
        print_report(document)
    left = document["repaired"]["left"] if document.get("repaired") else document
    raise SystemExit(CLEAN if left["clean"] else PROBLEMS)


def _check_copy(where: str, endpoint: str, *, as_json: bool) -> NoReturn:
    """Verifies every segment and snapshot of a copy, without a server."""
    from faradisc.engine.copying.restoring import CopyReport, verify  # noqa: PLC0415 - for this option only

    report: CopyReport = with_place(where, endpoint, verify, _fail)
    if as_json:
        click.echo(json.dumps({"place": where, "clean": not report.problems, **asdict(report)}))
    else:
        for problem in report.problems:
            click.echo(problem)
        reach = ""
        if report.first_ns:
            first, last = (
                datetime.fromtimestamp(each / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
                for each in (report.first_ns, max(report.first_ns, report.last_ns))
            )
            reach = f"; restorable from {first} to {last}"
        click.echo(
            f"{where}: {report.segments:,} segments, {report.groups:,} groups, {report.snapshots:,} snapshots"
            f"{reach}" + ("" if report.problems else ": intact")
        )
    raise SystemExit(PROBLEMS if report.problems else CLEAN)


def _check_directory(directory: Path, *, repair: bool, recover: bool) -> dict[str, Any]:
    from faradisc.errors import StorageError  # noqa: PLC0415 - for this command only
    from faradisc.storage import format as data_format  # noqa: PLC0415
    from faradisc.storage.api import InUse  # noqa: PLC0415

    try:
        version = data_format.found(directory)
        lost = _recover(directory) if recover else None
        document = _repaired(directory) if repair else _looked_at(directory)
    except InUse as error:
        _fail(f"{error} Stop it before a repair; a check without --repair needs no stop.")
    except StorageError as error:
        _fail(str(error))
    return {"place": str(directory), "format": version, "lost": lost, **document}


def _recover(directory: Path) -> dict[str, Any] | None:
    """Opens the store with the readable part of its log. Returns the lost commits, None if there are none."""
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.storage.rocks import open_rocks  # noqa: PLC0415
    from faradisc.storage.rocks_files import is_record_missing, unrecoverable  # noqa: PLC0415
    from faradisc.storage.sync_record import begin  # noqa: PLC0415

    lost = unrecoverable(directory.absolute())
    is_missing = is_record_missing(directory)
    if lost is None and not is_missing:
        return None
    begin(directory)
    run(open_rocks(directory, durability="inline").close())
    if lost is None:
        text = "the sync record was missing, so nothing says whether commits are lost"
        return {"changes": None, "first_commit": None, "last_commit": None, "text": text}
    return {
        "changes": lost.changes,
        "first_commit": lost.recovered.version + 1 if lost.recovered.version else None,
        "last_commit": lost.acknowledged.version,
        "text": str(lost),
    }


def _looked_at(directory: Path) -> dict[str, Any]:
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.storage.rocks_reading import read_only_rocks  # noqa: PLC0415

    with read_only_rocks(directory) as store:
        return _checked(store, run, directory, repair=False)


def _repaired(directory: Path) -> dict[str, Any]:
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

    engine = open_rocks(directory, durability="inline")
    try:
        return _checked(engine, run, directory, repair=True)
    finally:
        run(engine.close())


def _check_shared(settings: ServerSettings, *, repair: bool) -> dict[str, Any]:
    from faradisc.errors import StorageError  # noqa: PLC0415

    directory = settings.where.directory if settings.where.has_directory else None
    try:
        with opened_shared(settings) as (store, run), _alone(store, run) if repair else nullcontext():
            return {"place": settings.where.words, **_checked(store, run, directory, repair=repair)}
    except StorageError as error:
        _fail(str(error))


@contextmanager
def _alone(store: Store, run: Run) -> Iterator[None]:
    """Keeps servers from starting over a store. Raises StorageError when some run."""
    import asyncio  # noqa: PLC0415

    from faradisc import __version__  # noqa: PLC0415
    from faradisc.clock import SystemClock, SystemEntropy  # noqa: PLC0415
    from faradisc.engine.cluster.nodes import Node, Nodes  # noqa: PLC0415

    name = SystemEntropy().token_bytes(4).hex()
    nodes = Nodes(store, SystemClock(), Node(name, "faradisc check --repair", __version__, {}, alone=True))
    run(nodes.join())

    async def begin() -> asyncio.Task[None]:
        return asyncio.create_task(beat())

    async def beat() -> None:
        while True:
            await nodes.step()
            await asyncio.sleep(1)

    beating = run(begin())
    try:
        yield
    finally:
        beating.cancel()
        run(nodes.leave())


def _checked(engine: Store, run: Run, directory: Path | None, *, repair: bool) -> dict[str, Any]:
    """Returns the document of a check, and of a repair and a second check if something can be repaired."""
    from faradisc.clock import SystemClock  # noqa: PLC0415
    from faradisc.engine.check.repair import Repair  # noqa: PLC0415

    store = with_keys(engine, directory, _fail, run)
    document, repairs = _report(store, run, directory)
    if not repair or not repairs:
        return document
    done = run(Repair(store, SystemClock()).all(repairs))
    left, _ = _report(store, run, directory)
    return {**document, "repaired": {"done": done, "left": left}}


def _report(store: Store, run: Run, directory: Path | None) -> tuple[dict[str, Any], list[Any]]:
    """Returns the report of one check of a store and its backups, and the repairs of its problems."""
    from faradisc.clock import SystemClock  # noqa: PLC0415
    from faradisc.engine.backups.storage import BACKUPS_DIRECTORY, directory_backups  # noqa: PLC0415
    from faradisc.engine.check import Check  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

    clock = SystemClock()
    began_ns = clock.now_ns()
    storage = None if directory is None else directory_backups(directory / BACKUPS_DIRECTORY, blocking=False)
    checking = Check(store, clock, storage)
    with Progress(what="check", unit="rows") as progress:
        report = run(checking.finish(lambda: progress.reach(checking.report.rows)))
    seconds = (clock.now_ns() - began_ns) / 1e9
    return {**report.to_json(), "seconds": round(seconds, 3)}, list(report.repairs)


# --- Output --------------------------------------------------------------------------------------


def print_report(document: dict[str, Any]) -> None:
    """Prints a report as text."""
    from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

    version = f", storage format {document['format']}" if "format" in document else ""
    click.echo(f"{document['place']}{version}")
    if document.get("lost"):
        click.echo(f"recovered the readable part of the log: {document['lost']['text']}")
    tallies = document["looked_at"]
    if tallies:
        print_table(("data", "count", "size"), map(_row, tallies), right=("count", "size"), indent=2)
    for note in document["notes"]:
        click.echo(f"note: {note}")
    click.echo("\n".join(_problem_lines(document)))
    repaired = document.get("repaired")
    if repaired:
        click.echo(f"\nrepaired: {repaired['done']} done; result of a second check:")
        click.echo("\n".join(_problem_lines(repaired["left"])))


def _row(tally: dict[str, Any]) -> tuple[str, str, str]:
    nouns = {"table": "items", "stream": "records", "capture": "records", "tokens": "tokens"}
    nouns |= {"expiry": "rows", "history": "changes", "backups": "backups"}
    noun = nouns.get(tally["kind"], "entries")
    table, comma, rest = tally["where"].partition(", ")
    return (f"  {rest}" if comma else table, f"{tally['rows']:,} {noun}", size_text(tally["bytes"]))


def _problem_lines(document: dict[str, Any]) -> Iterable[str]:
    for group in document["found"]:
        yield ""
        times = f" ({group['count']:,} times)" if group["count"] > 1 else ""
        yield f"PROBLEM {group['where']}: {group['what']}{times}"
        for detail in group["details"][:SHOWN_MAX]:
            yield f"      {detail}"
        if group["count"] > SHOWN_MAX and len(group["details"]) > SHOWN_MAX:
            yield f"      and {group['count'] - SHOWN_MAX:,} more"
        remedy = group["remedy"]
        yield f"      --repair {remedy}" if group["repairable"] else f"      no repair: {remedy}"
    if document["found"]:
        yield ""
    problems, rows, seconds = document["problems"], document["rows"], document["seconds"]
    found = "no problems" if not problems else f"{problems:,} problem{'s' if problems > 1 else ''}"
    speed = f", {rows / seconds:,.0f} a second" if seconds >= 1 else ""
    yield f"{found} in {rows:,} rows and log entries ({seconds:.1f} s{speed})"


def size_text(count: int) -> str:
    """Returns a number of bytes in the unit with at most four digits."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 10_000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}"


def _fail(sentence: str) -> NoReturn:
    fail(sentence, CANNOT)
