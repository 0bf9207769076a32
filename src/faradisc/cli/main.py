"""The command line: one module for each command, imported when the command is called."""

from __future__ import annotations

from importlib import import_module

import click

from faradisc import __version__

_COMMANDS = {
    "advise": "advise.advise",
    "backup": "backups.backup",
    "check": "check.check",
    "config": "config.config",
    "console": "console.console",
    "copy": "transfers.copy",
    "credentials": "credentials.credentials",
    "doctor": "doctor.doctor",
    "drill": "drill.drill",
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
    "promote": "copies.promote",
    "restore": "backups.restore",
    "restore-copy": "copies.restore_copy",
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

            close = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f" Did you mean {close[0]}?" if close else " `faradisc --help` lists them."
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = _COMMANDS.get(cmd_name)
        if path is None:
            return super().get_command(ctx, cmd_name)
        module, function = path.split(".")
        command: click.Command = getattr(import_module(f"{__package__}.{module}"), function)
        return command


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="faradisc %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A database compatible with Amazon DynamoDB, on your own disk.

    Without a command it serves as `faradisc serve` does, on 127.0.0.1:8000 with its data in ./faradisc-data,
    and with the console where that is installed.
    """
    if context.invoked_subcommand is None:
        _serve_developer()


def _serve_developer() -> None:
    """Serves, with the console if it is installed and nothing decides about it."""
    from importlib.util import find_spec  # noqa: PLC0415 - for this use only

    from faradisc.cli.serving import serve  # noqa: PLC0415

    console = find_spec("nicegui") is not None
    serve.main([], "faradisc serve", default_map={"console": True} if console else None)


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"faradisc {__version__}")


def main() -> None:
    """Entry point of the console script."""
    cli(prog_name="faradisc")
