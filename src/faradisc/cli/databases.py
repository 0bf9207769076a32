"""Access to a database from a command: a server at an address, or a data directory without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faradisc.addresses import completed, http_address
from faradisc.cli.failing import fail
from faradisc.server.settings import ENVIRONMENT_PREFIX, ServerSettings

if TYPE_CHECKING:
    from faradisc.tools.transfer.endpoints import Endpoint

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


def endpoint(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options `url` and `region`."""
    command = click.option("--region", default=None, help="Region; by default the environment's.")(command)
    return click.option(
        "--url",
        default=LOCAL_URL,
        show_default=True,
        envvar=ENVIRONMENT_PREFIX + "URL",
        callback=address,
        help="Endpoint of the database.",
    )(command)


def which_database(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options `url`, `data_dir` and `region` for `reached`."""
    directory = click.option(
        "--data-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        help="Data directory that no server has open, instead of --url.",
    )
    return endpoint(directory(command))


@contextmanager
def reached(url: str, data_dir: Path | None, region: str | None) -> Iterator[Endpoint]:
    """Yields the database. Ends the program with one sentence when it is not usable or rejects a request."""
    from faradisc.errors import RequestRejected, StorageError, Unreachable  # noqa: PLC0415 - slow to import
    from faradisc.storage import format as data_format  # noqa: PLC0415
    from faradisc.tools.transfer.endpoints import Directory, Remote  # noqa: PLC0415

    try:
        opened: Remote | Directory
        if data_dir is None:
            opened = Remote(url, region, local=True)
        else:
            data_format.found(data_dir)  # a mistyped name must not become a new database
            opened = Directory(data_dir, region=region, checked=True)
        with closing(opened):
            yield opened
    except (RequestRejected, Unreachable, StorageError) as error:
        fail(str(error))
