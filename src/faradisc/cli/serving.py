"""`faradisc serve`, with one option for each setting."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from faradisc.cli.failing import fail
from faradisc.server.settings import (
    SETTINGS,
    SETTINGS_VARIABLE,
    ServerSettings,
    Setting,
    SettingsError,
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds one option per setting, in their order."""
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
    """Serve until SIGTERM or Ctrl-C, which finish running requests and exit 0."""
    # Start-up creates many objects and no garbage; the lifecycle enables the collector afterwards.
    gc.disable()
    from faradisc.errors import StorageError  # noqa: PLC0415 - for this command only
    from faradisc.server import lifecycle  # noqa: PLC0415

    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    if given := os.environ.pop(SETTINGS_VARIABLE, ""):
        _serve_as_child(given)
        return
    try:
        _choose_store(context, values)
        settings = ServerSettings(**values)
        if settings.processes > 1:
            from faradisc.server.processes import serve_processes  # noqa: PLC0415 - few servers have several

            raise SystemExit(serve_processes(settings))
        lifecycle.serve(settings)
    except SettingsError as error:
        fail(str(error), 2)
    except (*lifecycle.STARTUP_ERRORS, StorageError) as error:
        fail(str(error), 1)


def _serve_as_child(given: str) -> None:
    """Runs one of several servers."""
    import json  # noqa: PLC0415 - for these servers only

    from faradisc.errors import StorageError  # noqa: PLC0415
    from faradisc.server import lifecycle  # noqa: PLC0415

    # The parent waits for the end of this output; what libraries print later goes nowhere.
    out = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    try:
        lifecycle.serve(ServerSettings(**json.loads(given)), out=out, child=True)
    except (*lifecycle.STARTUP_ERRORS, StorageError) as error:
        fail(str(error), 1)


def _choose_store(context: click.Context, values: dict[str, Any]) -> None:
    """Chooses between `--memory` and a data directory: the command line overrides the environment.

    Raises SettingsError when both come from the same source.
    """
    if not values["memory"]:
        return
    directory = context.get_parameter_source("data_dir")
    if directory is context.get_parameter_source("memory"):
        raise SettingsError("Choose either --memory, which stores nothing on disk, or --data-dir.")
    if directory is ParameterSource.COMMANDLINE:
        values["memory"] = False
