"""Requests to a DynamoDB endpoint, or to a data directory without a server.

Items stay DynamoDB JSON and are not converted to Python numbers or sets. Retryable errors are retried with
pauses that double.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Protocol

import orjson

from faradisc.database import Database
from faradisc.engine.exchange.locations import Locations
from faradisc.errors import ApiError, RequestRejected, Unreachable
from faradisc.operations.call import Call
from faradisc.storage.immediate import run

ATTEMPTS_MAX = 10
PAUSE_S = 0.05
PAUSE_S_MAX = 5.0
TIMEOUT_S = 60.0
_RETRYABLE = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
    | {"InternalServerError", "InternalFailure", "ServiceUnavailable", "TransactionInProgressException"}
)


class Endpoint(Protocol):
    threads: int
    """Number of threads that may call at a time."""

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to one request. Raises RequestRejected, Unreachable."""
        ...

    def close(self) -> None: ...


class Remote:
    """An endpoint at an address, with the credentials and region of the AWS configuration."""

    def __init__(
        self, url: str | None, region: str | None, *, profile: str | None = None, threads: int = 4
    ) -> None:
        """url: None for Amazon's, which needs a region and credentials. Raises Unreachable without them."""
        import botocore.session  # noqa: PLC0415 - slow to import
        import urllib3  # noqa: PLC0415
        from botocore.credentials import Credentials  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        self.threads = threads
        try:
            session = botocore.session.Session(profile=profile)
            chosen = region or session.get_config_variable("region") or ("us-east-1" if url else None)
            found = session.get_credentials()
        except BotoCoreError as error:
            raise Unreachable(str(error)) from error
        if chosen is None:
            raise Unreachable("No region is set; give --region.")
        if found is None and url is None:
            raise Unreachable("No credentials are set; see the AWS documentation of their sources.")
        self._region = str(chosen)
        self._credentials = found or Credentials("faradisc", "faradisc")
        self._url = (url or f"https://dynamodb.{self._region}.amazonaws.com").rstrip("/") + "/"
        self._pool = urllib3.PoolManager(maxsize=threads, retries=False, timeout=TIMEOUT_S)
        self._waiting = threading.Event()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        body = orjson.dumps(request)
        for attempt in range(ATTEMPTS_MAX):
            last = attempt == ATTEMPTS_MAX - 1
            status, answer = self._send(operation, body, last=last)
            if status == 200:
                return answer
            code = str(answer.get("__type", status)).rpartition("#")[2]
            retryable = status in (0, 429) or status >= 500 or code in _RETRYABLE
            if last or not retryable:
                raise RequestRejected(code, str(answer.get("message") or answer.get("Message") or ""))
            self._waiting.wait(min(PAUSE_S * 2**attempt, PAUSE_S_MAX))
        raise AssertionError("the last attempt answers or raises")

    def _send(self, operation: str, body: bytes, *, last: bool) -> tuple[int, dict[str, Any]]:
        """Returns status and answer; status 0 without an answer, if a retry may help. Raises Unreachable."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - slow to import
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from urllib3.exceptions import HTTPError, LocationValueError  # noqa: PLC0415

        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        signed = AWSRequest("POST", self._url, data=body, headers=headers)
        SigV4Auth(self._credentials.get_frozen_credentials(), "dynamodb", self._region).add_auth(signed)
        try:
            answer = self._pool.request("POST", self._url, body=body, headers=dict(signed.headers.items()))
        except (HTTPError, LocationValueError, OSError) as error:
            if last or isinstance(error, LocationValueError):
                reason = error.__cause__ or error  # the system's text, without names of urllib3
                raise Unreachable(f"{self._url} does not answer: {reason}") from error
            return 0, {}
        try:
            document = orjson.loads(answer.data)
        except orjson.JSONDecodeError as error:
            if answer.status >= 500 and not last:
                return answer.status, {}
            raise Unreachable(f"{self._url} answers {answer.status}, but not like a database.") from error
        return answer.status, document if isinstance(document, dict) else {}

    def close(self) -> None:
        self._pool.clear()


class Directory:
    """A data directory that no server has open, used in the caller's thread."""

    threads = 1

    def __init__(self, path: Path | str, locations: Locations | None = None) -> None:
        """Raises StorageError when the directory cannot be used."""
        from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

        self.locations = locations
        store = open_rocks(path, durability="inline")
        try:
            self.database = run(Database.open(store, locations=locations))
        except BaseException:
            run(store.close())
            raise

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        # A copy, because operations make the values of a request canonical in place.
        copied = orjson.loads(orjson.dumps(request))
        settings = self.database.settings
        call = Call(operation, copied, False, settings.region, settings.account)
        try:
            answer = run(self.database.execute(call))
        except ApiError as error:
            raise RequestRejected(error.wire_name(), error.message or "") from None
        document: dict[str, Any] = orjson.loads(orjson.dumps(answer))
        return document

    def work(self) -> bool:
        """Does one step of the background jobs. Returns False when there was nothing to do."""
        return run(self.database.work())

    def close(self) -> None:
        run(self.database.close())
