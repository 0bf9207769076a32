"""The parts of a Signature Version 4, from the Authorization header or from a presigned query.

Whether the signature is right is not asked here, only whether everything of it is there. `lenient`, the
default way to authenticate, stops at that; `strict.py` goes on and verifies.

A client sends the same header again and again, except for the signature at its end. So a header that was
found whole is remembered without its signature, and the next one costs a dict lookup.

Texts and their order: errors.md section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl

from faradisc.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

DYNAMODB = "dynamodb"
"""The signing name of the service."""

_SIGNATURE = b"Signature="
_QUESTION_MARK = ord("?")
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_REMEMBERED_MAX = 4096
_REMEMBERED_BYTES_MAX = 1024
"""Of one header. Both bounds together keep strangers from filling the memory."""
_REGION = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


class SignedRequest(Protocol):
    """What of a request a signature can cover; `protocol.http.HttpRequest` is one."""

    @property
    def method(self) -> str: ...

    @property
    def target(self) -> bytes:
        """Path and query as sent."""

    @property
    def headers(self) -> dict[bytes, bytes]:
        """By lower-case name."""

    @property
    def body(self) -> bytes:
        """As sent, not decompressed."""


class Authenticator(Protocol):
    """Says who sent a request, or refuses it."""

    def __call__(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        """`service`: the signing name of the one that the request is for.

        Raises: MissingAuthenticationTokenException, IncompleteSignatureException,
        InvalidSignatureException, UnrecognizedClientException, ExpiredTokenException."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Who signed, and for what: `<key id>/<date>/<region>/<service>/aws4_request`."""

    access_key_id: str
    date: str
    region: str
    """"" when the scope's region is no name; the caller puts its own."""
    service: str
    signed_headers: tuple[str, ...]
    """Lower-case names in the order given."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a request says of its signature, as sent."""

    algorithm: str
    credential: Credential
    scope: tuple[str, str, str, str]
    """Date, region, service and terminator, unchecked."""
    signature: str
    timestamp: str
    """X-Amz-Date, or else the Date header."""
    query: Mapping[str, str] | None
    """The parameters of a presigned request; None when the header signs."""


_remembered: dict[bytes, Credential] = {}


def lenient(request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
    """The authenticator that takes any well-formed signature, whatever service it names."""
    return credential_of(request.headers, request.target)


def credential_of(headers: Mapping[bytes, bytes], target: bytes) -> Credential:
    """Who sent a request with these (lower-case) headers to this request target.

    Raises: MissingAuthenticationTokenException, IncompleteSignatureException, InvalidSignatureException.
    """
    header = headers.get(b"authorization")
    if header is not None:
        cut = header.rfind(_SIGNATURE)
        credential = _remembered.get(header[:cut]) if cut > 0 else None
        if (
            credential is not None
            and len(header) > cut + len(_SIGNATURE)
            and (b"x-amz-date" in headers or b"date" in headers)
            and _QUESTION_MARK not in target
        ):
            return credential
    parts = parts_of(headers, target)
    if header is not None and parts.query is None and is_whole_before_signature(header):
        _remember(header, parts.credential)
    return parts.credential


def parts_of(headers: Mapping[bytes, bytes], target: bytes) -> Parts:
    """Raises as `credential_of` does."""
    header = headers.get(b"authorization")
    query = _query_of(target)
    in_query = "X-Amz-Algorithm" in query
    if header and in_query:
        raise InvalidSignatureException(
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        )
    if in_query:
        return _from_query(query)
    if not header or not header.strip().startswith(b"AWS4-"):
        raise MissingAuthenticationTokenException
    return _from_header(header, headers)


def _query_of(target: bytes) -> dict[str, str]:
    _, mark, query = target.partition(b"?")
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)) if mark else {}


def _from_header(header: bytes, headers: Mapping[bytes, bytes]) -> Parts:
    text = header.decode("latin-1")
    algorithm, parameters = _parameters(text)
    complaint = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        if not parameters.get(name)
    )
    timestamp = headers.get(b"x-amz-date") or headers.get(b"date")
    if not timestamp:
        complaint += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if complaint or not timestamp:
        raise IncompleteSignatureException(f"{complaint}Authorization={text}")
    credential, scope = _credential(parameters["Credential"], parameters["SignedHeaders"])
    return Parts(algorithm, credential, scope, parameters["Signature"], timestamp.decode("latin-1"), None)


def _parameters(text: str) -> tuple[str, dict[str, str]]:
    """`AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...`: its first word and the rest."""
    algorithm, *rest = re.split(r"[, ]", text.strip())
    parameters = {}
    for part in rest:
        name, _, value = part.strip().partition("=")
        if name:
            parameters[name] = value
    return algorithm, parameters


def is_whole_before_signature(header: bytes) -> bool:
    """Whether what stands before the signature names everything else, and is short enough to keep."""
    before = header[: header.rfind(_SIGNATURE)]
    if len(before) > _REMEMBERED_BYTES_MAX:
        return False
    algorithm, parameters = _parameters(header.decode("latin-1"))
    parameters.pop("Signature", None)
    return _parameters(before.decode("latin-1")) == (algorithm, parameters)


def _remember(header: bytes, credential: Credential) -> None:
    if len(_remembered) >= _REMEMBERED_MAX:
        _remembered.clear()
    _remembered[header[: header.rfind(_SIGNATURE)]] = credential


def _from_query(query: Mapping[str, str]) -> Parts:
    complaint = "".join(
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not query.get(name)
    )
    if complaint:
        raise IncompleteSignatureException(f"{complaint}Re-examine the query-string parameters.")
    credential, scope = _credential(query["X-Amz-Credential"], query["X-Amz-SignedHeaders"])
    return Parts(
        query["X-Amz-Algorithm"], credential, scope, query["X-Amz-Signature"], query["X-Amz-Date"], query
    )


def _credential(text: str, signed_headers: str) -> tuple[Credential, tuple[str, str, str, str]]:
    """A key id may hold slashes; the four parts of the scope may not."""
    parts = text.rsplit("/", 4)
    if len(parts) != 5 or not parts[0]:
        # Assumed: AWS's general words for this; no capture from DynamoDB.
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{text}'"
        )
    key_id, date, region, service, terminator = parts
    credential = Credential(
        access_key_id=key_id,
        date=date,
        region=region if _REGION.fullmatch(region) else "",
        service=service,
        signed_headers=tuple(signed_headers.lower().split(";")),
    )
    return credential, (date, region, service, terminator)
