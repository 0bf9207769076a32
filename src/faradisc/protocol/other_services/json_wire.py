"""AWS JSON 1.0 and 1.1, DynamoDB's wire format too."""

from __future__ import annotations

from typing import Any

import orjson

from faradisc.errors import ApiError
from faradisc.protocol.body import read_object
from faradisc.protocol.http import Headers
from faradisc.protocol.service_model import Operation, Shape


class JsonWire:
    headers: Headers = ()

    def __init__(self, content_type: bytes) -> None:
        self.content_type = content_type
        """Of the request; the answer has the same."""

    def operation_in(self, body: bytes) -> str:
        return ""

    def read(self, body: bytes, shape: Shape) -> dict[str, Any]:
        return read_object(body or b"{}")

    def write(self, operation: Operation, members: dict[str, Any], request_id: str) -> bytes:
        return orjson.dumps(members)

    def write_error(self, error: ApiError, request_id: str) -> bytes:
        return orjson.dumps(error.body())
