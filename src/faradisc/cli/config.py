"""`faradisc config`: the settings that `faradisc serve` would use, and where each comes from."""

from __future__ import annotations

import json
from typing import Any

import click

from faradisc.cli.failing import fail
from faradisc.cli.serve_options import ServeCommand, chosen_values, serve_options, source_of
from faradisc.server.setting import SettingsError
from faradisc.server.settings import SETTINGS, ServerSettings


@click.command(cls=ServeCommand)
@serve_options
@click.option("--all", "all_", is_flag=True, help="Show settings that have their default too.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def config(context: click.Context, /, *, all_: bool, format_: str, **values: Any) -> None:
    """Show the settings that `faradisc serve` would use here, and where each comes from.

    Takes the options of `serve`. Exits 2 when they cannot be used together.
    """
    sources = {each.name: source_of(context, each) for each in SETTINGS}
    try:
        settings = ServerSettings(**chosen_values(context, values))
    except SettingsError as error:
        fail(str(error), 2)
    shown = []
    for each in SETTINGS:
        if all_ or format_ == "json" or sources[each.name] != "default":
            value = (
                settings.where.words
                if each.name == "store" and settings.store
                else getattr(settings, each.name)
            )
            shown.append((each.option.removeprefix("--"), value, sources[each.name]))
    if format_ == "json":
        titles = ("name", "value", "source")
        click.echo(json.dumps([dict(zip(titles, row, strict=True)) for row in shown], indent=1))
    elif not shown:
        click.echo("Every setting has its default; --all lists them.")
    else:
        name_width, value_width = (max(len(str(row[column])) for row in shown) for column in (0, 1))
        for name, value, source in shown:
            click.echo(f"{name:<{name_width}}  {value!s:<{min(value_width, 40)}}  {source}")
