"""Answers a boto3 client's requests without the network.

botocore emits `before-send` for every attempt of every request, signed and complete, and sends nothing when
a handler returns an answer. Everything else stays botocore's own: serialisation, signing, retries, the CRC
check, parsing, waiters, paginators. The alternative, replacing the endpoint's HTTP session, depends on
private attributes; stubbers have used this event for years.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from faradisc.protocol.http import CLOSED, WITHHELD, HttpRequest, HttpResponse

ENDPOINT_URL = "http://faradisc.invalid"
"""Never connected to: names under .invalid do not exist (RFC 6761)."""

_UNIQUE_ID = "faradisc-local"

Answer = Callable[[HttpRequest], HttpResponse]


def attach(client: Any, answer: Answer) -> None:
    """Routes all requests of a boto3 client to `answer`, in place of an earlier one."""

    def send(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return response_of(str(request.url), answer(request_of(request)))

    events = client.meta.events
    events.unregister("before-send", unique_id=_UNIQUE_ID)
    # First, so that it precedes stubbers of all clients. A handler for `before-send.dynamodb.<Operation>` is
    # more specific and precedes it: tests inject errors that way.
    events.register_first("before-send", send, unique_id=_UNIQUE_ID)


def request_of(request: AWSPreparedRequest) -> HttpRequest:
    """Returns botocore's prepared request in the front end's form."""
    parts = urlsplit(str(request.url))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # An HTTP library would add Host, which signatures cover.
    headers = {b"host": parts.netloc.encode()}
    for name, value in request.headers.items():
        headers[_bytes(name).lower()] = _bytes(value)
    return HttpRequest(str(request.method), target.encode(), headers, _body_of(request))


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _body_of(request: AWSPreparedRequest) -> bytes:
    body: Any = request.body
    if body is None:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    return bytes(_bytes(body))


def response_of(url: str, response: HttpResponse) -> AWSResponse:
    """Returns the front end's answer in the form of botocore's HTTP library.

    Raises ConnectionClosedError and ReadTimeoutError, as that does, for an answer that is lost.
    """
    if response is CLOSED:
        raise ConnectionClosedError(endpoint_url=url)
    if response is WITHHELD:
        raise ReadTimeoutError(endpoint_url=url)
    headers = {"Server": "Server", "Content-Length": str(len(response.body))}
    if response.content_type is not None:
        headers["Content-Type"] = response.content_type.decode()
    if response.request_id is not None:
        headers["x-amzn-RequestId"] = response.request_id.decode()
    if response.crc32 is not None:
        headers["x-amz-crc32"] = str(response.crc32)
    for name, value in response.extra:
        headers[name.decode()] = value.decode()
    return AWSResponse(url, response.status, headers, _Body(response.body))  # type: ignore[arg-type]


class _Body(io.BytesIO):
    """The part of urllib3's response that botocore uses: file methods and `stream`."""

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:
        while piece := self.read(amt):
            yield piece

    def release_conn(self) -> None:
        """Does nothing."""
