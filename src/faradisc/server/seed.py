"""`serve --seed DIR`: creates the tables and items of a directory before the server is ready."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson

from faradisc.database import Database
from faradisc.errors import RequestRejected
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest
from faradisc.server.settings import SettingsError
from faradisc.tools.seeding import Outcome, apply, read_seed

_log = logging.getLogger("faradisc.tools.seeding")

PAUSE_S = 0.02
SHOWN_MAX = 20


async def seed(database: Database, directory: str) -> Outcome:
    """Logs what was skipped. Raises SettingsError, which names the errors by file and line."""
    found = await asyncio.to_thread(read_seed, Path(directory))
    outcome = await apply(found, _Caller(database).call, lambda: asyncio.sleep(PAUSE_S))
    for note in outcome.notes:
        _log.warning("%s/%s", directory, note)
    if outcome.errors:
        listed = [f"\n  {directory}/{error}" for error in outcome.errors[:SHOWN_MAX]]
        if len(outcome.errors) > SHOWN_MAX:
            listed.append(f"\n  and {len(outcome.errors) - SHOWN_MAX} more")
        raise SettingsError(f"The seed cannot be used:{''.join(listed)}")
    return outcome


class _Caller:
    """Calls the database of this process, in the server's own region and account."""

    def __init__(self, database: Database) -> None:
        scope = f"SEED/20260101/{database.region}/dynamodb/aws4_request"
        self._database = database
        self._headers = {
            b"host": b"localhost",
            b"content-type": b"application/x-amz-json-1.0",
            b"x-amz-date": b"20260101T000000Z",
            b"authorization": (
                f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
            ).encode(),
        }

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        headers = {**self._headers, b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
        answered = await answer(self._database, HttpRequest("POST", b"/", headers, orjson.dumps(request)))
        document: dict[str, Any] = orjson.loads(answered.body or b"{}")
        if answered.status != 200:
            text = document.get("message") or document.get("Message") or ""
            raise RequestRejected(str(document["__type"]).rpartition("#")[2], str(text))
        return document
