"""Requests to a DynamoDB endpoint, or to a data directory without a server.

Items stay DynamoDB JSON and are not converted to Python numbers or sets. Retryable errors are retried with
pauses that double.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from faradisc.addresses import completed, http_address
from faradisc.errors import ApiError, RequestRejected, Unreachable
from faradisc.storage.immediate import run

if TYPE_CHECKING:
    from faradisc.engine.exchange.locations import Locations
    from faradisc.protocol.other_services.services import Service

ATTEMPTS_MAX = 10
PAUSE_S = 0.05
PAUSE_S_MAX = 5.0
POLL_S = 0.1
"""Between two polls of a server."""
STEPS_PER_WAIT = 64
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

    def wait(self) -> None:
        """Waits until the state may have changed; does background work where no server does it."""
        ...

    def close(self) -> None: ...


class Remote:
    """An endpoint at an address, with the credentials and region of the AWS configuration."""

    def __init__(
        self,
        url: str | None,
        region: str | None,
        *,
        profile: str | None = None,
        threads: int = 1,
        local: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """url: None for Amazon's, which needs a region and credentials.
        local: a server of this project. Only the environment's credentials are used, and made-up ones without
        them; a request without an answer is repeated once, since the server may close an idle connection.

        Raises Unreachable for an invalid address, and without region or credentials.
        """
        import botocore.session  # noqa: PLC0415 - slow to import
        import urllib3  # noqa: PLC0415
        from botocore.credentials import Credentials  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        self.threads = threads
        self._attempts_max = 2 if local else ATTEMPTS_MAX
        try:
            if url is not None:
                url = http_address(completed(url)).geturl()
            session = botocore.session.Session(profile=profile)
            chosen = region or session.get_config_variable("region") or ("us-east-1" if url else None)
            configured = not local or os.environ.get("AWS_ACCESS_KEY_ID")
            found = session.get_credentials() if configured else None
        except ValueError as error:
            raise Unreachable(f"{error}.") from None
        except BotoCoreError as error:
            raise Unreachable(
                f"{url} cannot be used with this environment: {error}." if local else str(error)
            ) from error
        if chosen is None:
            raise Unreachable("No region is set; give --region.")
        if found is None and url is None:
            raise Unreachable("No credentials are set; see the AWS documentation of their sources.")
        self._region = str(chosen)
        self._credentials = found or Credentials("faradisc", "faradisc")
        self._url = url or f"https://dynamodb.{self._region}.amazonaws.com/"
        self._pool = urllib3.PoolManager(maxsize=threads, retries=False, timeout=timeout_s)
        self._waiting = threading.Event()

    def call(self, operation: str, request: dict[str, Any], service: Service | None = None) -> dict[str, Any]:
        """service: another one than DynamoDB, at the same address."""
        body = orjson.dumps(request)
        prefix = "DynamoDB_20120810" if service is None else service.target_prefix
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{prefix}.{operation}"}
        signed_for = "dynamodb" if service is None else service.signing_name
        for last in self._attempts():
            status, text = self._send("POST", "/", body, headers, last=last, signed_for=signed_for)
            if not status:
                continue
            try:
                document = orjson.loads(text or b"{}")  # TagResource answers without a body
            except orjson.JSONDecodeError as error:
                if last or status < 500:
                    raise Unreachable(f"{self._url} answers {status}, but not like a database.") from error
                document = {}
            answer = document if isinstance(document, dict) else {}
            if status == 200:
                return answer
            code = str(answer.get("__type", status)).rpartition("#")[2]
            if last or not (status == 429 or status >= 500 or code in _RETRYABLE):
                raise RequestRejected(code, str(answer.get("message") or answer.get("Message") or ""))
        raise AssertionError("the last attempt answers or raises")

    def page(self, method: str, path: str, body: bytes = b"{}") -> tuple[int, bytes]:
        """Returns (status, body) of an administration page. body: of a POST, JSON. Raises Unreachable."""
        posted = method == "POST"
        headers = {"Content-Type": "application/json"} if posted else {}
        for last in self._attempts():
            status, answer = self._send(method, path, body if posted else b"", headers, last=last)
            if status:
                return status, answer
        raise AssertionError("the last attempt answers or raises")

    def wait(self) -> None:
        self._waiting.wait(POLL_S)

    def close(self) -> None:
        self._pool.clear()

    def _attempts(self) -> Iterator[bool]:
        """Yields for every attempt whether it is the last one, after a pause that doubles."""
        for attempt in range(self._attempts_max):
            if attempt:
                self._waiting.wait(min(PAUSE_S * 2 ** (attempt - 1), PAUSE_S_MAX))
            yield attempt == self._attempts_max - 1

    def _send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: dict[str, str],
        *,
        last: bool,
        signed_for: str = "dynamodb",
    ) -> tuple[int, bytes]:
        """Returns status and body; status 0 without an answer, if a retry may help. Raises Unreachable."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - slow to import
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from urllib3.exceptions import HTTPError, LocationValueError  # noqa: PLC0415

        url = self._url.rstrip("/") + path
        signed = AWSRequest(method, url, data=body, headers=headers)
        SigV4Auth(self._credentials.get_frozen_credentials(), signed_for, self._region).add_auth(signed)
        try:
            answer = self._pool.request(method, url, body=body, headers=dict(signed.headers.items()))
        except (HTTPError, LocationValueError, OSError) as error:
            if last or isinstance(error, LocationValueError):
                reason = error.__cause__ or error  # the system's text, without names of urllib3
                raise Unreachable(f"{self._url} does not answer: {reason}") from error
            return 0, b""
        return answer.status, answer.data


class Directory:
    """A data directory that no server has open, used in the caller's thread. Background work is done by
    `work` and `wait`."""

    threads = 1

    def __init__(
        self,
        path: Path | str,
        locations: Locations | None = None,
        *,
        region: str | None = None,
        checked: bool = False,
    ) -> None:
        """checked: check the constraints of requests, as a server does. An import without a server must not:
        its bucket is a directory, whose name may be none of a bucket.

        Raises StorageError when the directory cannot be used, Unreachable when its keys cannot.
        """
        from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - for data directories only
        from faradisc.database import Database, Settings  # noqa: PLC0415
        from faradisc.engine.backups.storage import BACKUPS_DIRECTORY, directory_backups  # noqa: PLC0415
        from faradisc.engine.encryption.services import of_environment  # noqa: PLC0415
        from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

        self.locations = locations
        self._checked = checked
        settings = Settings(transition_ms=0)
        self._region = region or settings.region
        backups = directory_backups(Path(path) / BACKUPS_DIRECTORY, blocking=False)
        try:
            keys = of_environment(path)
        except SealedFileError as error:
            raise Unreachable(str(error)) from None
        store = open_rocks(path, durability="inline")
        try:
            opening = Database.open(
                store,
                settings=settings,
                locations=locations,
                backup_storage=backups,
                keys=keys,
            )
            self.database = run(opening)
        except BaseException:
            run(store.close())
            raise

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        from faradisc.operations.call import Call  # noqa: PLC0415
        from faradisc.protocol.service_model import operation_of  # noqa: PLC0415
        from faradisc.protocol.shapes import CheckedShape  # noqa: PLC0415

        # A copy, because operations make the values of a request canonical in place.
        body = orjson.dumps(request)
        copied = orjson.loads(body)
        values_ok = False
        try:
            if self._checked:
                shape = CheckedShape(operation_of(f"DynamoDB_20120810.{operation}".encode()))
                values_ok = shape.check_request(copied, len(body), body, {}).values_ok
            call = Call(operation, copied, values_ok, self._region, self.database.account)
            answer = run(self.database.execute(call))
        except ApiError as error:
            raise RequestRejected(error.wire_name(), error.message or "") from None
        document: dict[str, Any] = orjson.loads(orjson.dumps(answer))
        return document

    def work(self) -> bool:
        """Does one step of the background jobs. Returns False when there was nothing to do."""
        return run(self.database.work())

    def wait(self) -> None:
        for _ in range(STEPS_PER_WAIT):
            if not self.work():
                return

    def close(self) -> None:
        run(self.database.close())
