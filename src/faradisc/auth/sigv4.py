"""The parts of a Signature Version 4, from the Authorization header or from a presigned query.

Lenient: whether the signature is right is not asked here, only whether everything of it is there. The access
key id and the scope come out. `signature.py` computes what a signature should have been.

A client sends the same header again and again, except for the signature at its end. So a header that was
found whole is remembered without its signature, and the next one costs a dict lookup.

Texts and their order: errors.md section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from faradisc.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

_SIGNATURE = b"Signature="
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


_remembered: dict[bytes, Credential] = {}


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
            and b"?" not in target
        ):
            return credential
    return _examine(header, headers, target)


def _examine(header: bytes | None, headers: Mapping[bytes, bytes], target: bytes) -> Credential:
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


def _from_header(header: bytes, headers: Mapping[bytes, bytes]) -> Credential:
    text = header.decode("latin-1")
    parameters = _parameters(text)
    complaint = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in _HEADER_PARAMETERS
        if not parameters.get(name)
    )
    if not headers.get(b"x-amz-date") and not headers.get(b"date"):
        complaint += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if complaint:
        raise IncompleteSignatureException(f"{complaint}Authorization={text}")
    credential = _credential(parameters["Credential"], parameters["SignedHeaders"])
    _remember(header, parameters, credential)
    return credential


def _parameters(text: str) -> dict[str, str]:
    """`AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...` without its first word."""
    parameters = {}
    for part in re.split(r"[, ]", text.strip())[1:]:
        name, _, value = part.strip().partition("=")
        if name:
            parameters[name] = value
    return parameters


def _remember(header: bytes, parameters: dict[str, str], credential: Credential) -> None:
    """Keep a header by what stands before its signature, if everything else stands there."""
    before = header[: header.rfind(_SIGNATURE)]
    if len(before) > _REMEMBERED_BYTES_MAX:
        return
    if _parameters(before.decode("latin-1")) != {
        name: value for name, value in parameters.items() if name != "Signature"
    }:
        return
    if len(_remembered) >= _REMEMBERED_MAX:
        _remembered.clear()
    _remembered[before] = credential


def _from_query(query: dict[str, str]) -> Credential:
    complaint = "".join(
        f"AWS query-string parameters must include '{name}'. "
        for name in _QUERY_PARAMETERS
        if not query.get(name)
    )
    if complaint:
        raise IncompleteSignatureException(f"{complaint}Re-examine the query-string parameters.")
    return _credential(query["X-Amz-Credential"], query["X-Amz-SignedHeaders"])


def _credential(text: str, signed_headers: str) -> Credential:
    """A key id may hold slashes; the four parts of the scope may not."""
    parts = text.rsplit("/", 4)
    if len(parts) != 5 or not parts[0]:
        # Assumed: AWS's general words for this; no capture from DynamoDB.
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{text}'"
        )
    key_id, date, region, service, _terminator = parts
    return Credential(
        access_key_id=key_id,
        date=date,
        region=region if _REGION.fullmatch(region) else "",
        service=service,
        signed_headers=tuple(signed_headers.lower().split(";")),
    )
