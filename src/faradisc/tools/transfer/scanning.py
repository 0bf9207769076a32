"""Scans a table in parallel segments, one thread each, and continues an interrupted scan.

A state file has the last key of every segment. It is written after the pages up to that key are done, so a
continued scan may see a page twice, but misses none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson

from faradisc.tools.transfer.endpoints import Endpoint

_DONE = "done"
Page = list[dict[str, Any]]


class BadState(Exception):
    """A state file belongs to another scan; the text is one sentence."""


class State:
    """The progress of each segment. Without a path it is not stored."""

    def __init__(self, path: Path | None, scan: dict[str, Any]) -> None:
        """scan: parameters that must equal those of the stored state. Raises BadState."""
        self._path = path
        self._lock = threading.Lock()
        self._document: dict[str, Any] = {"walk": scan, "segments": {}}
        if path is None or not path.exists():
            return
        try:
            found = orjson.loads(path.read_bytes())
        except ValueError:
            raise BadState(f"{path} is not the state of a copy; delete it or choose another file.") from None
        if not isinstance(found, dict) or found.get("walk") != scan:
            raise BadState(f"{path} belongs to another copy; delete it or choose another file.")
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

    def delete(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def scan(
    endpoint: Endpoint,
    table: str,
    segments: int,
    handle_page: Callable[[int, Page], None],
    state: State,
) -> None:
    """Calls `handle_page` with the segment and the items of every page, from one thread for each segment.

    After an error all threads stop; then raises the first one.
    """
    stop = threading.Event()

    def scan_segment(segment: int) -> None:
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
                handle_page(segment, answer["Items"])
                start = answer.get("LastEvaluatedKey", _DONE)
                state.reached(segment, start)
        except BaseException:
            stop.set()
            raise

    if endpoint.threads == 1 or segments == 1:
        for segment in range(segments):
            scan_segment(segment)
        return
    with ThreadPoolExecutor(segments) as pool:
        running = [pool.submit(scan_segment, segment) for segment in range(segments)]
    for each in running:
        each.result()
