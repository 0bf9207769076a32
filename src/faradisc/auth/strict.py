"""The authenticator that verifies: full Signature Version 4, with the keys of a keyring.

Checks, in this order (texts: errors.md section 5):

    1 completeness                        sigv4.py
    2 algorithm, and host among the signed headers
    3 scope: date, region, service, terminator, all errors in one text
    4 clock: 15 minutes either way; a presigned request may name its lifetime
    5 key id, session token, its expiry
    6 the signature, compared in constant time

A signature can be used again within its 15 minutes, as at the service: SDKs repeat a request whose answer is
lost. `X-Amz-Target` must be signed too, or a captured signature of a read could be sent as a delete with the
same members.

Cost. A client's Authorization header stays the same all day except for the signature at its end. All that
follows from the rest (key, scope, names of the signed headers) is cached as a `_Signer`. The values of the
signed headers stay the same for a second; the hashes up to the payload are cached as a `_HeaderHashes`. What
remains per request is the payload's SHA-256 and the ends of two more, all in C. Only right signatures are
cached, so requests without a key use no memory.
"""

from __future__ import annotations

import hmac
import re
from calendar import timegm
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from hashlib import sha256
from operator import itemgetter
from time import gmtime, strftime
from typing import Any, Final

from faradisc.auth.keys import AccessKey, Keyring
from faradisc.auth.signature import (
    ALGORITHM,
    TERMINATOR,
    Signing,
    canonical_request,
    signature_of,
    signing_key,
    string_to_sign,
)
from faradisc.auth.sigv4 import (
    DYNAMODB,
    Credential,
    Parts,
    SignedRequest,
    is_whole_before_signature,
    parts_of,
)
from faradisc.clock import Clock
from faradisc.errors import (
    ExpiredTokenException,
    IncompleteSignatureException,
    InvalidSignatureException,
    UnrecognizedClientException,
)
from faradisc.records import dataclass, replace

SKEW_MINUTES: Final = 15
_SKEW_S: Final = SKEW_MINUTES * 60
PRESIGNED_S_MAX: Final = 604_800
"""Longest lifetime of a presigned request: seven days, AWS's general limit."""

MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)
TOKEN_EXPIRED: Final = "The security token included in the request is expired"

_REFRESH_EVERY_NS: Final = 1_000_000_000
CACHED_HEADERS_MAX: Final = 1024
_SIGNATURE: Final = b"Signature="


@dataclass(slots=True, eq=False)
class _HeaderHashes:
    """Hashes of the signed headers' values, which are the same for one second and kind of request."""

    signed_s: int
    canonical: Any
    """SHA-256 of the canonical request, up to the payload's hash."""
    text: Any
    """SHA-256 inside the HMAC of the string to sign, up to the canonical request's hash."""


@dataclass(slots=True, eq=False)
class _Signer:
    """All that follows from an Authorization header without its signature."""

    credential: Credential
    token: bytes
    """The session token; b"" for a key without one."""
    expires_s: int | None
    date: bytes
    scope: bytes
    """`\n<scope>\n`, as in the string to sign."""
    signing: Signing
    values_of: Callable[[dict[bytes, bytes]], tuple[bytes, ...]]
    """Returns the signed headers' values in their order. Raises KeyError when one is missing."""
    unsigned: frozenset[bytes]
    """Unsigned headers that have a meaning; a request with one of them takes the slow path."""
    template: bytes
    """The canonical request up to the payload's hash, for `%` with the values."""
    header_hashes: dict[tuple[bytes, ...], _HeaderHashes]


class StrictAuthenticator:
    """Belongs to one thread, as the database does."""

    def __init__(self, keyring: Keyring, clock: Clock, *, region: str | None = None) -> None:
        """region: the only accepted one; None: any."""
        self._keyring = keyring
        self._clock = clock
        self._region = region
        self._signers: dict[bytes, _Signer] = {}
        self._generation = keyring.generation
        self._refresh_at_ns = 0

    def __call__(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        """Raises the errors that `sigv4.Authenticator` lists."""
        now_ns = self._clock.now_ns()
        keyring = self._keyring
        if now_ns >= self._refresh_at_ns:
            self._refresh_at_ns = now_ns + _REFRESH_EVERY_NS
            keyring.refresh()
        if keyring.generation != self._generation:
            self._generation = keyring.generation
            self._signers.clear()
        headers = request.headers
        header = headers.get(b"authorization")
        if header is not None and request.target == b"/":
            cut = header.rfind(_SIGNATURE)
            signer = self._signers.get(header[:cut]) if cut > 0 else None
            if signer is not None and request.method == "POST" and signer.credential.service == service:
                given = header[cut + len(_SIGNATURE) :]
                verdict = _verify_known(signer, request, given, now_ns // 1_000_000_000) if given else None
                if verdict is not None:
                    if not verdict:
                        raise InvalidSignatureException(MISMATCH)
                    return signer.credential
        return self._verify(request, service, header, now_ns)

    @property
    def cached_headers(self) -> int:
        """Number of Authorization headers whose verification is cached."""
        return len(self._signers)

    def _verify(self, request: SignedRequest, service: str, header: bytes | None, now_ns: int) -> Credential:
        headers = request.headers
        parts = parts_of(headers, request.target)
        _check_algorithm(parts)
        _check_signed_headers(parts, headers)
        timestamp = _timestamp(parts)
        _check_scope(parts, timestamp, self._region, service)
        _check_clock(parts, timestamp, now_ns // 1_000_000_000)
        token = _token(parts, headers)
        key = self._keyring.find(parts.credential.access_key_id, token)
        if key is None:
            raise UnrecognizedClientException
        _check_token(key, token, now_ns // 1_000_000_000)
        date, region, service, _ = parts.scope
        made = signing_key(key.secret, date, region, service)
        canonical = canonical_request(
            request.method,
            request.target,
            headers,
            parts.credential.signed_headers,
            sha256(request.body).hexdigest(),
        )
        expected = signature_of(made, string_to_sign(timestamp, "/".join(parts.scope), canonical))
        if not hmac.compare_digest(expected.encode(), parts.signature.encode()):
            raise InvalidSignatureException(MISMATCH)
        credential = replace(parts.credential, identity=key.identity)
        if header is not None and parts.query is None and is_whole_before_signature(header):
            self._cache(header, credential, parts, key, made)
        return credential

    def _cache(
        self, header: bytes, credential: Credential, parts: Parts, key: AccessKey, made: bytes
    ) -> None:
        """Caches a header whose signature was right."""
        names = credential.signed_headers
        if "x-amz-date" not in names or len(names) < 2 or any("%" in name for name in names):
            return
        lines = "".join(f"{name}:%b\n" for name in names)
        encoded = [name.encode("latin-1") for name in names]
        if len(self._signers) >= CACHED_HEADERS_MAX:
            self._signers.clear()
        self._signers[header[: header.rfind(_SIGNATURE)]] = _Signer(
            credential=credential,
            token=(key.token or "").encode(),
            expires_s=key.expires_s,
            date=credential.date.encode("latin-1"),
            scope=f"\n{'/'.join(parts.scope)}\n".encode("latin-1"),
            signing=Signing(made),
            values_of=itemgetter(*encoded),
            unsigned=_MEANINGFUL.difference(encoded),
            template=f"POST\n/\n\n{lines}\n{';'.join(names)}\n".encode("latin-1"),
            header_hashes={},
        )


def _verify_known(signer: _Signer, request: SignedRequest, given: bytes, now_s: int) -> bool | None:
    """Returns whether the signature is right; None when the slow path has to decide, or to word the error."""
    headers = request.headers
    try:
        values = signer.values_of(headers)
    except KeyError:
        return None
    found = signer.header_hashes.get(values)
    hashes = found or _hash_headers(signer, headers, values)
    if (
        hashes is None
        or not -_SKEW_S <= now_s - hashes.signed_s <= _SKEW_S
        or not headers.keys().isdisjoint(signer.unsigned)
        or (signer.expires_s is not None and now_s >= signer.expires_s)
    ):
        return None
    canonical = hashes.canonical.copy()
    canonical.update(sha256(request.body).hexdigest().encode())
    expected = signer.signing.finish(hashes.text, canonical.hexdigest().encode())
    if not hmac.compare_digest(expected.encode(), given):
        return False
    if found is None:
        if len(signer.header_hashes) >= _HEADER_HASHES_MAX:
            signer.header_hashes.clear()
        signer.header_hashes[values] = hashes
    return True


def _hash_headers(
    signer: _Signer, headers: dict[bytes, bytes], values: tuple[bytes, ...]
) -> _HeaderHashes | None:
    timestamp = headers[b"x-amz-date"]
    signed_s = _epoch_seconds(timestamp.decode("latin-1"))
    if signed_s is None or timestamp[:8] != signer.date:
        return None
    if not hmac.compare_digest(headers.get(b"x-amz-security-token", b""), signer.token):
        return None
    canonical = signer.template % values
    # Values are signed without spaces around them and with single ones inside; the slow path does that.
    if _ODD_SPACES.search(canonical):
        return None
    return _HeaderHashes(
        signed_s=signed_s,
        canonical=sha256(canonical),
        text=signer.signing.begin(ALGORITHM.encode() + b"\n" + timestamp + signer.scope),
    )


_ODD_SPACES: Final = re.compile(rb"  |: | \n|\t")
_MEANINGFUL: Final = frozenset({b"x-amz-security-token", b"x-amz-target", b"x-amz-content-sha256"})
_HEADER_HASHES_MAX: Final = 256


# --- The checks before the signature ---------------------------------------------------------------


def _check_algorithm(parts: Parts) -> None:
    if parts.algorithm != ALGORITHM:
        # Assumed: no capture.
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{parts.algorithm}'.")


def _check_signed_headers(parts: Parts, headers: Mapping[bytes, bytes]) -> None:
    names = parts.credential.signed_headers
    for header, name in (("Host", "host"), ("X-Amz-Target", "x-amz-target")):
        if name not in names and (name == "host" or name.encode() in headers):
            # Assumed: AWS's general text; no capture from DynamoDB.
            raise InvalidSignatureException(f"'{header}' must be a 'SignedHeader' in the AWS Authorization.")


def _timestamp(parts: Parts) -> str:
    """Returns the time of signing in ISO 8601's basic form. Raises IncompleteSignatureException."""
    text = parts.timestamp.strip()
    if _epoch_seconds(text) is not None:
        return text
    try:
        signed_s = timegm(parsedate_to_datetime(text).utctimetuple())
    except (ValueError, TypeError, IndexError, OverflowError):  # the parser's errors for invalid text
        # Assumed: AWS's general text; no capture from DynamoDB.
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{text}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None
    return _basic(signed_s)


def _check_scope(parts: Parts, timestamp: str, only_region: str | None, wanted: str) -> None:
    date, region, service, terminator = parts.scope
    problems = ""
    regions = (only_region, "us-east-1") if wanted in _GLOBAL else (only_region,)
    if not parts.credential.region or (only_region is not None and region not in regions):
        problems += f"Credential should be scoped to a valid region, not '{region}'. "
    if service != wanted:
        problems += f"Credential should be scoped to correct service: '{wanted}'. "
    if terminator != TERMINATOR:
        problems += (
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{terminator}'. "
        )
    if date != timestamp[:8]:
        problems += (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{date}' != '{timestamp[:8]}', from '{timestamp}'. "
        )
    if problems:
        raise InvalidSignatureException(problems)


_GLOBAL: Final = ("iam", "sts")
"""Services that clients sign for in us-east-1, whatever their region."""


def _check_clock(parts: Parts, timestamp: str, now_s: int) -> None:
    signed_s = _epoch_seconds(timestamp)
    assert signed_s is not None
    now = _basic(now_s)
    if signed_s > now_s + _SKEW_S:
        raise InvalidSignatureException(
            f"Signature not yet current: {timestamp} is still later than {_basic(now_s + _SKEW_S)} "
            f"({now} + {SKEW_MINUTES} min.)"
        )
    lifetime = _lifetime(parts)
    if lifetime is not None:
        if signed_s + lifetime < now_s:
            raise InvalidSignatureException(
                f"Signature expired: {now} is now later than {_basic(signed_s + lifetime)} "
                f"({timestamp} + {lifetime} s.)"
            )
    elif signed_s < now_s - _SKEW_S:
        raise InvalidSignatureException(
            f"Signature expired: {timestamp} is now earlier than {_basic(now_s - _SKEW_S)} "
            f"({now} - {SKEW_MINUTES} min.)"
        )


def _lifetime(parts: Parts) -> int | None:
    """Returns the seconds in X-Amz-Expires, if it is there. Raises IncompleteSignatureException."""
    if parts.query is None or "X-Amz-Expires" not in parts.query:
        return None
    text = parts.query["X-Amz-Expires"]
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= PRESIGNED_S_MAX):
        # Assumed: no capture.
        raise IncompleteSignatureException(
            f"X-Amz-Expires must be a number between 1 and {PRESIGNED_S_MAX}, not '{text}'."
        )
    return int(text)


def _token(parts: Parts, headers: Mapping[bytes, bytes]) -> str | None:
    if parts.query is not None and "X-Amz-Security-Token" in parts.query:
        return parts.query["X-Amz-Security-Token"]
    token = headers.get(b"x-amz-security-token")
    return None if token is None else token.decode("latin-1")


def _check_token(key: AccessKey, token: str | None, now_s: int) -> None:
    """Raises unless a temporary key has its token, and any other key none."""
    if (key.token is None) != (token is None):
        raise UnrecognizedClientException
    if (
        key.token is not None
        and token is not None
        and not hmac.compare_digest(key.token.encode(), token.encode())
    ):
        raise UnrecognizedClientException
    if key.expires_s is not None and now_s >= key.expires_s:
        raise ExpiredTokenException(TOKEN_EXPIRED)


# --- Times -----------------------------------------------------------------------------------------


def _epoch_seconds(text: str) -> int | None:
    """Returns the epoch seconds of `20260102T030405Z`; None for another form."""
    digits = text[:8] + text[9:15]
    if len(text) != 16 or text[8] != "T" or text[15] != "Z" or not (digits.isascii() and digits.isdigit()):
        return None
    year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
    hour, minute, second = int(text[9:11]), int(text[11:13]), int(text[13:15])
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60):
        return None
    return timegm((year, month, day, hour, minute, second))


def _basic(epoch_s: int) -> str:
    return strftime("%Y%m%dT%H%M%SZ", gmtime(epoch_s))
