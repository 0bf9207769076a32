"""`faradisc advise`: what to change in tables and traffic."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from faradisc.cli.databases import LOCAL_URL, address
from faradisc.cli.failing import fail

if TYPE_CHECKING:
    from faradisc.tools.advisor.definitions import Definition
    from faradisc.tools.advisor.traffic import Traffic

BAD_INPUT = 2
FOUND = 1
LEVELS = ("low", "medium", "high", "never")


@click.command()
@click.option("--trace", type=click.Path(path_type=Path), help="Recorded traffic: serve --record-trace.")
@click.option(
    "--url",
    callback=address,
    help=f"A running endpoint: its tables, and without --trace its metrics; `aws` for Amazon's. By default "
    f"{LOCAL_URL}, if there is no other source.",
)
@click.option("--region", help="Region; by default the environment's.")
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    help="Definitions of tables: a file or a directory that faradisc seed reads.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Definitions of tables: a data directory that no server has open.",
)
@click.option(
    "--hours",
    type=click.IntRange(1, 24),
    default=3,
    show_default=True,
    help="How much of an endpoint's metrics.",
)
@click.option(
    "--sample", is_flag=True, help="Read 32 items of each table and index, to see how many keys there are."
)
@click.option(
    "--times",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="Assume so many times the load.",
)
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    default="medium",
    show_default=True,
    help="Exit with 1 for findings of this level or above.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Of the output.",
)
def advise(
    trace: Path | None,
    url: str | None,
    region: str | None,
    *,
    tables: Path | None,
    data_dir: Path | None,
    hours: int,
    sample: bool,
    times: int,
    fail_on: str,
    format_: str,
) -> None:
    """Say what to change in tables and traffic: scans, hot keys, indexes, sizes, modes.

    Traffic comes from a recorded trace or a running endpoint, definitions of tables from an endpoint, files
    or a data directory. Exits 0 without findings, 1 with findings of the level of --fail-on or above, 2 when
    the input cannot be used.
    """
    try:
        from faradisc.tools.advisor.rules import advise as found_by_rules  # noqa: PLC0415 - slow to import
        from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        _fail(f"advise needs {error.name}, which is not installed. Run: pip install 'faradisc[plan]'")
    from faradisc.tools.advisor.report import as_text, to_json  # noqa: PLC0415
    from faradisc.tools.advisor.traffic import with_definitions  # noqa: PLC0415

    if trace is None and tables is None and data_dir is None:
        url = url or LOCAL_URL
    try:
        traffic = _traffic(trace, url, region, hours=hours, times=times, sample=sample)
    except (PlanError, OSError) as mistake:
        _fail(
            str(mistake) if isinstance(mistake, PlanError) else f"{trace} cannot be read: {mistake.strerror}"
        )
    if tables is not None:
        with_definitions(traffic, _definitions(tables))
    if data_dir is not None:
        with_definitions(traffic, _stored(data_dir, region, sample=sample))
    findings = found_by_rules(traffic)
    if format_ == "json":
        click.echo(json.dumps(to_json(traffic, findings), indent=1, ensure_ascii=False))
    else:
        click.echo(as_text(traffic, findings))
    if any(LEVELS.index(finding.level) >= LEVELS.index(fail_on) for finding in findings):
        raise SystemExit(FOUND)


def _traffic(
    trace: Path | None, url: str | None, region: str | None, *, hours: int, times: int, sample: bool
) -> Traffic:
    """Raises PlanError, OSError."""
    from faradisc.cli.trace_file import watched_lines  # noqa: PLC0415
    from faradisc.tools.advisor.recording import of_recording  # noqa: PLC0415
    from faradisc.tools.advisor.traffic import Traffic, with_definitions  # noqa: PLC0415
    from faradisc.tools.traces.trace_format import Trace  # noqa: PLC0415

    if trace is None:
        if url is None:
            return Traffic("definitions of tables", 1, {}, times)
        return _asked(url, region, hours=hours, times=times, sample=sample)[1]
    traffic = of_recording(Trace(str(trace), lines=lambda: watched_lines(trace)), times=times)
    if url is not None:
        with_definitions(traffic, _asked(url, region, hours=None, times=times, sample=sample)[0])
    return traffic


def _asked(
    url: str, region: str | None, *, hours: int | None, times: int, sample: bool
) -> tuple[Mapping[str, Definition], Traffic]:
    """Returns the definitions of an endpoint and, with hours, its traffic."""
    import asyncio  # noqa: PLC0415

    from faradisc.clock import SystemClock  # noqa: PLC0415
    from faradisc.tools.advisor import serving  # noqa: PLC0415
    from faradisc.tools.advisor.traffic import Traffic  # noqa: PLC0415
    from faradisc.tools.console.endpoint import Failure, ServerEndpoint  # noqa: PLC0415

    chosen = region or os.environ.get("AWS_REGION") or "us-east-1"
    endpoint = ServerEndpoint(None if url == "aws" else url, chosen, None)

    async def ask() -> tuple[Mapping[str, Definition], Traffic]:
        if hours is None:
            known = await serving.definitions_of(endpoint.call, Failure, sample=sample)
            return known, Traffic(url, 1, {})
        now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
        traffic = await serving.of_endpoint(
            endpoint, Failure, now=now, source=url, hours=hours, times=times, sample=sample
        )
        return {}, traffic

    try:
        return asyncio.run(ask())
    except Failure as failure:
        _fail(str(failure))


def _definitions(path: Path) -> Mapping[str, Definition]:
    """Returns the definitions in a file or directory of definitions."""
    from faradisc.tools.advisor.definitions import of_document  # noqa: PLC0415
    from faradisc.tools.seeding import read_seed  # noqa: PLC0415

    if not path.exists():
        _fail(f"{path} does not exist.")
    seed = read_seed(path)
    if seed.errors:
        _fail(str(seed.errors[0]))
    if not seed.tables:
        _fail(f"{path} defines no table.")
    found = {}
    for table in seed.tables:
        later = {operation for operation, _ in table.later}
        recovery, expiry = "UpdateContinuousBackups" in later, "UpdateTimeToLive" in later
        try:
            found[table.name] = of_document(table.request, recovery=recovery, expiry=expiry)
        except KeyError as missing:
            _fail(f"{table.location}: the table has no {missing.args[0]}.")
    return found


def _stored(directory: Path, region: str | None, *, sample: bool) -> Mapping[str, Definition]:
    """Returns the definitions in a data directory."""
    from faradisc.errors import RequestRejected, StorageError, Unreachable  # noqa: PLC0415
    from faradisc.storage import format as data_format  # noqa: PLC0415
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.tools.advisor import serving  # noqa: PLC0415
    from faradisc.tools.transfer.endpoints import Directory  # noqa: PLC0415

    try:
        data_format.found(directory)  # a mistyped name must not become a new database
        with closing(Directory(directory, region=region)) as database:

            async def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
                return database.call(operation, request)

            return run(serving.definitions_of(call, RequestRejected, sample=sample))
    except (RequestRejected, Unreachable, StorageError) as error:
        _fail(str(error))


def _fail(sentence: str) -> NoReturn:
    fail(sentence, BAD_INPUT)
