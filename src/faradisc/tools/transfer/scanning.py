"""A whole table by parallel segments, each walked by a thread, and where an interrupted walk goes on.

A state file remembers, per segment, behind which key it goes on. It is written after the pages before that
key have been dealt with, so a walk that is taken up again may see a page twice, and misses none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson

from faradisc.tools.transfer.wire import Endpoint

_DONE = "done"
Page = list[dict[str, Any]]


class BadState(Exception):
    """A state file that belongs to another walk; the text is one sentence."""


class State:
    """Where each segment goes on. Without a path nothing is remembered."""

    def __init__(self, path: Path | None, walk: dict[str, Any]) -> None:
        """walk: what must be the same for the state to be of use. Raises: BadState."""
        self._path = path
        self._lock = threading.Lock()
        self._document: dict[str, Any] = {"walk": walk, "segments": {}}
        if path is None or not path.exists():
            return
        try:
            found = orjson.loads(path.read_bytes())
        except ValueError:
            raise BadState(f"{path} is no state of a copy; delete it or name another file.") from None
        if not isinstance(found, dict) or found.get("walk") != walk:
            raise BadState(f"{path} belongs to another copy; delete it or name another file.")
        self._document = found

    def start_of(self, segment: int) -> Any:
        return self._document["segments"].get(str(segment))

    def reached(self, segment: int, key: Any) -> None:
        with self._lock:
            self._document["segments"][str(segment)] = key
            if self._path is not None:
                draft = self._path.with_name(self._path.name + ".new")
                draft.write_bytes(orjson.dumps(self._document))
                os.replace(draft, self._path)

    def forget(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def walk(
    endpoint: Endpoint,
    table: str,
    segments: int,
    visit: Callable[[int, Page], None],
    state: State,
) -> None:
    """Call `visit` with the segment and the items of every page, from as many threads as there are segments.

    Raises: the first thing that went wrong anywhere, once every thread has stopped.
    """
    stop = threading.Event()

    def segment_walk(segment: int) -> None:
        start = state.start_of(segment)
        try:
            while start != _DONE and not stop.is_set():
                request: dict[str, Any] = {
                    "TableName": table,
                    "Segment": segment,
                    "TotalSegments": segments,
                    "ConsistentRead": True,
                }
                if start is not None:
                    request["ExclusiveStartKey"] = start
                answer = endpoint.call("Scan", request)
                visit(segment, answer["Items"])
                start = answer.get("LastEvaluatedKey", _DONE)
                state.reached(segment, start)
        except BaseException:
            stop.set()
            raise

    if endpoint.threads == 1 or segments == 1:
        for segment in range(segments):
            segment_walk(segment)
        return
    with ThreadPoolExecutor(segments) as pool:
        running = [pool.submit(segment_walk, segment) for segment in range(segments)]
    for each in running:
        each.result()
