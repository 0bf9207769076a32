"""Shard iterators: `<stream ARN>|1|<base64>`, a place in a shard that is good for 15 minutes.

The base64 part holds the place, when it was issued, and a seal under the stream's own secret, so that an
iterator that was altered, or moved to another stream, is refused. Iterators survive a restart.

Source of form and lifetime: streams.md section 4.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct

from faradisc.errors import ExpiredIteratorException, ValidationException
from faradisc.limits import SHARD_ITERATOR_LIFETIME_S

_PLACE = Struct(">QQ")
_SEAL_BYTES = 8
_SEPARATOR = "|1|"


@dataclass(frozen=True, slots=True)
class Iterator:
    """The place behind log sequence `after` of one shard."""

    shard_id: str
    after: int


def issue(iterator: Iterator, arn: str, secret: str, now_ns: int) -> str:
    body = _PLACE.pack(iterator.after, now_ns // 1_000_000) + iterator.shard_id.encode()
    return f"{arn}{_SEPARATOR}{b64encode(_seal(body, arn, secret) + body).decode()}"


def arn_of(text: str) -> str:
    """The ARN of the stream that an iterator says it belongs to. Raises ValidationException."""
    arn, separator, _ = text.rpartition(_SEPARATOR)
    if not separator:
        raise invalid()
    return arn


def read(text: str, arn: str, secret: str, now_ns: int) -> Iterator:
    """Raises: ValidationException, ExpiredIteratorException."""
    try:
        sealed = b64decode(text[len(arn) + len(_SEPARATOR) :], validate=True)
    except ValueError:
        raise invalid() from None
    seal, body = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    if len(body) <= _PLACE.size or seal != _seal(body, arn, secret):
        raise invalid()
    after, issued_ms = _PLACE.unpack_from(body)
    if now_ns // 1_000_000 - issued_ms > SHARD_ITERATOR_LIFETIME_S * 1000:
        raise ExpiredIteratorException
    return Iterator(body[_PLACE.size :].decode(), after)


def invalid() -> ValidationException:
    return ValidationException("Invalid ShardIterator")


def _seal(body: bytes, arn: str, secret: str) -> bytes:
    return blake2b(body + arn.encode(), digest_size=_SEAL_BYTES, key=bytes.fromhex(secret)).digest()
