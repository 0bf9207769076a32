"""NextToken: where a statement goes on, for the same statement with the same parameters only.

    version     1 byte, 01
    request     8 bytes: digest of statement and parameters
    check       8 bytes: digest of all other bytes, so that a token that was changed is recognised
    position    the row key of the last evaluated item

in URL-safe base64. Nothing in it belongs to a process, so it works across restarts.

Source: expressions.md section 7 ("a token is bound to the statement and parameters"), errors.md section 8.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from hashlib import blake2b

import orjson

from faradisc.language.partiql import faults
from faradisc.model.values.attribute import AttributeValue

_VERSION = b"\x01"
_DIGEST_BYTES = 8
_REQUEST = slice(1, 1 + _DIGEST_BYTES)
_CHECK = slice(_REQUEST.stop, _REQUEST.stop + _DIGEST_BYTES)


def encode_token(statement: str, parameters: Sequence[AttributeValue], position: bytes) -> str:
    head = _VERSION + _request_digest(statement, parameters)
    return urlsafe_b64encode(head + _digest(head + position) + position).decode("ascii")


def decode_token(token: str, statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    """The position. Raises StatementError for a token that is none, or is another statement's."""
    try:
        data = urlsafe_b64decode(token.encode("ascii"))
    except (Base64Error, ValueError):
        raise faults.StatementError(faults.TOKEN_INVALID) from None
    position = data[_CHECK.stop :]
    canonical = urlsafe_b64encode(data).decode("ascii") == token
    if not canonical or data[:1] != _VERSION or data[_CHECK] != _digest(data[: _REQUEST.stop] + position):
        raise faults.StatementError(faults.TOKEN_INVALID)
    if data[_REQUEST] != _request_digest(statement, parameters):
        raise faults.StatementError(faults.TOKEN_MISMATCH)
    return position


def _request_digest(statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    return _digest(statement.encode() + b"\x00" + orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, person=b"faradisc-partiql").digest()
