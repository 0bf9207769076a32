"""A run: creates the table, loads it, reads it back in three ways and compares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from examples.botocore_corpus import table
from examples.botocore_corpus.source import shape_names
from examples.botocore_corpus.steps import (
    Key,
    Tally,
    list_service,
    load_service,
    query_service,
    query_type,
    scan_segment,
)

Connect = Callable[[], Any]
"""Creates a boto3 client; must be picklable for several workers."""

Unit = tuple[Callable[..., Tally], tuple[Any, ...]]
"""One function of `steps` and its arguments after the client."""

SEGMENTS_PER_WORKER = 4


@dataclass
class Phase:
    """One pass over the data: a line of the summary."""

    name: str
    tally: Tally
    seconds: float
    differences: list[str]


def run(
    connect: Connect,
    services: Sequence[str],
    *,
    progress: Progress,
    workers: int = 1,
    load: bool = True,
    verify: bool = True,
) -> list[Phase]:
    """Loads the services into a new table and, with `verify`, reads everything back and compares.

    Without `load` the table must exist. Returns one Phase per pass; without differences everything is equal.
    The table is not deleted.
    """
    if load:
        table.create(connect())
    documents = sum(1 for service in services for _ in shape_names(service))
    name, function = ("load", load_service) if load else ("list", list_service)
    with _Workers(connect, workers) as pool:
        first = pool.phase(name, progress, documents, [(function, (service,)) for service in services])
        reads = _reads(services, first.tally, SEGMENTS_PER_WORKER * workers) if verify else {}
        written = first.tally.keys
        later = [pool.phase(name, progress, len(written), units) for name, units in reads.items()]
    for phase in later:
        phase.differences += _unequal_keys(written, phase.tally.keys)
    return [first, *later]


def _reads(services: Sequence[str], written: Tally, segments: int) -> dict[str, list[Unit]]:
    """Returns three ways to read everything. The index is queried per type and initial letter, because the
    largest type has more than half of the items."""
    groups = {(kind, sort_key[0]) for (_, sort_key), kind in written.types.items()}
    return {
        "scan": [(scan_segment, (segment, segments)) for segment in range(segments)],
        "query": [(query_service, (service,)) for service in services],
        "index": [(query_type, group) for group in sorted(groups)],
    }


def _unequal_keys(written: set[Key], read: set[Key]) -> Iterator[str]:
    for key in sorted(written - read):
        yield f"{'/'.join(key)}: not found"
    for key in sorted(read - written):
        yield f"{'/'.join(key)}: found, but not loaded by this run"


class _Workers:
    """Runs units in this process or in several processes."""

    def __init__(self, connect: Connect, workers: int) -> None:
        self._client = connect() if workers == 1 else None
        self._pool = (
            None
            if workers == 1
            else ProcessPoolExecutor(max_workers=workers, initializer=_connect_worker, initargs=(connect,))
        )

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def phase(self, name: str, progress: Progress, total: int, units: Sequence[Unit]) -> Phase:
        tally = Tally()
        with _bar(progress, name, total) as advance:
            started = time.perf_counter()
            for part in self._tallies(units):
                tally.add(part)
                advance(len(part.keys))
            seconds = time.perf_counter() - started
        return Phase(name, tally, seconds, list(tally.differences))

    def _tallies(self, units: Sequence[Unit]) -> Iterable[Tally]:
        if self._pool is None:
            for function, arguments in units:
                yield function(self._client, *arguments)
        else:
            waiting = [self._pool.submit(_work, function, arguments) for function, arguments in units]
            for done in as_completed(waiting):
                yield done.result()


@contextmanager
def _bar(progress: Progress, name: str, total: int) -> Iterator[Callable[[int], None]]:
    task = progress.add_task(name, total=total)
    yield lambda items: progress.update(task, advance=items)
    progress.update(task, total=progress.tasks[task].completed)


_worker_client: list[Any] = []
"""The client of a worker process; empty in other processes."""


def _connect_worker(connect: Connect) -> None:
    _worker_client.append(connect())


def _work(function: Callable[..., Tally], arguments: tuple[Any, ...]) -> Tally:
    return function(_worker_client[0], *arguments)
