"""Writes items by BatchWriteItem, 25 requests at a time, and repeats unprocessed ones."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from faradisc.errors import RequestRejected
from faradisc.tools.transfer.endpoints import PAUSE_S, PAUSE_S_MAX, Endpoint

BATCH_ITEMS = 25
WriteRequest = dict[str, Any]
"""{"PutRequest": {"Item": ...}} or {"DeleteRequest": {"Key": ...}}"""


def attributes_of(request: WriteRequest) -> dict[str, Any]:
    """Returns the attributes of the item or of the key."""
    if "PutRequest" in request:
        return dict(request["PutRequest"]["Item"])
    return dict(request["DeleteRequest"]["Key"])


class TableUnusable(Exception):
    """A table is missing, or does not accept the data; the text is one sentence."""


class Putter:
    """Belongs to one thread."""

    def __init__(self, endpoint: Endpoint, table: str, key_names: tuple[str, ...]) -> None:
        self._endpoint = endpoint
        self._table = table
        self._key_names = key_names
        self._waiting = threading.Event()

    def put(self, requests: Iterable[WriteRequest]) -> list[tuple[WriteRequest, str]]:
        """Writes the requests. Returns the rejected ones with the reason. Raises TableUnusable,
        Unreachable."""
        rejected: list[tuple[WriteRequest, str]] = []
        batch: dict[str, WriteRequest] = {}
        for request in requests:
            attributes = attributes_of(request)
            key = repr([attributes.get(name) for name in self._key_names])
            if key in batch or len(batch) == BATCH_ITEMS:  # the keys of a batch must be distinct
                rejected += self._write(list(batch.values()))
                batch = {}
            batch[key] = request
        return rejected + self._write(list(batch.values()))

    def _write(self, batch: list[WriteRequest]) -> list[tuple[WriteRequest, str]]:
        """Writes a batch. Halves a rejected batch until the rejected requests are found."""
        attempt = 0
        while batch:
            try:
                answer = self._endpoint.call("BatchWriteItem", {"RequestItems": {self._table: batch}})
            except RequestRejected as error:
                if error.code in ("ResourceNotFoundException", "AccessDeniedException"):
                    raise TableUnusable(f"{self._table}: {error}") from None
                if len(batch) == 1:
                    return [(batch[0], str(error))]
                half = len(batch) // 2
                return self._write(batch[:half]) + self._write(batch[half:])
            batch = answer.get("UnprocessedItems", {}).get(self._table, [])
            if batch:
                self._waiting.wait(min(PAUSE_S * 2**attempt, PAUSE_S_MAX))
                attempt += 1
        return []
