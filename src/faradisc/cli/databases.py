"""Access to a database from a command: a server at an address, or a data directory without a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from faradisc.addresses import completed, http_address
from faradisc.cli.failing import fail
from faradisc.server.settings import ENVIRONMENT_PREFIX, ServerSettings

if TYPE_CHECKING:
    from faradisc.auth.sigv4 import Credential

HOST, PORT = ServerSettings().host, ServerSettings().port
LOCAL_URL = f"http://{HOST}:{PORT}"
"""Default address of `faradisc serve`."""
LOCAL_DIRECTORY = Path(ServerSettings().data_dir)
"""Default data directory of `faradisc serve`."""
PAUSE_S = 0.1
"""Between two polls of a server."""
STEPS_PER_WAIT = 64

Answer = dict[str, Any]


class Database(Protocol):
    """Answers requests, and does its background work while a command waits."""

    def call(self, operation: str, **request: Any) -> Answer:
        """Raises RequestRejected, Unreachable."""
        ...

    def wait(self) -> None:
        """Waits until the state may have changed."""
        ...


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
def reached(url: str, data_dir: Path | None, region: str | None) -> Iterator[Database]:
    """Yields the database. Ends the program with one sentence when it is not usable or rejects a request."""
    from faradisc.errors import RequestRejected, StorageError, Unreachable  # noqa: PLC0415 - slow to import

    try:
        with closing(_Served(url, region) if data_dir is None else _Offline(data_dir, region)) as database:
            yield database
    except (RequestRejected, Unreachable, StorageError) as error:
        fail(str(error))


class _Served:
    def __init__(self, url: str, region: str | None) -> None:
        from faradisc.cli.requests import Requests  # noqa: PLC0415 - slow to import

        self._requests = Requests(url, region)
        self._pause = threading.Event()

    def call(self, operation: str, **request: Any) -> Answer:
        from faradisc.storage.immediate import run  # noqa: PLC0415

        return run(self._requests.call(operation, request))

    def wait(self) -> None:
        self._pause.wait(PAUSE_S)

    def close(self) -> None:
        self._requests.close()


class _Offline:
    """A data directory opened by this process, which does its background work in `wait`."""

    def __init__(self, directory: Path, region: str | None) -> None:
        """Raises StorageError."""
        from faradisc import database  # noqa: PLC0415 - for offline commands only
        from faradisc.auth.sigv4 import Credential  # noqa: PLC0415
        from faradisc.engine.backups.storage import BACKUPS_DIRECTORY, DirectoryBackupStorage  # noqa: PLC0415
        from faradisc.storage import format as data_format  # noqa: PLC0415
        from faradisc.storage.immediate import run  # noqa: PLC0415
        from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

        data_format.found(directory)  # a mistyped name must not become a new database
        self._run: Callable[[Any], Any] = run
        settings = database.Settings(transition_ms=0)
        storage = DirectoryBackupStorage(directory / BACKUPS_DIRECTORY, blocking=False)
        store = open_rocks(directory, durability="inline")
        self._database = run(database.Database.open(store, settings=settings, backup_storage=storage))
        self._credential = Credential("faradisc", "", region or settings.region, "dynamodb", ())

    def call(self, operation: str, **request: Any) -> Answer:
        import orjson  # noqa: PLC0415

        from faradisc.errors import RequestRejected  # noqa: PLC0415
        from faradisc.protocol.front import answer  # noqa: PLC0415
        from faradisc.protocol.http import HttpRequest  # noqa: PLC0415

        headers = {
            b"content-type": b"application/x-amz-json-1.0",
            b"x-amz-target": f"DynamoDB_20120810.{operation}".encode(),
        }
        sent = HttpRequest("POST", b"/", headers, orjson.dumps(request))
        got = self._run(answer(self._database, sent, self._authenticate))
        document: Answer = orjson.loads(got.body)
        if got.status != 200:
            code = document["__type"].rpartition("#")[2]
            raise RequestRejected(code, document.get("message") or document.get("Message") or "")
        return document

    def _authenticate(self, *_: object) -> Credential:
        """Allows all requests."""
        return self._credential

    def wait(self) -> None:
        for _ in range(STEPS_PER_WAIT):
            if not self._run(self._database.work()):
                return

    def close(self) -> None:
        self._run(self._database.close())
