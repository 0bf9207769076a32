"""The parts of a Signature Version 4, from the Authorization header or from a presigned query.

Checks that a signature is complete, not that it is right. `lenient`, the default authenticator, does only
this; `strict.py` also verifies.

A client sends the same header again and again, except for the signature at its end. So the credential of a
complete header is cached by the header without its signature, and the next request costs a dict lookup.

Texts and their order: errors.md section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl

from faradisc.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from faradisc.records import dataclass, field

if TYPE_CHECKING:
    from faradisc.auth.identity import Identity

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
CACHED_HEADERS_MAX = 4096
CACHED_HEADER_BYTES_MAX = 1024
"""Together these limit the cache's memory, whatever clients send."""
_REGION = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


class SignedRequest(Protocol):
    """The parts of a request that a signature can cover; `protocol.http.HttpRequest` is one."""

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
    """Identifies the sender of a request, or rejects it."""

    def __call__(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        """Returns the credential of a request to the service with this signing name.

        Raises MissingAuthenticationTokenException, IncompleteSignatureException,
        InvalidSignatureException, UnrecognizedClientException, ExpiredTokenException.
        """


@dataclass(frozen=True, slots=True)
class Credential:
    """The signer and the scope: `<key id>/<date>/<region>/<service>/aws4_request`."""

    access_key_id: str
    date: str
    region: str
    """"" when the scope's region is not a name; the caller uses its own then."""
    service: str
    signed_headers: tuple[str, ...]
    """Lower-case names in the order given."""
    identity: Identity | None = field(default=None, repr=False)
    """Whose policies limit the request; None where the signer has all rights."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a signature, as sent."""

    algorithm: str
    credential: Credential
    scope: tuple[str, str, str, str]
    """Date, region, service and terminator, unchecked."""
    signature: str
    timestamp: str
    """X-Amz-Date, or else the Date header."""
    query: Mapping[str, str] | None
    """The parameters of a presigned request; None when the header signs."""


credential_cache: dict[bytes, Credential] = {}
"""Credentials of complete headers, by the header up to `Signature=`."""


def lenient(request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
    """Returns the credential of a request with any well-formed signature, for any service.

    Raises MissingAuthenticationTokenException, IncompleteSignatureException, InvalidSignatureException.
    """
    headers, target = request.headers, request.target
    header = headers.get(b"authorization")
    if header is not None:
        cut = header.rfind(_SIGNATURE)
        credential = credential_cache.get(header[:cut]) if cut > 0 else None
        if (
            credential is not None
            and len(header) > cut + len(_SIGNATURE)
            and (b"x-amz-date" in headers or b"date" in headers)
            and _QUESTION_MARK not in target
        ):
            return credential
    parts = parts_of(headers, target)
    if header is not None and parts.query is None and is_whole_before_signature(header):
        _cache(header, parts.credential)
    return parts.credential


def parts_of(headers: Mapping[bytes, bytes], target: bytes) -> Parts:
    """Returns the parts of a signature. Raises as `lenient` does."""
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
    problems = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        if not parameters.get(name)
    )
    timestamp = headers.get(b"x-amz-date") or headers.get(b"date")
    if not timestamp:
        problems += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if problems or not timestamp:
        raise IncompleteSignatureException(f"{problems}Authorization={text}")
    credential, scope = _credential(parameters["Credential"], parameters["SignedHeaders"])
    return Parts(algorithm, credential, scope, parameters["Signature"], timestamp.decode("latin-1"), None)


def _parameters(text: str) -> tuple[str, dict[str, str]]:
    """Returns algorithm and parameters of `AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., ...`."""
    algorithm, *rest = re.split(r"[, ]", text.strip())
    parameters = {}
    for part in rest:
        name, _, value = part.strip().partition("=")
        if name:
            parameters[name] = value
    return algorithm, parameters


def is_whole_before_signature(header: bytes) -> bool:
    """Whether the header up to its signature holds everything else, and is short enough to cache."""
    before = header[: header.rfind(_SIGNATURE)]
    if len(before) > CACHED_HEADER_BYTES_MAX:
        return False
    algorithm, parameters = _parameters(header.decode("latin-1"))
    parameters.pop("Signature", None)
    return _parameters(before.decode("latin-1")) == (algorithm, parameters)


def _cache(header: bytes, credential: Credential) -> None:
    if len(credential_cache) >= CACHED_HEADERS_MAX:
        credential_cache.clear()
    credential_cache[header[: header.rfind(_SIGNATURE)]] = credential


def _from_query(query: Mapping[str, str]) -> Parts:
    problems = "".join(
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not query.get(name)
    )
    if problems:
        raise IncompleteSignatureException(f"{problems}Re-examine the query-string parameters.")
    credential, scope = _credential(query["X-Amz-Credential"], query["X-Amz-SignedHeaders"])
    return Parts(
        query["X-Amz-Algorithm"], credential, scope, query["X-Amz-Signature"], query["X-Amz-Date"], query
    )


def _credential(text: str, signed_headers: str) -> tuple[Credential, tuple[str, str, str, str]]:
    """Splits a credential; a key id may contain slashes, the four parts of the scope may not."""
    parts = text.rsplit("/", 4)
    if len(parts) != 5 or not parts[0]:
        # Assumed: AWS's general text; no capture from DynamoDB.
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
