"""`faradisc serve`: its options are made from the list of settings."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from faradisc.cli.failing import fail
from faradisc.server.settings import SETTINGS, ServerSettings, Setting, SettingsError


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add one option per setting, in their order."""
    for setting in reversed(SETTINGS):
        command = _option(setting)(command)
    return command


def _option(setting: Setting) -> Callable[[Callable[..., None]], Callable[..., None]]:
    flag = setting.kind is bool
    return click.option(
        setting.option,
        setting.name,
        is_flag=flag,
        type=None if flag else setting.kind,
        default=setting.default,
        envvar=setting.environment,
        show_envvar=True,
        show_default=not flag and setting.default != "",
        help=setting.help,
    )


@click.command()
@_options
@click.pass_context
def serve(context: click.Context, /, **values: Any) -> None:
    """Serve until SIGTERM or Ctrl-C, which finish the requests under way and exit 0."""
    # Start-up makes many objects and no garbage; the lifecycle turns the collector on when it is done.
    gc.disable()
    from faradisc.errors import StorageError  # noqa: PLC0415 - the other commands need none of this
    from faradisc.server import lifecycle  # noqa: PLC0415

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        _choose_store(context, values)
        lifecycle.serve(ServerSettings(**values))
    except SettingsError as mistake:
        fail(str(mistake), 2)
    except (*lifecycle.STARTUP_ERRORS, StorageError) as mistake:
        fail(str(mistake), 1)


def _choose_store(context: click.Context, values: dict[str, Any]) -> None:
    """`--memory` and a data directory exclude each other; the command line outranks the environment.

    Raises: SettingsError when both come from the same place.
    """
    if not values["memory"]:
        return
    directory = context.get_parameter_source("data_dir")
    if directory is context.get_parameter_source("memory"):
        raise SettingsError("Choose one: --memory keeps no data, --data-dir says where to keep it.")
    if directory is ParameterSource.COMMANDLINE:
        values["memory"] = False
