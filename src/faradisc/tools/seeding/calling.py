"""Calls a database of this process, in its own region and account."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from faradisc.errors import RequestRejected
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.tools.readers.attached import SERVICES
from faradisc.tools.seeding.applying import SeedingOutcome

SHOWN_MAX = 20


class SeedingCaller:
    def __init__(self, answer: Callable[[HttpRequest], Awaitable[HttpResponse]], region: str) -> None:
        """answer: answers a request without verifying who has signed it."""
        scope = f"SEED/20260101/{region}/dynamodb/aws4_request"
        self._answer = answer
        self._headers = {
            b"host": b"localhost",
            b"content-type": b"application/x-amz-json-1.0",
            b"x-amz-date": b"20260101T000000Z",
            b"authorization": (
                f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
            ).encode(),
        }

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer of an operation. Raises RequestRejected."""
        service = SERVICES.get(operation)
        prefix = "DynamoDB_20120810" if service is None else service.target_prefix
        headers = {**self._headers, b"x-amz-target": f"{prefix}.{operation}".encode()}
        answered = await self._answer(HttpRequest("POST", b"/", headers, orjson.dumps(request)))
        document: dict[str, Any] = orjson.loads(answered.body or b"{}")
        if answered.status != 200:
            text = document.get("message") or document.get("Message") or ""
            raise RequestRejected(str(document.get("__type", answered.status)).rpartition("#")[2], str(text))
        return document


def errors_in(directory: str, outcome: SeedingOutcome) -> str:
    """Returns the errors of a seed, each on a line of its own."""
    listed = [f"\n  {directory}/{error}" for error in outcome.errors[:SHOWN_MAX]]
    if len(outcome.errors) > SHOWN_MAX:
        listed.append(f"\n  and {len(outcome.errors) - SHOWN_MAX} more")
    return "".join(listed)
