"""The commands and how they report mistakes."""

from __future__ import annotations

import click

from faradisc import __version__
from faradisc.cli.backups import backup, restore
from faradisc.cli.check import check
from faradisc.cli.credentials import credentials
from faradisc.cli.inspect import inspect
from faradisc.cli.plan import plan
from faradisc.cli.seed import seed
from faradisc.cli.serving import serve
from faradisc.cli.streams import streams
from faradisc.cli.transfers import copy, export_table, import_files
from faradisc.cli.waiting import wait


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="faradisc %(version)s")
def cli() -> None:
    """A database compatible with Amazon DynamoDB, on your own disk.

    `faradisc serve` with no option listens on 127.0.0.1:8000 and keeps its data in ./faradisc-data.
    """


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"faradisc {__version__}")


cli.add_command(backup)
cli.add_command(check)
cli.add_command(copy)
cli.add_command(credentials)
cli.add_command(export_table)
cli.add_command(import_files)
cli.add_command(plan)
cli.add_command(inspect)
cli.add_command(restore)
cli.add_command(seed)
cli.add_command(serve)
cli.add_command(streams)
cli.add_command(wait)


def main() -> None:
    """Entry point of the console script."""
    cli(prog_name="faradisc")
