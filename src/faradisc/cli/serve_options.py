"""The options of `faradisc serve` and `faradisc config`: one for each setting, from four sources.

    command line    --port 9000          --emulate transition-ms=0
    environment     FARADISC_PORT=9000   FARADISC_EMULATE="transition-ms=0 conflict-rate=0.1"
    file            port = 9000          transition-ms = 0, under [emulate]
    default

Each overrides those below it. A setting of emulation also has an option and a variable of its own, which the
help does not list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from faradisc.server.setting import COMMON, EMULATION, ENVIRONMENT_PREFIX, Setting, SettingsError
from faradisc.server.settings import SETTINGS

CONFIG_FILE = "faradisc.toml"
"""Read from the current directory if it is there."""
_EMULATED = {_.option.removeprefix("--"): _ for _ in SETTINGS if _.group == EMULATION}
_Command = Callable[..., Any]


class ServeCommand(click.Command):
    """Its help lists the common settings, and all of them under their headings with --help-all."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        headings = {each.name: each.group for each in SETTINGS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(headings.get(str(parameter.name), COMMON), []).append(record)
        if ctx.meta.get("help_all"):
            groups[EMULATION] = [
                (f"{key}={each.default}", f"{each.help} [env var: {each.environment}]")
                for key, each in _EMULATED.items()
            ]
        for heading, records in groups.items():
            if heading == COMMON or ctx.meta.get("help_all"):
                with formatter.section("Options" if heading == COMMON else heading):
                    formatter.write_dl(records)


def serve_options(command: _Command) -> _Command:
    """Adds an option for each setting, in their order, and those that name other sources of settings."""
    for setting in reversed(SETTINGS):
        command = _option(setting)(command)
    command = click.option(
        "--emulate",
        metavar="KEY=VALUE",
        multiple=True,
        expose_value=False,
        is_eager=True,
        envvar=ENVIRONMENT_PREFIX + "EMULATE",
        callback=_emulate,
        help="Make what the service does by itself shorter, longer or more frequent, such as "
        "conflict-rate=0.1; --help-all lists the keys. Repeatable.",
    )(command)
    command = click.option(
        "--help-all",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_help_all,
        help="List all options, under headings.",
    )(command)
    return click.option(
        "--config",
        metavar="FILE",
        default=None,
        expose_value=False,
        is_eager=True,
        envvar=ENVIRONMENT_PREFIX + "CONFIG",
        callback=_read_config,
        help=f"TOML file of settings. [default: {CONFIG_FILE}, if it is there]",
    )(command)


def chosen_values(context: click.Context, values: dict[str, Any]) -> dict[str, Any]:
    """Returns the values, of which only the stronger one of `--memory` and a data directory counts.

    Raises SettingsError when both come from the same source.
    """
    if not values["memory"]:
        return values
    ranks = [None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT]
    directory, memory = (
        ranks.index(source) if (source := context.get_parameter_source(name)) in ranks else len(ranks)
        for name in ("data_dir", "memory")
    )
    if directory == memory:
        raise SettingsError("Choose either --memory, which stores nothing on disk, or --data-dir.")
    return {**values, "memory": memory > directory}


def source_of(context: click.Context, setting: Setting) -> str:
    """Returns where the value of a setting comes from, for people."""
    source = context.get_parameter_source(setting.name)
    emulated: dict[str, str] = context.meta.get("emulated", {})
    if setting.name in emulated:
        return emulated[setting.name]
    if source is ParameterSource.COMMANDLINE:
        return setting.option
    if source is ParameterSource.ENVIRONMENT:
        return setting.environment
    if source is ParameterSource.DEFAULT_MAP:
        return str(context.meta["config file"])
    return "default"


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    flag = setting.kind is bool
    if setting.repeatable:
        return click.option(
            setting.option,
            setting.name,
            multiple=True,
            envvar=setting.environment,
            show_envvar=True,
            callback=lambda context, parameter, given: " ".join(given),
            help=setting.help,
        )
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
        hidden=setting.group == EMULATION,
    )


def _help_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.meta["help_all"] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


def _emulate(context: click.Context, parameter: click.Parameter, given: Iterable[str]) -> None:
    """Puts the values above those of the file. Raises click.BadParameter."""
    from_environment = context.get_parameter_source("emulate") is ParameterSource.ENVIRONMENT
    source = ENVIRONMENT_PREFIX + "EMULATE" if from_environment else "--emulate"
    for each in given:
        key, equals, value = each.partition("=")
        setting = _EMULATED.get(key)
        if setting is None or not equals:
            raise click.BadParameter(
                f"{each!r} is not KEY=VALUE with one of {', '.join(sorted(_EMULATED))}.", context, parameter
            )
        try:
            _defaults(context)[setting.name] = setting.kind(value)
        except ValueError:
            kind = "a whole number" if setting.kind is int else "a number"
            raise click.BadParameter(f"{key} is {kind}, not {value!r}.", context, parameter) from None
        context.meta.setdefault("emulated", {})[setting.name] = source


def _defaults(context: click.Context) -> dict[str, Any]:
    """Returns the values that replace defaults, which may be changed."""
    if context.default_map is None:
        context.default_map = {}
    assert isinstance(context.default_map, dict)
    return context.default_map


def _read_config(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Ends the command with a sentence when the file cannot be used."""
    if name is None and not os.path.exists(CONFIG_FILE):
        return
    try:
        values = read_settings(Path(name or CONFIG_FILE))
    except SettingsError as error:
        raise click.UsageError(str(error), context) from error
    context.meta["config file"] = name or CONFIG_FILE
    emulated = context.meta.get("emulated", {})
    _defaults(context).update({key: value for key, value in values.items() if key not in emulated})


def read_settings(path: Path) -> dict[str, Any]:
    """Returns the values of a file by names of settings. Raises SettingsError, with the line."""
    import tomllib  # noqa: PLC0415 - few servers have a file

    try:
        text = path.read_text()
        document = tomllib.loads(text)
    except (OSError, ValueError) as error:  # also of bad TOML, which names the line
        raise SettingsError(f"{path} cannot be used: {getattr(error, 'strerror', None) or error}.") from error
    emulated = document.pop("emulate", {})
    if not isinstance(emulated, dict):
        raise SettingsError(f"{_place(path, text, 'emulate')}: emulate is a table: write [emulate].")
    known = {each.option.removeprefix("--"): each for each in SETTINGS if each.group != EMULATION}
    return {
        **_checked(path, text, document, known),
        **_checked(path, text, emulated, _EMULATED),
    }


def _checked(path: Path, text: str, given: dict[str, Any], known: dict[str, Setting]) -> dict[str, Any]:
    """Returns the values by names of settings. Raises SettingsError."""
    values = {}
    for key, value in given.items():
        place = _place(path, text, key)
        setting = known.get(key)
        if setting is None:
            from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

            close = get_close_matches(key.replace("_", "-"), [*known, *_EMULATED], 1)
            hint = f"Did you mean {close[0]}?" if close else "`faradisc config --all` lists them."
            if close and close[0] not in known:
                hint = f"Did you mean {close[0]} under [emulate]?"
            raise SettingsError(f"{place}: there is no setting {key} here. {hint}")
        if setting.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not setting.kind:
            kinds = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
            raise SettingsError(f"{place}: {key} is {kinds[setting.kind]}, not {value!r}.")
        values[setting.name] = str(value).split() if setting.repeatable else value
    return values


def _place(path: Path, text: str, key: str) -> str:
    """Returns the file, and the line of a key in it, for people."""
    pattern = re.compile(rf"\s*[\"'\[]?\s*{re.escape(key)}\b")
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.match(line):
            return f"{path} line {number}"
    return str(path)
