"""What keeps the event loop of a server from the other requests: `python -m bench.stalls`.

The server runs on asyncio's own loop, with a recorder around each callback (`--record FILE -- serve ...` is
that process). It measures the processor time of the loop's thread, which other programs on the machine hardly
change, and names what ran: a job of the background, a collection of garbage, or the callback itself. Clients
send a mix of 80 % GetItem and 20 % PutItem over 64 connections; beside it there are, one after the other,
nothing, backups, an index that is built again and again, and items that expire.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import answers, client, expiring, growth, requests, rounds
from bench.report import Table
from bench.servers import FARADISC, Server
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition

LONG_MS = (1, 2, 5, 10)
ITEMS = 20_000
CONNECTIONS = 64


class Recorder:
    """Durations of the loop's callbacks by what ran, in processor time. SIGUSR1 begins again."""

    def __init__(self, path: Path) -> None:
        """path: where `write` puts the durations, as JSON by name."""
        self._path = path
        self._spent: dict[str, list[float]] = defaultdict(list)
        self._inner: list[tuple[float, str]] = []
        """What the running callback has called, with its duration."""
        self._collection = 0.0
        self.calls = 0

    def install(self) -> None:
        from faradisc.engine.jobs import runner  # noqa: PLC0415 - of the recorded process only
        from faradisc.server import lifecycle  # noqa: PLC0415

        lifecycle._loop_factory = lambda: asyncio.SelectorEventLoop  # type: ignore[assignment]
        signal.signal(signal.SIGUSR1, lambda *_: self._restart())
        run = asyncio.Handle._run

        def recorded(handle: asyncio.Handle) -> None:
            self._inner.clear()
            began = time.thread_time()
            run(handle)
            took_ms = (time.thread_time() - began) * 1e3
            self.calls += 1
            if took_ms > LONG_MS[0]:
                self._note(took_ms, handle)

        asyncio.Handle._run = recorded  # type: ignore[method-assign]
        gc.callbacks.append(self._collected)
        begin = runner.Workers.__init__

        def begun(workers: runner.Workers, jobs: Any) -> None:
            begin(workers, [replace(job, step=self._timed(job)) for job in jobs])

        runner.Workers.__init__ = begun  # type: ignore[method-assign]

    def _restart(self) -> None:
        self._spent.clear()
        self.calls = 0

    def _note(self, took_ms: float, handle: asyncio.Handle) -> None:
        inner_ms, name = max(self._inner, default=(0.0, ""))
        if inner_ms < took_ms / 2:
            callback: Any = handle._callback  # type: ignore[attr-defined]
            owner = getattr(callback, "__self__", None)
            coroutine = owner.get_coro() if isinstance(owner, asyncio.Task) else None
            name = getattr(coroutine or callback, "__qualname__", None) or repr(callback)
        self._spent[name].append(took_ms)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collection = time.thread_time()
        else:
            took_ms = (time.thread_time() - self._collection) * 1e3
            self._inner.append((took_ms, f"collection of generation {info['generation']}"))

    def _timed(self, job: Any) -> Callable[[], Awaitable[bool]]:
        step = job.step

        async def timed() -> bool:
            """Adds up what the job takes between its waits; one callback runs one of these pieces."""
            inner = step().__await__()
            while True:
                began = time.thread_time()
                try:
                    waiting = next(inner)
                except StopIteration as end:
                    return bool(end.value)
                finally:
                    self._inner.append(((time.thread_time() - began) * 1e3, f"job: {job.name}"))
                await _passed(waiting)

        return timed

    def write(self) -> None:
        self._path.write_text(json.dumps({"calls": self.calls, "spent": self._spent}))


class _passed:
    """Awaits what another awaitable has yielded, as it is."""

    def __init__(self, waiting: Any) -> None:
        self._waiting = waiting

    def __await__(self) -> Iterator[Any]:
        return (yield self._waiting)


def record(path: Path, arguments: list[str]) -> None:
    """Runs `faradisc` with these arguments in this process, recorded."""
    from faradisc.cli.main import main as faradisc  # noqa: PLC0415 - of the recorded process only

    recorder = Recorder(path)
    recorder.install()
    sys.argv = ["faradisc", *arguments]
    try:
        faradisc()
    finally:
        recorder.write()


def _nothing(_: Server, stop: threading.Event) -> None:
    stop.wait()


def _backups(server: Server, stop: threading.Event) -> None:
    with answers.Asker(server.port) as ask:
        while not stop.is_set():
            growth.back_up(ask)


def _indexes(server: Server, stop: threading.Event) -> None:
    with answers.Asker(server.port) as ask:
        while not stop.is_set():
            growth.build_index(ask)
            growth.remove_index(ask)


def _expiry(server: Server, stop: threading.Event) -> None:
    while not stop.is_set():
        client.load(expiring.loading(20_000, int(time.time()) - 100), server.port)


BESIDE = {"nothing": _nothing, "backups": _backups, "an index is built": _indexes, "items expire": _expiry}


def measure(beside: str, directory: Path, seconds: int) -> tuple[dict[str, Any], client.Timing]:
    path, requests_file = directory / "spent.json", directory / "mixed"
    command = ["-m", "bench.stalls", "--record", str(path), "--"]
    program = replace(
        FARADISC,
        command=lambda port, where: [sys.executable, *command, *FARADISC.command(port, where)[1:]],
    )
    population = Population(ITEMS)
    with Server(program, directory, core=None) as server:
        with answers.Asker(server.port) as ask:
            ask("CreateTable", table_definition(PLAIN_TABLE))
            rounds.wait_active(PLAIN_TABLE, ask)
            expiry = {"Enabled": True, "AttributeName": expiring.ATTRIBUTE}
            ask("UpdateTimeToLive", {"TableName": PLAIN_TABLE, "TimeToLiveSpecification": expiry})
        client.load((requests.sign(*each) for each in population.load(PLAIN_TABLE)), server.port)
        operations = WORKLOADS["mixed"].operations(population)
        requests.write_file(requests_file, (requests.sign(*each) for each in operations))
        os.kill(server.pid, signal.SIGUSR1)
        stop = threading.Event()
        other = threading.Thread(target=BESIDE[beside], args=(server, stop))
        other.start()
        timing = client.replay(
            requests_file, server.port, connections=CONNECTIONS, seconds=seconds, with_wrk=False
        )
        stop.set()
        other.join()
    return json.loads(path.read_text()), timing


def table(beside: str, found: dict[str, Any], timing: client.Timing) -> Table:
    rows = [("what ran", "", *(f"over {each} ms" for each in LONG_MS), "longest ms")]
    for name, spent in sorted(found["spent"].items(), key=lambda pair: -max(pair[1])):
        counts = [str(sum(each > limit for each in spent)) for limit in LONG_MS]
        rows.append((name, "", *counts, f"{max(spent):.1f}"))
    return Table(
        f"Beside: {beside}. {timing.operations:,} requests, p50 {timing.p50_ms:.2f} ms, "
        f"p99 {timing.p99_ms:.2f} ms, {found['calls']:,} callbacks",
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15, help="of each (15)")
    parser.add_argument("--only", choices=BESIDE)
    parser.add_argument("--record", type=Path)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.record:
        record(options.record, options.arguments)
        return
    for beside in [options.only] if options.only else BESIDE:
        with tempfile.TemporaryDirectory() as directory:
            print(table(beside, *measure(beside, Path(directory), options.seconds)).text(), "\n", flush=True)


if __name__ == "__main__":
    main()
