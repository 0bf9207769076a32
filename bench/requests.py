"""Requests as bytes: built from an operation and its body, signed once, stored in a file.

Signing is work of the client, so it is done before the timing. All servers of a run get the same bytes, with
the same signed Host; none of them compares it with its own port. A strict server rejects a signature 15
minutes after its date, so each file is signed right before its rounds.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

HOST = "127.0.0.1:8000"
REGION = "us-east-1"
CONTENT_TYPE = "application/x-amz-json-1.0"

Operation = tuple[str, dict[str, Any]]
"""An operation's name and its request body, before encoding."""

KEY_ID = "faradiscbench"
"""Of the access key, and its secret too."""
_signer = SigV4Auth(Credentials(KEY_ID, KEY_ID), "dynamodb", REGION)


def sign(operation: str, body: dict[str, Any]) -> bytes:
    """Returns the whole HTTP/1.1 request, encoded as boto3 does it. Takes about 0.1 ms."""
    data = json.dumps(body).encode()
    request = AWSRequest(
        method="POST",
        url=f"http://{HOST}/",
        data=data,
        headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": f"DynamoDB_20120810.{operation}"},
    )
    _signer.add_auth(request)
    lines = [
        "POST / HTTP/1.1",
        f"Host: {HOST}",
        "User-Agent: faradisc-bench",
        "Accept-Encoding: identity",
        *(f"{name}: {value}" for name, value in request.headers.items()),
        f"Content-Length: {len(data)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def write_file(path: Path, requests: Iterable[bytes]) -> None:
    """Writes requests for replay.lua and `read_file`: a line with the length, then the bytes."""
    with path.open("wb") as file:
        for request in requests:
            file.write(b"%d\n" % len(request))
            file.write(request)


def read_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline():
            yield file.read(int(line))
