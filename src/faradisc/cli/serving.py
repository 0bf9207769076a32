"""`faradisc serve`."""

from __future__ import annotations

import gc
import os
from typing import Any

import click

from faradisc.cli.failing import fail
from faradisc.cli.serve_options import ServeCommand, chosen_values, serve_options
from faradisc.server.logs import configure_logs
from faradisc.server.setting import SettingsError
from faradisc.server.settings import SETTINGS_VARIABLE, ServerSettings


@click.command(cls=ServeCommand)
@serve_options
@click.pass_context
def serve(context: click.Context, /, **values: Any) -> None:
    """Serve until SIGTERM or Ctrl-C, which finish running requests and exit 0."""
    # Start-up creates many objects and no garbage; the lifecycle enables the collector afterwards.
    gc.disable()
    from faradisc.errors import StorageError  # noqa: PLC0415 - for this command only
    from faradisc.server import lifecycle  # noqa: PLC0415

    configure_logs("warning", "text")  # until the settings are known
    if given := os.environ.pop(SETTINGS_VARIABLE, ""):
        _serve_as_child(given)
        return
    try:
        settings = ServerSettings(**chosen_values(context, values))
        configure_logs(settings.log_level, settings.log_format)
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
        settings = ServerSettings(**json.loads(given))
        configure_logs(settings.log_level, settings.log_format)
        lifecycle.serve(settings, out=out, child=True)
    except (*lifecycle.STARTUP_ERRORS, StorageError) as error:
        fail(str(error), 1)
