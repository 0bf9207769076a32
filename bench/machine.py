"""Facts about the machine: cores, processes, the disk's sync, and a line that states them.

Linux only: process figures come from /proc. CPU time is read in clock ticks (usually 10 ms), which over a
round of some seconds is an error below one percent.
"""

import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SYNC_PROBES = 200


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that a comparison with other numbers needs."""

    processor: str
    cores: int
    memory_gib: float
    kernel: str
    filesystem: str
    sync_us: float
    """Median time of a 4 KiB write with fdatasync in the data directory: the floor of a durable write."""
    load: float
    """Load average of the last minute before the run; above about 0.2 other programs were running."""
    python: str
    node: str
    commit: str
    date: str

    def lines(self) -> list[str]:
        return [
            f"{self.processor}, {self.cores} cores, {self.memory_gib:.0f} GiB, Linux {self.kernel}",
            f"data on {self.filesystem}, 4 KiB write + fdatasync {self.sync_us:.0f} us, "
            f"load average before the run {self.load:.1f}",
            f"Python {self.python}, Node {self.node}, Faradisc commit {self.commit}, {self.date}",
        ]


def describe(data_directory: Path) -> Machine:
    """Returns the facts about this machine. Takes less than a second."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=memory / 2**30,
        kernel=platform.release(),
        filesystem=_filesystem(data_directory),
        sync_us=_sync_us(data_directory),
        load=os.getloadavg()[0],
        python=platform.python_version(),
        node=_output(["node", "--version"]).lstrip("v") or "absent",
        commit=_commit(),
        date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Pins processes started inside to a core; None pins nothing."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds(pid: int) -> float:
    """Returns user and system time of a process with all its threads, ended ones included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def system_seconds(pid: int) -> float:
    """Returns the part of it that was spent in the kernel, in clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[12]) / TICKS_PER_SECOND


def busy_seconds() -> float:
    """Returns the CPU time of all processes since the start of the machine."""
    fields = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    user, nice, system, _idle, _waiting, *interrupts = fields
    return (user + nice + system + sum(interrupts)) / TICKS_PER_SECOND


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    """Returns the resident memory, or its highest value with the field "VmHWM"."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"no {field} for process {pid}")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _filesystem(directory: Path) -> str:
    kinds: dict[str, str] = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        kinds[where] = kind
    for candidate in (directory.resolve(), *directory.resolve().parents):
        if str(candidate) in kinds:
            return kinds[str(candidate)]
    return "unknown"


def _sync_us(directory: Path) -> float:
    path = directory / "sync-probe"
    times = []
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        for _ in range(SYNC_PROBES):
            start = time.perf_counter()
            os.write(descriptor, b"x" * 4096)
            os.fdatasync(descriptor)
            times.append(time.perf_counter() - start)
    finally:
        os.close(descriptor)
        path.unlink()
    return statistics.median(times) * 1e6


def _commit() -> str:
    commit = _output(["git", "rev-parse", "--short", "HEAD"]) or "unknown"
    return commit + (" with local changes" if _output(["git", "status", "--porcelain", "--", "src"]) else "")


def _output(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
