"""`faradisc backup` and `faradisc restore`, through a server or on a data directory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faradisc.cli.databases import with_database
from faradisc.cli.failing import fail

if TYPE_CHECKING:
    from faradisc.tools.transfer.endpoints import Endpoint

Answer = dict[str, Any]


@click.group()
def backup() -> None:
    """Create, list, delete and verify backups."""


@backup.command()
@click.argument("table")
@click.option("--name", help="Name of the backup; by default the table's name and the time.")
@with_database
def create(table: str, *, name: str | None, database: Endpoint) -> None:
    """Create a backup of TABLE, wait until it is available, and print its ARN."""
    chosen = name or dated_name(table.rpartition("/")[2])
    answer = database.call("CreateBackup", {"TableName": table, "BackupName": chosen})
    arn = answer["BackupDetails"]["BackupArn"]
    follow_backup(database, arn)
    click.echo(arn)


def follow_backup(database: Endpoint, arn: str) -> None:
    from faradisc.errors import RequestRejected  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

    described = database.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    size = described["SourceTableDetails"].get("TableSizeBytes", 0)
    with Progress(size, "backup", "bytes") as progress:
        while described["BackupDetails"]["BackupStatus"] != "AVAILABLE":
            progress.reach(described["BackupDetails"].get("BackupSizeBytes", 0))
            database.wait()
            try:
                described = database.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
            except RequestRejected as rejection:
                if rejection.code == "BackupNotFoundException":
                    fail("The backup has failed and was removed; the log of the database has the reason.")
                raise


@backup.command(name="list")
@click.argument("table", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document per backup.")
@with_database
def list_(table: str | None, *, as_json: bool, database: Endpoint) -> None:
    """List all backups, system backups included, or those of TABLE."""
    request: Answer = {"BackupType": "ALL"} | ({"TableName": table} if table else {})
    found: list[Answer] = []
    while True:
        page = database.call("ListBackups", request)
        found += page["BackupSummaries"]
        if "LastEvaluatedBackupArn" not in page:
            break
        request["ExclusiveStartBackupArn"] = page["LastEvaluatedBackupArn"]
    if as_json:
        click.echo("".join(json.dumps(each) + "\n" for each in found), nl=False)
    elif found:
        from faradisc.cli.tables import print_table  # noqa: PLC0415 - slow to import

        print_table(("created", "type", "status", "size", "name", "ARN"), map(_row, found), right=("size",))


def _row(summary: Answer) -> tuple[str, ...]:
    created = datetime.fromtimestamp(summary["BackupCreationDateTime"], UTC)
    size = f"{summary['BackupSizeBytes']:,} bytes"
    names = (summary["BackupName"], summary["BackupArn"])
    return (f"{created:%Y-%m-%d %H:%M:%S}Z", summary["BackupType"], summary["BackupStatus"], size, *names)


@backup.command()
@click.argument("arn")
@with_database
def delete(arn: str, *, database: Endpoint) -> None:
    """Delete the backup with this ARN."""
    database.call("DeleteBackup", {"BackupArn": arn})


@backup.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def verify(directory: Path) -> None:
    """Compare the files of one backup, DIRECTORY, with their checksums."""
    from faradisc.engine.backups.files import Damaged  # noqa: PLC0415 - for this command only
    from faradisc.engine.backups.storage import BackupStorageError, directory_backups  # noqa: PLC0415
    from faradisc.engine.backups.verification import verify as verify_backup  # noqa: PLC0415

    resolved = directory.resolve()
    try:
        manifest = verify_backup(directory_backups(resolved.parent, blocking=False), resolved.name)
    except (Damaged, BackupStorageError) as error:
        fail(f"{directory} is damaged: {error}")
    click.echo(
        f"{manifest['rows']['records']:,} items of table {manifest['backup']['table']['name']}: intact"
    )


@click.command()
@click.argument("target")
@click.option("--from-backup", "arn", help="ARN of the backup to restore.")
@click.option("--from-table", "source", help="Table with point-in-time recovery.")
@click.option(
    "--at",
    help="Point in time: 2026-11-20T10:00:00Z, or seconds since 1970; by default the latest.",
)
@with_database
def restore(target: str, *, arn: str | None, source: str | None, at: str | None, database: Endpoint) -> None:
    """Restore a backup, or another table at a point in time, into the new table TARGET, and wait for it."""
    if (arn is None) == (source is None) or (at is not None and source is None):
        raise click.UsageError("Give --from-backup, or --from-table with or without --at.")
    if arn is not None:
        details = database.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
        items = details["SourceTableDetails"].get("ItemCount", 0)
        database.call("RestoreTableFromBackup", {"TargetTableName": target, "BackupArn": arn})
    else:
        moment: Answer = (
            {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": seconds_of_moment(at)}
        )
        request = {"TargetTableName": target, "SourceTableName": source, **moment}
        database.call("RestoreTableToPointInTime", request)
        items = database.call("DescribeTable", {"TableName": source})["Table"]["ItemCount"]
    click.echo(f"{follow_restore(database, target, items):,} items in {target}")


def follow_restore(database: Endpoint, target: str, items: int = 0) -> int:
    """Waits for a restored table and returns its items. items: how many are expected, for the progress."""
    from faradisc.errors import RequestRejected  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

    with Progress(items, "restore", "rows") as progress:
        while True:
            try:
                table = database.call("DescribeTable", {"TableName": target})["Table"]
            except RequestRejected as rejection:
                if rejection.code == "ResourceNotFoundException":
                    fail(f"{target} could not be restored and was removed; the log has the reason.")
                raise
            progress.reach(table["ItemCount"])
            if table["TableStatus"] == "ACTIVE":
                break
            database.wait()
    return int(table["ItemCount"])


def dated_name(prefix: str) -> str:
    """Returns a name for a backup that ends with the time."""
    from faradisc.clock import SystemClock  # noqa: PLC0415

    return f"{prefix}-{datetime.fromtimestamp(SystemClock().now_ns() // 1_000_000_000, UTC):%Y%m%d-%H%M%S}"


def seconds_of_moment(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a point in time", param_hint="--at") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
