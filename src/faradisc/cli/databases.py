"""Access to a database from a command: a server at an address, or a data directory without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from faradisc.addresses import completed, http_address
from faradisc.cli.failing import fail
from faradisc.server.setting import ENVIRONMENT_PREFIX, SettingsError
from faradisc.server.settings import ServerSettings

if TYPE_CHECKING:
    from faradisc.storage.api import Store

Run = Callable[..., Any]
"""Runs a coroutine to its end and returns its result."""
HOST, PORT = ServerSettings().host, ServerSettings().port
LOCAL_URL = f"http://{HOST}:{PORT}"
"""Default address of `faradisc serve`."""
LOCAL_DIRECTORY = Path(ServerSettings().data_dir)
"""Default data directory of `faradisc serve`."""


def address(_: click.Context, __: click.Parameter, url: str | None) -> str | None:
    """Completes the value of `--url`: `localhost:8000` becomes an http:// address. `aws` and None stay."""
    if url is None or url == "aws":
        return url
    whole = completed(url)
    try:
        http_address(whole)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None
    return whole


url_option = click.option(
    *("--url", "--endpoint-url", "url"),
    default=LOCAL_URL,
    show_default=True,
    envvar=ENVIRONMENT_PREFIX + "URL",
    callback=address,
    help="Endpoint of the database; `aws` for Amazon DynamoDB where a command can use it.",
)


def endpoint(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options `url` and `region`."""
    return url_option(click.option("--region", help="Region; by default the environment's.")(command))


store_option = click.option(
    "--store",
    envvar=ENVIRONMENT_PREFIX + "STORE",
    help="PostgreSQL that holds the data, as for `faradisc serve`; DIRECTORY then holds its backups.",
)


def shared_settings(
    context: click.Context, directory: Path | None, store: str | None
) -> ServerSettings | None:
    """Returns what a command's DIRECTORY and `--store` say of a PostgreSQL; None for a data directory.

    A directory on the command line overrides a store of the environment.
    """
    source = context.get_parameter_source
    if not store or (
        source("directory") is ParameterSource.COMMANDLINE and source("store") is ParameterSource.ENVIRONMENT
    ):
        return None
    try:
        return ServerSettings(store=store, data_dir=str(directory or LOCAL_DIRECTORY))
    except SettingsError as error:
        fail(str(error), 2)


@contextmanager
def opened_shared(settings: ServerSettings) -> Iterator[tuple[Store, Run]]:
    """Yields the PostgreSQL of servers, and a function that runs coroutines on it. Raises StorageError."""
    import asyncio  # noqa: PLC0415 - for stores of several servers only

    from faradisc.server.opening import open_shared  # noqa: PLC0415

    with asyncio.Runner() as runner:
        store = runner.run(open_shared(settings, create=False))
        try:
            yield store, runner.run
        finally:
            runner.run(store.close())


def with_keys(store: Store, directory: Path | None, failed: Callable[[str], NoReturn], run: Run) -> Store:
    """Returns the store without a server, with sealed rows opened by the keys of the environment and of its
    data directory, if it has one.

    failed: called with a sentence when these cannot be used.
    """
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - only for data directories
    from faradisc.engine.check.sealed import opening_sealed  # noqa: PLC0415
    from faradisc.engine.encryption.services import of_environment  # noqa: PLC0415

    try:
        opened: Store = run(opening_sealed(store, of_environment(directory)))
    except SealedFileError as error:
        failed(str(error))
    return opened


def with_database(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options `url`, `data_dir` and `region`, and calls the command with the `database`.

    Ends the program with one sentence when the database is not usable or rejects a request.
    """
    directory = click.option(
        "--data-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        help="Data directory that no server has open, instead of --url.",
    )

    @wraps(command)
    def opened(*, url: str, data_dir: Path | None, region: str | None, **options: Any) -> None:
        from faradisc.errors import RequestRejected, StorageError, Unreachable  # noqa: PLC0415 - slow to import
        from faradisc.storage import format as data_format  # noqa: PLC0415
        from faradisc.tools.transfer.endpoints import Directory, Endpoint, Remote  # noqa: PLC0415

        try:
            database: Endpoint
            if data_dir is None:
                database = Remote(url, region, local=True)
            else:
                data_format.found(data_dir)  # a mistyped name must not become a new database
                database = Directory(data_dir, region=region, checked=True)
            with closing(database):
                command(database=database, **options)
        except (RequestRejected, Unreachable, StorageError) as error:
            fail(str(error))

    return endpoint(directory(opened))
