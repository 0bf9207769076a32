"""`faradisc seed`: make the tables a directory defines, and put the items it holds."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from faradisc.cli.databases import endpoint
from faradisc.cli.failing import fail

PAUSE_S = 0.1


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@endpoint
@click.option("--replace", is_flag=True, help="Delete tables that exist, and make them anew.")
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A template's parameter, or a Terraform variable; can be given several times.",
)
def seed(
    directory: Path, *, url: str, region: str | None, replace: bool, parameters: tuple[str, ...]
) -> None:
    """Make the tables that DIRECTORY defines, and put its items.

    Definitions: CreateTable JSON, answers of DescribeTable, CloudFormation (JSON, YAML), Terraform (.tf with
    faradisc[seed], .tf.json). Items: items/TABLE.json, .jsonl or .csv. Tables that exist stay as they are.
    """
    from faradisc.cli.requests import Requests, Unreachable  # noqa: PLC0415 - slow to import
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.tools.seeding import load, read_seed  # noqa: PLC0415

    if not directory.is_dir():
        fail(f"There is no directory {directory}.")
    found = read_seed(directory, _pairs(parameters))
    if not found.tables and not found.faults:
        fail(f"{directory} defines no table.")
    pause = threading.Event()

    async def wait() -> None:
        pause.wait(PAUSE_S)

    try:
        outcome = run(load(found, Requests(url, region).call, wait, replace=replace))
    except Unreachable as error:
        fail(str(error))
    for note in outcome.notes:
        click.echo(f"note: {note}", err=True)
    for what, names in (
        ("created", outcome.created),
        ("replaced", outcome.replaced),
        ("left as they are", outcome.kept),
    ):
        if names:
            click.echo(f"{what}: {', '.join(names)}")
    click.echo(f"{outcome.items:,} items put")
    for fault in outcome.faults:
        click.echo(f"{directory}/{fault}", err=True)
    if outcome.faults:
        raise SystemExit(1)


def _pairs(parameters: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in parameters:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{each!r} is no NAME=VALUE", param_hint="--parameter")
        pairs[name] = value
    return pairs
