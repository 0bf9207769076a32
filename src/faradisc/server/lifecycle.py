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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from faradisc import __version__
from faradisc.auth.sigv4 import Authenticator
from faradisc.clock import Clock, SystemClock
from faradisc.database import Database
from faradisc.server.access import Access
from faradisc.server.addresses import AddressError, bind, is_loopback, resolve, url_of
from faradisc.server.admin import AdminPages
from faradisc.server.background import keep_working
from faradisc.server.console_process import ConsoleProcess, check_console
from faradisc.server.listener import Listener
from faradisc.server.load import Load
from faradisc.server.opening import open_database, served
from faradisc.server.origins import OriginPolicy
from faradisc.server.serving import Serving, keep_watching, watch_pause_s
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.server.site import Site
from faradisc.server.timekeeping import data_clock, keep_time
from faradisc.server.tls import TlsAcceptor, TlsFiles
from faradisc.storage.api import Fenced

if TYPE_CHECKING:
    from faradisc.server.standby import Standby
    from faradisc.server.tracing import TraceFile

DRAIN_S = 8.0
"""Longest wait for requests under way; container runtimes kill after 10 s."""

SWITCH_INTERVAL_S = 0.0005
"""The thread that syncs the log needs the interpreter after each sync; with Python's default of 5 ms it
would wait for a busy loop ten times as long as the sync takes."""

COLLECTED_AFTER = 50_000
"""New objects between two collections of garbage: some megabytes at most."""

OPEN_FILES_WANTED = 65_536


def serve(settings: ServerSettings, *, out: TextIO = sys.stdout, child: bool = False) -> None:
    """Runs a server until SIGTERM or SIGINT.

    child: it is one of several on the port (processes.py), and also ends when its standard input does.
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
    site = Site(access.authenticate, pages, _origins(settings, addresses), access.audit, access.spans)
    sockets = bind(settings.host, addresses, settings.port, shared=child)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _raise_open_files_limit()
    os.umask(0o077)  # data, traces and exported files are readable by this user only
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        listener = Listener(site.handle, clock, load, tls)
        try:
            running = _run(
                settings, site, listener, sockets, tls=tls, access=access, clock=clock, out=out, child=child
            )
            runner.run(running)
        finally:
            runner.run(listener.drain(0))  # a start that failed leaves it open
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
        hashed = settings.trace_keys == "hashed"
        return TraceFile(settings.record_trace, clock.now_ns(), hashed=hashed)
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
    child: bool,
) -> None:
    port = sockets[0].getsockname()[1]
    url = url_of(settings.host, port, "https" if settings.tls_cert else "http")
    stop = asyncio.Event()
    _on_signals(lambda: listener.cut() if stop.is_set() else stop.set())
    if child:
        _on_end_of_input(stop.set)
    if tls is not None and hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, tls.reload)
    if not child:
        await listener.start(sockets)
    # The database's clock; signatures and HTTP use the machine's.
    database_clock, stored_time = data_clock(settings, clock)
    trace = _trace(settings, database_clock)

    lost: list[str] = []

    def on_lost(reason: str) -> None:
        lost.append(reason)
        loop.call_soon_threadsafe(stop.set)

    loop = asyncio.get_running_loop()
    standby: Standby | None = None

    async def open_served() -> Database:
        if standby is not None and not standby.is_primary:
            from faradisc.server.standby import StandbyDatabase  # noqa: PLC0415 - few servers are

            database: Database = await served(StandbyDatabase, standby.store, settings, database_clock, url)
            database.copy = standby
        else:
            own = settings if standby is None else _promoted(settings)
            copier = None if standby is None else standby.taken()
            database = await open_database(own, database_clock, url, copier=copier, on_lost=on_lost)
        access.serve(database)
        return database

    async def fill(database: Database) -> None:
        if settings.seed:
            from faradisc.server.seed import seed  # noqa: PLC0415 - few servers have one

            await seed(database, settings.seed)
        await database.record(trace)

    async def open_again() -> Database:
        database = await open_served()
        await fill(database)
        return database

    async def drain() -> None:
        site.draining = True
        await listener.drain(DRAIN_S)

    async with contextlib.AsyncExitStack() as exit_stack:
        if trace is not None:
            exit_stack.callback(trace.close)
        if settings.follow and _was_promoted(settings):
            settings = _promoted(settings)
        if settings.follow:
            from faradisc.server.standby import open_standby  # noqa: PLC0415 - few servers are one

            standby = await open_standby(
                settings, database_clock, url, lambda text: print(text, file=out, flush=True)
            )
        serving = Serving(site, await open_served(), open_again, drain)
        exit_stack.push_async_callback(serving.close)
        # The file of another server is removed only now: that server may run, and have the directory.
        port_file = PortFile(settings.port_file, port) if settings.port_file else None
        if port_file is not None:
            exit_stack.callback(port_file.remove)
        await fill(serving.database)
        site.executor = serving.database
        if settings.memory and site.pages is not None:
            site.pages.reset = serving.reset
        if child:  # until it is ready the others take its connections
            await listener.start(sockets)
        tune_garbage_collection()
        if port_file is not None:
            port_file.write()
        print(banner(settings, port), file=out, flush=True)
        if child:
            out.close()
        if settings.console:
            console = ConsoleProcess(
                url,
                settings.region,
                settings.console_port,
                certificate=settings.tls_cert,
                s3_endpoint=settings.s3_endpoint,
            )
            exit_stack.callback(console.stop)
        others = [] if trace is None else [asyncio.create_task(trace.keep_flushing(stop))]
        if site.pages is not None:
            watching = keep_watching(serving, site.pages.history, stop, watch_pause_s(settings.time_scale))
            others.append(asyncio.create_task(watching))
        if stored_time is not None:
            others.append(asyncio.create_task(keep_time(database_clock, stored_time, stop)))
        if serving.database.cluster is not None:
            others.append(asyncio.create_task(keep_working(serving.database.keep_up, stop)))
        if standby is not None and not await serving.follow(standby, open_served, stop):
            await drain()
        await serving.until(stop, None if settings.memory or settings.store else Path(settings.data_dir))
        for each in others:
            await each
    if lost:
        raise Fenced(f"{lost[0]} This server has stopped, as it may not acknowledge writes any more.")


def _was_promoted(settings: ServerSettings) -> bool:
    """Returns whether the standby of these settings was the primary before: it continues as one, or learns
    that another one has. Raises SettingsError."""
    from faradisc.engine.copying.format import CopyError  # noqa: PLC0415 - few servers are standbys
    from faradisc.engine.copying.points import was_primary  # noqa: PLC0415

    try:
        return was_primary(settings.where.directory)
    except CopyError as error:
        raise SettingsError(str(error)) from error


def _promoted(settings: ServerSettings) -> ServerSettings:
    """Returns the settings of a standby that has taken over its copy."""
    from faradisc.server.copying import is_server  # noqa: PLC0415 - few servers are standbys

    copy_to = settings.copy_to if is_server(settings.follow) else settings.follow
    return replace(settings, copy_to=copy_to, follow="", copy_takeover=False)


def banner(settings: ServerSettings, port: int) -> str:
    """Returns the text printed when the server is ready: its address, its data, and how to use it."""
    url = url_of(settings.host, port, "https" if settings.tls_cert else "http")
    apart = ", each region apart" if settings.regions_apart else ""
    lenient = settings.auth == "lenient"
    any_key = "AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any " if lenient else ""
    any_keys = ', aws_access_key_id="any", aws_secret_access_key="any"' if lenient else ""
    return (
        f"Faradisc {__version__}, compatible with Amazon DynamoDB, is ready.\n"
        f"  endpoint  {url}\n"
        f"  region    {settings.region} (account {settings.account}{apart})\n"
        f"  data      {settings.where.words}\n"
        f"  units     {_throughput(settings)}\n"
        f"  try       {any_key}aws dynamodb list-tables --region {settings.region} --endpoint-url {url}\n"
        f'  Python    boto3.client("dynamodb", "{settings.region}", endpoint_url="{url}"{any_keys})\n'
        "  in tests  from faradisc.local import patch    # no server: a database in the test's own process"
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


def _on_end_of_input(call: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(0, 1):
            loop.remove_reader(0)
            call()

    loop.add_reader(0, read)


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
