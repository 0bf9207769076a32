"""Requests ready for the socket: built from an operation and its body, signed once, kept in a file.

Signing is the client's work, not the server's, so it happens before the clock starts. All servers of a run
get the same bytes, and so the same signed Host, whatever port they listen on; only a server that compares the
Host header with its own address would notice. A strict server refuses a signature 15 minutes after its date:
each workload's file is therefore signed right before that workload's rounds.
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

_signer = SigV4Auth(Credentials("faradiscbench", "faradiscbench"), "dynamodb", REGION)


def sign(operation: str, body: dict[str, Any]) -> bytes:
    """The whole HTTP/1.1 request, with the body encoded as boto3 does it. Costs about 0.1 ms."""
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
    """Write requests as replay.lua and `read_file` read them: a line with the length, then the bytes."""
    with path.open("wb") as file:
        for request in requests:
            file.write(b"%d\n" % len(request))
            file.write(request)


def read_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline():
            yield file.read(int(line))
