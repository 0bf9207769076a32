"""Items into a table by BatchWriteItem, 25 requests at a time; what comes back unprocessed is sent again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from faradisc.tools.transfer.wire import PAUSE_S, PAUSE_S_MAX, Endpoint, Refused

BATCH_ITEMS = 25
WriteRequest = dict[str, Any]
"""{"PutRequest": {"Item": ...}} or {"DeleteRequest": {"Key": ...}}"""


def attributes_of(request: WriteRequest) -> dict[str, Any]:
    """Those of the item, or of the key."""
    if "PutRequest" in request:
        return dict(request["PutRequest"]["Item"])
    return dict(request["DeleteRequest"]["Key"])


class Gone(Exception):
    """The table does not take writes at all; the text is one sentence."""


class Putter:
    """Belongs to one thread."""

    def __init__(self, endpoint: Endpoint, table: str, key_names: tuple[str, ...]) -> None:
        self._endpoint = endpoint
        self._table = table
        self._key_names = key_names
        self._waiting = threading.Event()

    def put(self, requests: Iterable[WriteRequest]) -> list[tuple[WriteRequest, str]]:
        """Write everything; those that were refused, with the reason. Raises: Gone, Unreachable."""
        refused: list[tuple[WriteRequest, str]] = []
        batch: dict[str, WriteRequest] = {}
        for request in requests:
            mark = self._mark(request)
            if mark in batch or len(batch) == BATCH_ITEMS:  # a batch takes each key once
                refused += self._write(list(batch.values()))
                batch = {}
            batch[mark] = request
        return refused + self._write(list(batch.values()))

    def _mark(self, request: WriteRequest) -> str:
        attributes = attributes_of(request)
        return repr([attributes.get(name) for name in self._key_names])

    def _write(self, batch: list[WriteRequest]) -> list[tuple[WriteRequest, str]]:
        """A batch; where it is refused as a whole, its halves, until single ones are at fault."""
        attempt = 0
        while batch:
            try:
                answer = self._endpoint.call("BatchWriteItem", {"RequestItems": {self._table: batch}})
            except Refused as refusal:
                if refusal.code in ("ResourceNotFoundException", "AccessDeniedException"):
                    raise Gone(f"{self._table}: {refusal}") from None
                if len(batch) == 1:
                    return [(batch[0], str(refusal))]
                half = len(batch) // 2
                return self._write(batch[:half]) + self._write(batch[half:])
            batch = answer.get("UnprocessedItems", {}).get(self._table, [])
            if batch:
                self._waiting.wait(min(PAUSE_S * 2**attempt, PAUSE_S_MAX))
                attempt += 1
        return []
