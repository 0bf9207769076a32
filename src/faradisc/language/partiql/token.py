"""NextToken: the position at which a statement continues, bound to the statement and its parameters.

Two numbers are one parameter if they have the same digits and the same scale: `1E2` and `1e+2`, not `100`.
A list or a map is never the parameter that it was.

    version     1 byte, 01
    request     8 bytes: digest of statement and parameters
    check       8 bytes: digest of all other bytes, which detects a changed token
    position    the row key of the last evaluated item

in URL-safe base64. It does not depend on the process, so it is valid after a restart.

Source: expressions.md section 7, errors.md section 8.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b

import orjson

from faradisc.language.partiql import errors
from faradisc.model.values.attribute import AttributeValue

_VERSION = b"\x01"
_DIGEST_BYTES = 8
_REQUEST = slice(1, 1 + _DIGEST_BYTES)
_CHECK = slice(_REQUEST.stop, _REQUEST.stop + _DIGEST_BYTES)


def encode_token(statement: str, parameters: Sequence[AttributeValue], position: bytes) -> str:
    head = _VERSION + _request_digest(statement, parameters)
    return urlsafe_b64encode(head + _digest(head + position) + position).decode("ascii")


def decode_token(token: str, statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    """Returns the position. Raises StatementError for an invalid token and for one of another statement.

    Requires: numbers as they were sent, sets canonical.
    """
    try:
        data = urlsafe_b64decode(token.encode("ascii"))
    except (Base64Error, ValueError):
        raise errors.StatementError(errors.TOKEN_INVALID) from None
    position = data[_CHECK.stop :]
    canonical = urlsafe_b64encode(data).decode("ascii") == token
    if not canonical or data[:1] != _VERSION or data[_CHECK] != _digest(data[: _REQUEST.stop] + position):
        raise errors.StatementError(errors.TOKEN_INVALID)
    changes = any("L" in parameter or "M" in parameter for parameter in parameters)
    if changes or data[_REQUEST] != _request_digest(statement, parameters):
        raise errors.StatementError(errors.TOKEN_MISMATCH)
    return position


def _request_digest(statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    spelled = [_number(value["N"]) if "N" in value else value for value in parameters]
    return _digest(statement.encode() + b"\x00" + orjson.dumps(spelled, option=orjson.OPT_SORT_KEYS))


def _number(text: str) -> list[object]:
    """Returns the sign, the digits and the exponent of a number; zero has no sign."""
    number = Decimal(text).as_tuple()
    return [number.sign if any(number.digits) else 0, number.digits, number.exponent]


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, person=b"faradisc-partiql").digest()
