"""The command line: one module for each command, imported when the command is called."""

from __future__ import annotations

from importlib import import_module

import click

from faradisc import __version__

_COMMANDS = {
    "advise": "advise.advise",
    "backup": "backups.backup",
    "check": "check.check",
    "console": "console.console",
    "copy": "transfers.copy",
    "credentials": "credentials.credentials",
    "doctor": "doctor.doctor",
    "export": "transfers.export_table",
    "iam": "iam.iam",
    "import": "transfers.import_files",
    "inspect": "inspect.inspect",
    "keys": "keys.keys",
    "mcp": "mcp.mcp",
    "migrate": "migrate.migrate",
    "nodes": "nodes.nodes",
    "place": "places.place",
    "plan": "plan.plan",
    "restore": "backups.restore",
    "seed": "seed.seed",
    "serve": "serving.serve",
    "streams": "streams.streams",
    "tls": "tls.tls",
    "wait": "waiting.wait",
}
"""Module and function of each, in this package."""


class _Commands(click.Group):
    """Imports only the command that is called; all of them for the list of commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*_COMMANDS, *super().list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = _COMMANDS.get(cmd_name)
        if path is None:
            return super().get_command(ctx, cmd_name)
        module, function = path.split(".")
        command: click.Command = getattr(import_module(f"{__package__}.{module}"), function)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, message="faradisc %(version)s")
def cli() -> None:
    """A database compatible with Amazon DynamoDB, on your own disk.

    `faradisc serve` without options listens on 127.0.0.1:8000 and stores its data in ./faradisc-data.
    """


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"faradisc {__version__}")


def main() -> None:
    """Entry point of the console script."""
    cli(prog_name="faradisc")
