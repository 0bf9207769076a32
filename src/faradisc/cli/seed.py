"""`faradisc seed`: creates the tables and items of a seed directory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from faradisc.cli.databases import endpoint
from faradisc.cli.failing import fail

SHOWN_MAX = 10
"""Names of files in a sentence."""


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@endpoint
@click.option("--replace", is_flag=True, help="Delete existing tables first.")
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a parameter of CloudFormation, serverless.yml or Terraform; can be given several times.",
)
def seed(
    directory: Path, *, url: str, region: str | None, replace: bool, parameters: tuple[str, ...]
) -> None:
    """Create the tables that DIRECTORY defines, and put its items.

    Definitions: CreateTable JSON, answers of DescribeTable, CloudFormation and SAM, serverless.yml, Terraform
    (.tf, .tf.json, the output of `terraform show -json`), NoSQL Workbench models, BatchWriteItem JSON. Items:
    items/TABLE.json, .jsonl, .csv, .ion, or an export. DIRECTORY may be one file. Existing tables stay
    unchanged.
    """
    from faradisc.errors import Unreachable  # noqa: PLC0415 - slow to import
    from faradisc.storage.immediate import run  # noqa: PLC0415
    from faradisc.tools.readers.attached import SERVICES  # noqa: PLC0415
    from faradisc.tools.seeding import apply, read_seed  # noqa: PLC0415
    from faradisc.tools.transfer.endpoints import Remote  # noqa: PLC0415
    from faradisc.tools.transfer.progress import Progress  # noqa: PLC0415

    if not directory.exists():
        fail(f"The directory {directory} does not exist.")
    found = read_seed(directory, _pairs(parameters))
    root = directory if directory.is_dir() else directory.parent
    if not found.tables and not found.errors:
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
        fail(_no_table(directory))
    try:
        with closing(Remote(url, region, local=True)) as server:

            async def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
                return server.call(operation, request, SERVICES.get(operation))

            async def wait() -> None:
                server.wait()

            with Progress(what="seed", unit="items") as progress:
                outcome = run(apply(found, call, wait, replace=replace, counter=progress))
    except Unreachable as error:
        fail(str(error))
    for note in outcome.notes:
        click.echo(f"note: {note}", err=True)
    for result, names in (
        ("created", outcome.created),
        ("replaced", outcome.replaced),
        ("unchanged", outcome.unchanged),
    ):
        if names:
            click.echo(f"{result}: {', '.join(names)}")
    if outcome.items or not outcome.errors:
        click.echo(f"{outcome.items:,} items put")
    for each in outcome.errors:
        click.echo(f"{root}/{each}", err=True)
    if outcome.errors:
        raise SystemExit(1)


def _no_table(directory: Path) -> str:
    """Returns the sentence for a directory without definitions: which files are there, and what is read."""
    if directory.is_file():
        return f"{directory} defines no table."
    names = sorted(each.name for each in directory.iterdir() if not each.name.startswith("."))
    shown = ", ".join(names[:SHOWN_MAX]) + (
        f" and {len(names) - SHOWN_MAX:,} more" if names[SHOWN_MAX:] else ""
    )
    return (
        f"{directory} defines no table. It has {shown or 'no files'}; definitions are in files .json, .yaml, "
        ".yml, .template, .tf and .tf.json: docs/guide/seeding.md lists what they can be."
    )


def _pairs(parameters: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in parameters:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--parameter")
        pairs[name] = value
    return pairs
