"""Session tokens of temporary credentials: the session itself, sealed, so that no server has to store it.

A token is base64url of nonce (12 bytes) and AES-256-GCM ciphertext of a `Session` in JSON, authenticated with
its key id. The sealing key follows from that of the credentials file: all servers with the file accept the
token, and with another file none does.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, Literal

import orjson

from faradisc.clock import Entropy
from faradisc.records import dataclass, field

_NONCE_BYTES: Final = 12
TOKEN_CHARACTERS_MAX: Final = 16_384
"""Longer ones are not tried; a request's head has room for it."""


@dataclass(frozen=True, slots=True)
class RoleSession:
    secret: str = field(repr=False)
    kind: Literal["account", "user", "role"]
    """Whose: of GetSessionToken the account or a user, of AssumeRole a role."""
    issued_s: int
    expires_s: int
    holder: str = ""
    """Key of the user or role in `Identities`."""
    holder_id: str = ""
    """The session ends when there is another one, or none."""
    name: str = ""
    """Of a role's session."""
    policies: tuple[str, ...] | None = None
    """Documents of session policies; None if it was given none, neither here nor as ARNs."""
    policy_arns: tuple[str, ...] = ()
    tags: dict[str, str] = field(default_factory=dict)
    transitive: tuple[str, ...] = ()
    """Keys of tags that a session of another role inherits."""
    source_identity: str = ""
    origin: str = ""
    """Who asked for the first session of a chain: an access key of the account, with which the session ends,
    or the ARN of a user. Rates count it too."""


def sealing_key(file_key: bytes) -> bytes:
    return hmac.digest(file_key, b"session tokens", "sha256")


def seal(session: RoleSession, key_id: str, key: bytes, entropy: Entropy) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow to import

    nonce = entropy.token_bytes(_NONCE_BYTES)
    return urlsafe_b64encode(
        nonce + AESGCM(key).encrypt(nonce, orjson.dumps(session), key_id.encode())
    ).decode()


def unseal(token: str, key_id: str, key: bytes) -> RoleSession | None:
    """Returns the session of a token; None for a token that was not sealed for this key id with this key."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    if len(token) > TOKEN_CHARACTERS_MAX:
        return None
    try:
        raw = urlsafe_b64decode(token)
        opened = AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], key_id.encode())
    except (InvalidTag, ValueError):
        return None
    return RoleSession(**orjson.loads(opened))
