"""Recognises requests to other AWS services: the service, the operation and the wire format.

    JSON     X-Amz-Target: <prefix>.<Operation>              boto3, AWS CLI, most SDKs
    CBOR     POST /service/<prefix>/operation/<Operation>    SDKs for Go, Java, JavaScript, Rust
    query    a form with Action and Version                  SDKs of before 2024

Source: botocore's serializers `json`, `smithy-rpc-v2-cbor` and `query`; its model of CloudWatch lists them.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from faradisc.protocol.http import HttpRequest
from faradisc.protocol.other_services.services import BY_PREFIX, CLOUDWATCH, OF_QUERIES, Service
from faradisc.records import dataclass

WireFormat = Literal["json", "cbor", "query"]

_JSON_TYPES: Final = (b"application/x-amz-json-1.0", b"application/x-amz-json-1.1", b"application/json")
_CBOR_PATH: Final = re.compile(rb"/service/([A-Za-z0-9]+)/operation/([A-Za-z0-9]+)", re.ASCII)
_FORM: Final = b"application/x-www-form-urlencoded"
_VERSIONS: Final = tuple((f"Version={each.api_version}".encode(), each) for each in OF_QUERIES)


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request to another AWS service."""

    service: Service
    operation: str
    """As the request names it, unchecked; "" where the form names it."""
    wire: WireFormat
    content_type: bytes
    """Without parameters."""


def service_request_of(request: HttpRequest) -> ServiceRequest | None:
    """Returns None for a request to DynamoDB, and for one to no service."""
    if request.method != "POST":
        return None
    headers = request.headers
    content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    path = request.target.partition(b"?")[0]
    if content_type in _JSON_TYPES:
        prefix, _, operation = headers.get(b"x-amz-target", b"").decode("latin-1").partition(".")
        service = BY_PREFIX.get(prefix)
        return None if service is None else ServiceRequest(service, operation, "json", content_type)
    if match := _CBOR_PATH.fullmatch(path):
        service = BY_PREFIX.get(match[1].decode())
        # A request without members may lack a body, and then the content type too.
        if service is not None and content_type in (b"application/cbor", b""):
            return ServiceRequest(service, match[2].decode(), "cbor", content_type)
    elif content_type == _FORM and path == b"/":
        service = _service_of(request)
        return None if service is None else ServiceRequest(service, "", "query", content_type)
    return None


def _service_of(request: HttpRequest) -> Service | None:
    """Returns the service that a form is for. A compressed form can be CloudWatch's: its clients compress."""
    if b"content-encoding" in request.headers:
        return CLOUDWATCH
    return next((service for version, service in _VERSIONS if version in request.body), None)
