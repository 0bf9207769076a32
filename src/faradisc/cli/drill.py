"""`faradisc drill`: proves that a table's backup can be restored."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from faradisc.cli.backups import dated_name, follow_backup, follow_restore
from faradisc.cli.databases import with_database

if TYPE_CHECKING:
    from faradisc.tools.transfer.drilling import DrillReport
    from faradisc.tools.transfer.endpoints import Endpoint


@click.command()
@click.argument("table")
@click.option("--keep", is_flag=True, help="Leave the backup and the restored table.")
@click.option("--in-use", is_flag=True, help="Differences do not fail: the table is written meanwhile.")
@click.option("--json", "as_json", is_flag=True, help="The report as one JSON document.")
@with_database
def drill(table: str, *, keep: bool, in_use: bool, as_json: bool, database: Endpoint) -> None:
    """Rehearse the recovery of TABLE: back it up, restore it beside itself, compare all items, remove both.

    Exits 1 when an item differs. A table that programs write meanwhile differs by what they wrote: with
    --in-use that is reported only.
    """
    from faradisc.tools.transfer.drilling import drill as run_drill  # noqa: PLC0415 - for this command only

    name = dated_name(f"{table.rpartition('/')[2]}-drill")
    report = run_drill(database, table, name, backed_up=follow_backup, restored=follow_restore, keep=keep)
    if as_json:
        click.echo(json.dumps(asdict(report) | {"passed": report.passed}))
    else:
        _print(report, kept=name if keep else "")
    if not (report.passed or in_use):
        raise SystemExit(1)


def _print(report: DrillReport, *, kept: str) -> None:
    for step, seconds in report.seconds.items():
        click.echo(f"{step:<11} {seconds:9.1f} s")
    click.echo(
        f"{report.restored_items:,} items restored from {report.backup_bytes:,} bytes: "
        f"{report.equal_items:,} equal, {report.differing_items:,} different; "
        f"{report.table} has {report.additional_items:,} more."
    )
    for key in report.differing_keys:
        click.echo(f"different: {json.dumps(key)}")
    if kept:
        click.echo(f"The backup and the restored table are named {kept}.")
    took = sum(report.seconds.get(step, 0.0) for step in ("restore", "comparison"))
    verdict = "The backup restores to the same items" if report.passed else "The restored items differ"
    click.echo(f"{verdict}; a recovery with a comparison takes {took:.1f} s.")
