"""Shard iterators: `<stream ARN>|1|<base64>`, a position in a shard that is valid for 15 minutes.

The base64 part has the position, the time of issue, and a keyed digest under the stream's own secret, so
iterators that are altered or belong to another stream are rejected. Iterators are valid after a restart.

Source of form and lifetime: streams.md section 4.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import blake2b
from struct import Struct

from faradisc.errors import ExpiredIteratorException, ValidationException
from faradisc.limits import SHARD_ITERATOR_LIFETIME_S
from faradisc.records import dataclass

_POSITION = Struct(">QQ")
_DIGEST_BYTES = 8
_SEPARATOR = "|1|"


@dataclass(frozen=True, slots=True)
class Iterator:
    """The position after log sequence `after` of one shard."""

    shard_id: str
    after: int


def issue(iterator: Iterator, arn: str, secret: str, now_ns: int) -> str:
    body = _POSITION.pack(iterator.after, now_ns // 1_000_000) + iterator.shard_id.encode()
    return f"{arn}{_SEPARATOR}{b64encode(_digest(body, arn, secret) + body).decode()}"


def arn_of(text: str) -> str:
    """Returns the stream ARN in the text of an iterator. Raises ValidationException."""
    arn, separator, _ = text.rpartition(_SEPARATOR)
    if not separator:
        raise invalid()
    return arn


def read(text: str, arn: str, secret: str, now_ns: int) -> Iterator:
    """Returns the position of an iterator. Raises: ValidationException, ExpiredIteratorException."""
    try:
        data = b64decode(text[len(arn) + len(_SEPARATOR) :], validate=True)
    except ValueError:
        raise invalid() from None
    digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if len(body) <= _POSITION.size or digest != _digest(body, arn, secret):
        raise invalid()
    after, issued_ms = _POSITION.unpack_from(body)
    if now_ns // 1_000_000 - issued_ms > SHARD_ITERATOR_LIFETIME_S * 1000:
        raise ExpiredIteratorException
    return Iterator(body[_POSITION.size :].decode(), after)


def invalid() -> ValidationException:
    return ValidationException("Invalid ShardIterator")


def _digest(body: bytes, arn: str, secret: str) -> bytes:
    return blake2b(body + arn.encode(), digest_size=_DIGEST_BYTES, key=bytes.fromhex(secret)).digest()
