"""Requests to a server as plain JSON: signed by botocore, sent over one connection."""

from __future__ import annotations

import http.client
import json
import os
from typing import Any

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError

from faradisc.addresses import completed, http_address
from faradisc.errors import RequestRejected, Unreachable

TIMEOUT_S = 60.0


class Requests:
    """One endpoint. Uses the environment's credentials and region, or made-up ones, which a server without
    verification accepts."""

    def __init__(self, url: str, region: str | None) -> None:
        """Raises Unreachable for an invalid address or incomplete credentials."""
        self._url = completed(url)
        try:
            parts = http_address(self._url)
        except ValueError as error:
            raise Unreachable(f"{error}.") from None
        secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = make(str(parts.hostname), parts.port or (443 if secure else 80), timeout=TIMEOUT_S)
        session = botocore.session.get_session()
        try:
            found = session.get_credentials() if os.environ.get("AWS_ACCESS_KEY_ID") else None
            self._region = region or session.get_config_variable("region") or "us-east-1"
        except BotoCoreError as error:
            raise Unreachable(f"{url} cannot be used with this environment: {error}.") from error
        self._credentials = found or Credentials("faradisc", "faradisc")

    async def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer of one operation. Never suspends. Raises RequestRejected, Unreachable."""
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        status, text = self._send("POST", "/", json.dumps(request).encode(), headers)
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise Unreachable(f"{self._url} answers {status}, but not like a database.") from error
        if status != 200:
            code = str(answer.get("__type", status)).rpartition("#")[2]
            raise RequestRejected(code, str(answer.get("message") or answer.get("Message") or ""))
        return dict(answer)

    def page(self, method: str, path: str) -> tuple[int, bytes]:
        """Returns (status, body) of an administration page. Raises Unreachable."""
        posted = method == "POST"
        headers = {"Content-Type": "application/json"} if posted else {}
        return self._send(method, path, b"{}" if posted else b"", headers)

    def close(self) -> None:
        self._connection.close()

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        signed = AWSRequest(method, self._url.rstrip("/") + path, data=body, headers=headers)
        SigV4Auth(self._credentials, "dynamodb", self._region).add_auth(signed)
        headers = dict(signed.headers.items())
        for attempt in (1, 2):
            try:
                self._connection.request(method, path, body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                # The server may have closed an idle connection; one more attempt opens a new one.
                if attempt == 2 or isinstance(error, ConnectionRefusedError):
                    raise Unreachable(f"{self._url} does not answer: {error}") from error
        raise AssertionError("the second attempt answers or raises")
