"""`faradisc doctor`: what is installed, writable and reachable, and why not."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

import click

from faradisc import __version__
from faradisc.addresses import completed
from faradisc.cli.databases import HOST, LOCAL_DIRECTORY, PORT
from faradisc.cli.waiting import WaitTarget
from faradisc.limits import MB
from faradisc.records import asdict, dataclass

Result = Literal["ok", "missing", "failed"]
FREE_BYTES_MIN = 1 << 30
OPEN_FILES_MIN = 1024
PROBE_S = 3.0


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One examined thing. Missing ones are optional; failed ones set the exit code."""

    name: str
    result: Result
    text: str


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=LOCAL_DIRECTORY,
    show_default=True,
    help="To examine.",
)
@click.option("--host", default=HOST, show_default=True, help="Address that a server would listen on.")
@click.option(
    "--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="Port, likewise."
)
@click.option("--url", default="", help="A server that has to be ready.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(data_dir: Path, host: str, port: int, url: str, format_: str) -> None:
    """Examine this machine: Python and libraries, extras, data directory, port, a server.

    Exits 0 when everything that serving needs is there, 1 when something is not. Missing extras are listed
    with the command that installs them, and change no exit code.
    """
    checks = [
        _python(),
        *_libraries(),
        _directory(data_dir),
        _space(data_dir),
        *_open_files(),
        _port(host, port),
    ]
    if url:
        checks += [*_server(url), *_copy(url)]
    if format_ == "json":
        click.echo(json.dumps([asdict(check) for check in checks], indent=1))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            click.echo(f"{check.result:<7}  {check.name:<{width}}  {check.text}")
    if any(check.result == "failed" for check in checks):
        raise SystemExit(1)


def _python() -> DoctorCheck:
    return DoctorCheck(
        "faradisc", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform()}"
    )


def _libraries() -> Iterator[DoctorCheck]:
    """Yields a check of the libraries that every command needs, and one of each extra."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - slow to import

    try:
        required = [Requirement(text) for text in metadata.requires("faradisc") or ()]
        extras = metadata.metadata("faradisc").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        yield DoctorCheck(
            "libraries", "failed", "faradisc is not installed as a package. Run: pip install faradisc"
        )
        return
    for extra in ("", *sorted(extras)):
        wanted = [
            each
            for each in required
            if each.marker is None or each.marker.evaluate({"extra": extra})
            if not extra or not (each.marker is None or each.marker.evaluate({"extra": ""}))
        ]
        lacking = ", ".join(filter(None, map(_lacking, wanted)))
        install = f"pip install 'faradisc[{extra}]'" if extra else "pip install faradisc"
        text = f"{lacking}. Run: {install}" if lacking else ", ".join(each.name for each in wanted)
        name = f"extra {extra}" if extra else "libraries"
        yield DoctorCheck(name, "ok" if not lacking else "missing" if extra else "failed", text)


def _lacking(requirement: object) -> str:
    """Returns what is wrong with a library, or an empty text."""
    from packaging.requirements import Requirement  # noqa: PLC0415

    assert isinstance(requirement, Requirement)
    try:
        found = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if requirement.specifier.contains(found, prereleases=True):
        return ""
    return f"{requirement.name} is {found}, needed is {requirement.specifier}"


def _directory(directory: Path) -> DoctorCheck:
    """Examines a data directory without writing to it."""
    from faradisc.errors import StorageError  # noqa: PLC0415
    from faradisc.storage import format as data_format  # noqa: PLC0415

    name = "data directory"
    if not directory.exists():
        parent = next(each for each in directory.absolute().parents if each.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return DoctorCheck(name, "ok", f"{directory} does not exist yet and can be created")
        return DoctorCheck(name, "failed", f"{directory} cannot be created: {parent} cannot be written")
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return DoctorCheck(name, "failed", f"{directory} cannot be written by this user")
    if not directory.is_dir():
        return DoctorCheck(name, "failed", f"{directory} is not a directory")
    if not any(directory.iterdir()):
        return DoctorCheck(name, "ok", f"{directory} is empty and can be written")
    try:
        version = data_format.found(directory)
    except StorageError as error:
        return DoctorCheck(name, "failed", str(error))
    used = "; a server has it open" if _locked(directory) else ""
    return DoctorCheck(name, "ok", f"{directory} has storage format {version}{used}")


def _locked(directory: Path) -> bool:
    """Returns whether another process has the lock of the engine."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return False
    for lock in directory.glob("**/LOCK"):
        with lock.open("rb+") as opened:
            try:
                fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def _space(directory: Path) -> DoctorCheck:
    existing = next(each for each in (directory.absolute(), *directory.absolute().parents) if each.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free / (1 << 30):,.1f} GB free at {existing}"
    if free < FREE_BYTES_MIN:
        return DoctorCheck(
            "disk", "failed", f"{text}; a server needs room for its log and compactions, 1 GB at least"
        )
    return DoctorCheck("disk", "ok", text)


def _open_files() -> Iterator[DoctorCheck]:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES_MIN:
        yield DoctorCheck("open files", "failed", f"{soft:,} allowed; run: ulimit -n {OPEN_FILES_MIN}")
    else:
        yield DoctorCheck(
            "open files", "ok", "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,} allowed"
        )


def _port(host: str, port: int) -> DoctorCheck:
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(place)
    except OSError as error:
        if not WaitTarget("", host, port, "").probe(PROBE_S):
            return DoctorCheck("port", "ok", f"a server is ready at {shown}")
        text = f"{shown} cannot be used: {error.strerror or error}. Choose another one with serve --port"
        return DoctorCheck("port", "failed", text)
    return DoctorCheck("port", "ok", f"{shown} is free")


def _server(url: str) -> Iterator[DoctorCheck]:
    target = WaitTarget(url, "", 0, "")
    reason = target.probe(PROBE_S)
    if reason:
        yield DoctorCheck("server", "failed", f"{target} is not ready: {reason}")
        return
    yield DoctorCheck("server", "ok", f"{target} is ready")
    try:
        found = target.metrics(PROBE_S)
    except (OSError, ValueError) as error:
        text = f"not shown to this client ({error}); see --admin of `faradisc serve`"
        yield DoctorCheck("metrics", "missing", text)
        return
    syncs = found.get("faradisc_sync_seconds_count", 0)
    behind = found.get("faradisc_storage_compaction_pending_bytes", 0)
    shown = [
        f"{found.get('process_resident_memory_bytes', 0) / MB:,.0f} MB of memory",
        f"{found.get('faradisc_connections', 0):,.0f} connections",
        f"{found.get('faradisc_waiting_requests', 0):,.0f} requests wait for the store",
        f"{found.get('faradisc_shed_total', 0):,.0f} rejected under overload",
    ]
    if syncs:
        mean_ms = found["faradisc_sync_seconds_sum"] / syncs * 1e3
        shown.append(f"a sync takes {mean_ms:,.1f} ms")
    yield DoctorCheck("load", "ok", ", ".join(shown))
    if found.get("faradisc_storage_writes_stopped"):
        text = f"writes wait for compactions, which are {behind / MB:,.0f} MB behind: the disk is too slow"
        yield DoctorCheck("compaction", "failed", text)


def _copy(url: str) -> Iterator[DoctorCheck]:
    """Yields a check of the continuous copy of a server that is ready, if it has one."""
    from urllib.error import URLError  # noqa: PLC0415 - for this check only
    from urllib.request import urlopen  # noqa: PLC0415

    try:
        with urlopen(f"{completed(url).rstrip('/')}/_faradisc/copy", timeout=PROBE_S) as answer:
            shown = json.load(answer)
    except (URLError, OSError, ValueError):  # no copy, or no administration from here
        return
    late = shown.get("lag_s", shown.get("late_s", 0.0))
    text = f"{shown['role']}, {shown['place']}: {late:.1f} s behind, {shown['number']:,} groups"
    yield DoctorCheck("copy", "failed" if shown["fault"] else "ok", shown["fault"] or text)
    if shown.get("lacking"):
        yield DoctorCheck("copy's keys", "missing", shown["lacking"])
