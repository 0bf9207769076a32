"""Starts a server from its settings, and stops it on SIGTERM.

Start: bind (a port in use is the commonest mistake, and is found at once), accept, open the database, write
the port file, print the banner. So `/health/live` answers while data of an older format is rewritten, and a
port file means "ready". Stop: accept nothing, answer the requests under way, close the database. A second
signal closes the remaining connections at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from faradisc import __version__
from faradisc.auth.sigv4 import Authenticator
from faradisc.clock import Clock, SystemClock
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import (
    BACKUPS_DIRECTORY,
    BackupStorage,
    DirectoryBackupStorage,
    MemoryBackupStorage,
    NoBackupStorage,
)
from faradisc.engine.encryption.key_service import KeyService
from faradisc.engine.exchange.locations import Locations, directories
from faradisc.engine.kinesis.sender import Sender
from faradisc.server.access import Access
from faradisc.server.addresses import AddressError, bind, is_loopback, resolve, url_of
from faradisc.server.admin import AdminPages
from faradisc.server.background import keep_working
from faradisc.server.console_process import ConsoleProcess, check_console
from faradisc.server.large_requests import OtherThread
from faradisc.server.listener import Listener
from faradisc.server.load import Load
from faradisc.server.origins import OriginPolicy
from faradisc.server.serving import Serving, keep_watching, watch_pause_s
from faradisc.server.settings import ServerSettings, SettingsError
from faradisc.server.site import Site
from faradisc.server.timekeeping import data_clock, keep_time
from faradisc.server.tls import TlsAcceptor, TlsFiles
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.server.tracing import TraceFile

BACKGROUND_THROTTLE_S = 0.005
"""One or two syncs of a disk; the pause after a step of background work that waits for no sync."""
DRAIN_S = 8.0
"""Longest wait for requests under way; container runtimes kill after 10 s."""

SWITCH_INTERVAL_S = 0.0005
"""The thread that syncs the log needs the interpreter after each sync; with Python's default of 5 ms it
would wait for a busy loop ten times as long as the sync takes."""

COLLECTED_AFTER = 50_000
"""New objects between two collections of garbage: some megabytes at most."""

OPEN_FILES_WANTED = 65_536


def serve(settings: ServerSettings, *, out: TextIO = sys.stdout) -> None:
    """Runs a server until SIGTERM or SIGINT.

    Raises SettingsError, AddressError, StorageError, PortFileError before it is ready, nothing later.
    """
    addresses = resolve(settings.host)
    if not settings.trust_network and not all(is_loopback(each) for each in addresses):
        _check_network(settings)
    clock = SystemClock()
    access = Access(settings, clock)
    load = Load()
    if settings.console:
        check_console()
    tls = None
    if settings.tls_cert:
        tls = TlsAcceptor(TlsFiles(settings.tls_cert, settings.tls_key, settings.tls_client_ca))
    pages = _admin_pages(settings, addresses, access.authenticate_unlimited, load)
    site = Site(access.authenticate, pages, _origins(settings, addresses), access.audit)
    sockets = bind(settings.host, addresses, settings.port)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _raise_open_files_limit()
    os.umask(0o077)  # data, traces and exported files are readable by this user only
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        listener = Listener(site.handle, clock, load, tls)
        try:
            runner.run(_run(settings, site, listener, sockets, tls=tls, access=access, clock=clock, out=out))
        finally:
            access.close()


def _check_network(settings: ServerSettings) -> None:
    """Raises SettingsError unless signatures are verified and data are encrypted on their way."""
    if settings.auth != "strict":
        raise SettingsError(
            f"Refusing to listen on {settings.host}: every client that reaches this machine could read and "
            "write all data, since signatures are not verified; verify them with --auth strict, or add "
            "--trust-network if that is intended."
        )
    if not settings.tls_cert:
        raise SettingsError(
            f"Refusing to listen on {settings.host}: others could read the data between this machine and its "
            "clients, since it is not encrypted there; give --tls-cert and --tls-key (`faradisc "
            "tls self-signed` makes them), or add --trust-network if that is intended."
        )


def _admin_pages(
    settings: ServerSettings,
    addresses: Sequence[tuple[int, str]],
    authenticate: Authenticator,
    load: Load,
) -> AdminPages | None:
    """Raises SettingsError when the pages would be open to other machines without signatures."""
    local = all(is_loopback(each) for each in addresses)
    if settings.admin == "unsigned" and not local:
        raise SettingsError(
            "Unsigned administration is for this machine only; elsewhere give --admin on, or none."
        )
    if settings.admin == "off" or (settings.admin == "auto" and not local):
        return None
    signed = settings.auth == "strict" and settings.admin != "unsigned"
    return AdminPages(
        load,
        authenticate if signed else None,
        None if settings.admin == "on" else (settings.host.lower(),),
    )


def _origins(settings: ServerSettings, addresses: Sequence[tuple[int, str]]) -> OriginPolicy | None:
    """Returns whose requests are served without a verified signature; None if signatures are verified."""
    if settings.auth == "strict":
        return None
    local = all(is_loopback(each) for each in addresses)
    origins = [origin.strip() for origin in settings.cors.split(",") if origin.strip()]
    return OriginPolicy((settings.host.lower(),) if local else None, origins)


def _trace(settings: ServerSettings, clock: Clock) -> TraceFile | None:
    """Raises SettingsError when the file cannot be created."""
    if not settings.record_trace:
        return None
    from faradisc.server.tracing import TraceFile  # noqa: PLC0415 - few servers record

    try:
        return TraceFile(settings.record_trace, clock.now_ns())
    except OSError as mistake:
        raise SettingsError(f"The trace cannot be written: {mistake}.") from mistake


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _run(
    settings: ServerSettings,
    site: Site,
    listener: Listener,
    sockets: Sequence[socket.socket],
    *,
    tls: TlsAcceptor | None,
    access: Access,
    clock: Clock,
    out: TextIO,
) -> None:
    port = sockets[0].getsockname()[1]
    url = url_of(settings.host, port, "https" if settings.tls_cert else "http")
    port_file = PortFile(settings.port_file, port) if settings.port_file else None
    stop = asyncio.Event()
    _on_signals(lambda: listener.cut() if stop.is_set() else stop.set())
    if tls is not None and hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, tls.reload)
    await listener.start(sockets)
    # The database's clock; signatures and HTTP use the machine's.
    database_clock, stored_time = data_clock(settings, clock)
    trace = _trace(settings, database_clock)

    async def open_served() -> Database:
        database = await open_database(settings, database_clock, url)
        access.serve(database)
        return database

    async def open_again() -> Database:
        database = await open_served()
        await database.record(trace)
        return database

    async def drain() -> None:
        site.draining = True
        await listener.drain(DRAIN_S)

    async with contextlib.AsyncExitStack() as exit_stack:
        if port_file is not None:
            exit_stack.callback(port_file.remove)
        if trace is not None:
            exit_stack.callback(trace.close)
        serving = Serving(site, await open_served(), open_again, drain)
        exit_stack.push_async_callback(serving.close)
        if settings.seed:
            from faradisc.server.seed import seed  # noqa: PLC0415 - few servers have one

            await seed(serving.database, settings.seed)
        await serving.database.record(trace)
        site.executor = serving.database
        tune_garbage_collection()
        if port_file is not None:
            port_file.write()
        print(banner(settings, port), file=out, flush=True)
        if settings.console:
            console = ConsoleProcess(url, settings.region, settings.console_port, settings.tls_cert)
            exit_stack.callback(console.stop)
        others = [] if trace is None else [asyncio.create_task(trace.keep_flushing(stop))]
        if site.pages is not None:
            watching = keep_watching(serving, site.pages.history, stop, watch_pause_s(settings.time_scale))
            others.append(asyncio.create_task(watching))
        if stored_time is not None:
            others.append(asyncio.create_task(keep_time(database_clock, stored_time, stop)))
        if serving.database.cluster is not None:
            others.append(asyncio.create_task(keep_working(serving.database.keep_up, stop)))
        await serving.until(stop, None if settings.memory or settings.store else Path(settings.data_dir))
        for each in others:
            await each


async def _yield_control() -> None:
    await asyncio.sleep(0)


async def _background_throttle() -> None:
    await asyncio.sleep(BACKGROUND_THROTTLE_S)


_SHARED_SETTINGS = {each.name for each in fields(Settings)} & {each.name for each in fields(ServerSettings)}


async def open_database(settings: ServerSettings, clock: Clock, address: str = "") -> Database:
    """address: that other servers over the same store show. Raises StorageError."""
    store = await _open_store(settings)
    try:
        return await Database.open(
            store,
            settings=Settings(
                **{name: getattr(settings, name) for name in _SHARED_SETTINGS},
                yield_control=_yield_control,
                background_throttle=_background_throttle,
                large=OtherThread().run,
            ),
            clock=clock,
            kinesis=_kinesis(settings),
            locations=_locations(settings),
            backup_storage=_storage(settings),
            keys=_keys(settings, clock),
            address=address,
        )
    except BaseException:
        await store.close()
        raise


def _keys(settings: ServerSettings, clock: Clock) -> KeyService | None:
    """Raises SettingsError when the key file cannot be used."""
    if not settings.keys and not settings.kms_endpoint:
        return None
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - few servers have keys
    from faradisc.engine.encryption.services import key_service  # noqa: PLC0415

    try:
        return key_service(settings.keys, settings.kms_endpoint, clock, blocking=True)
    except SealedFileError as error:
        raise SettingsError(str(error)) from error


def _kinesis(settings: ServerSettings) -> Sender | None:
    if not settings.kinesis_endpoint_url:
        return None
    from faradisc.engine.kinesis.sender import ThreadedSender  # noqa: PLC0415 - few servers have one

    return ThreadedSender(settings.kinesis_endpoint_url)


def _locations(settings: ServerSettings) -> Locations | None:
    """Returns the buckets of exports and imports; none by default when the data is in memory."""
    logs = None if settings.memory else settings.directory / "logs"
    if settings.s3_endpoint:
        if find_spec("boto3") is None:
            raise SettingsError("--s3-endpoint needs a library: pip install 'faradisc[exchange]'.")
        from faradisc.engine.exchange.s3 import endpoint  # noqa: PLC0415 - few servers have one

        return endpoint(settings.s3_endpoint, logs)
    if not settings.s3_root and (settings.memory or not settings.has_directory):
        return None
    return directories(settings.s3_root or settings.directory / "s3", logs)


def _storage(settings: ServerSettings) -> BackupStorage:
    if settings.memory:
        return MemoryBackupStorage()
    if not settings.has_directory:
        return NoBackupStorage(
            "Backups need a directory that all servers share: start each of them with --data-dir."
        )
    return DirectoryBackupStorage(settings.directory / BACKUPS_DIRECTORY, blocking=True)


async def _open_store(settings: ServerSettings) -> Store:
    if settings.memory:
        from faradisc.storage.memory import MemoryStore  # noqa: PLC0415 - one engine of two is needed

        return MemoryStore()
    if settings.store:
        return await open_shared(settings)
    from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

    # In a thread, so that /health/live answers while an older format is rewritten. While RocksDB replays the
    # log after a crash it does not answer: rocksdict 0.3.29 holds the interpreter lock (0.4 s for 28 MB; the
    # log has at most 64 MB).
    return await asyncio.to_thread(open_rocks, settings.data_dir)


async def open_shared(settings: ServerSettings) -> Store:
    """Opens the PostgreSQL of the settings. Raises StorageError, SettingsError."""
    from faradisc.storage.postgres.store import open_postgres, open_private  # noqa: PLC0415 - few servers

    if settings.is_private_postgres:
        store = await open_private(Path(settings.store.partition(":")[2]))
    else:
        store = await open_postgres(settings.store)
    if settings.has_directory:
        try:
            settings.directory.mkdir(parents=True, exist_ok=True)  # of backups
        except OSError as error:
            await store.close()
            raise SettingsError(f"{settings.directory} cannot be created: {error.strerror}.") from error
    return store


def banner(settings: ServerSettings, port: int) -> str:
    """Returns the text printed when the server is ready: its address, its data, and a command to try."""
    url = url_of(settings.host, port, "https" if settings.tls_cert else "http")
    data = os.path.abspath(settings.data_dir)
    if settings.memory:
        data = "in memory, gone at the end"
    elif settings.is_private_postgres:
        data = f"PostgreSQL in {os.path.abspath(settings.store.partition(':')[2])}"
    elif settings.store:
        data = f"PostgreSQL at {settings.store.rpartition('@')[2].partition('?')[0].removeprefix('postgresql://')}"
    apart = ", each region apart" if settings.per_region else ""
    any_key = "AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any " if settings.auth == "lenient" else ""
    return (
        f"Faradisc {__version__}, compatible with Amazon DynamoDB, is ready.\n"
        f"  endpoint  {url}\n"
        f"  region    {settings.region} (account {settings.account}{apart})\n"
        f"  data      {data}\n"
        f"  units     {_throughput(settings)}\n"
        f"  try       {any_key}aws dynamodb list-tables --region {settings.region} --endpoint-url {url}"
    )


def _throughput(settings: ServerSettings) -> str:
    """Returns the banner's sentence about throttling."""
    if settings.throughput == "off" and not settings.throughput_tables:
        return "counted; nothing is throttled (--throughput aws enforces limits)"
    if settings.throughput == "off":
        return f"counted; enforced only for {settings.throughput_tables}"
    enforced = ", ".join(filter(None, (settings.throughput, settings.throughput_tables)))
    return f"counted and enforced: {enforced}"


def _on_signals(call: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(each, call)
        except NotImplementedError:  # Windows
            signal.signal(each, lambda *_: loop.call_soon_threadsafe(call))


def tune_garbage_collection() -> None:
    """Excludes the objects of the start from garbage collection, and turns the collector on.

    Measured: this takes a third off a put. Nothing is collected first: the start leaves some hundred small
    objects of garbage, and finding them takes longer than opening the store.

    Reference counts free requests, but at Python's own threshold the collector examines running ones again
    and again: 16 transactions of 4 items are some 8,000 objects. With a higher threshold most live between
    two collections (measured: 5 % fewer instructions for a transaction).
    """
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
    gc.freeze()
    gc.enable()


def _raise_open_files_limit() -> None:
    """Raises the limit of open files: each connection needs one, and shells commonly allow 1,024."""
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_WANTED if hard == resource.RLIM_INFINITY else min(OPEN_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # The server runs with a low limit too.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class PortFileError(Exception):
    """Raised when the port file cannot be written; the text is a sentence for the user."""


class PortFile:
    """A file with the port as text, written atomically, that exists while the server is ready."""

    def __init__(self, path: str, port: int) -> None:
        """Removes the file of an earlier server. Raises PortFileError."""
        self._path = Path(path)
        self._text = f"{port}\n"
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure(error) from error

    def write(self) -> None:
        """Raises PortFileError."""
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            draft.write_text(self._text)
            os.replace(draft, self._path)
        except OSError as error:
            raise self._failure(error) from error

    def remove(self) -> None:
        # Another server may have written the file meanwhile; a client that finds no server there retries.
        with contextlib.suppress(OSError):
            if self._path.read_text() == self._text:
                self._path.unlink()

    def _failure(self, error: OSError) -> PortFileError:
        return PortFileError(
            f"The port file {self._path} cannot be written ({error.strerror or error}); give --port-file a "
            "path in a directory this user can write."
        )


STARTUP_ERRORS = (SettingsError, AddressError, PortFileError)
"""The user's mistakes at the start; a StorageError is possible too."""
