"""Access keys, and the keyring that an authenticator looks them up in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from faradisc.auth.identity import Identity
from faradisc.records import dataclass, field


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key id and its secret. A temporary key has a session token and an expiry."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    expires_s: int | None = None
    """Epoch seconds; None for a key that does not expire."""
    identity: Identity | None = field(default=None, repr=False)
    """The user or session whose key it is; None for one of the account's own, which has all rights."""


class Keyring(Protocol):
    """Holds access keys. `generation` changes whenever the result of an earlier `find` may have."""

    @property
    def generation(self) -> int: ...

    def refresh(self) -> None:
        """Looks for changes; called at most once a second."""

    def find(self, key_id: str, token: str | None = None) -> AccessKey | None:
        """token: the session token that came with the key id."""


class FixedKeyring:
    """Keys that never change, for tests and for programs that embed the front end."""

    def __init__(self, keys: Iterable[AccessKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self.generation = 0

    def refresh(self) -> None:
        """Does nothing."""

    def find(self, key_id: str, token: str | None = None) -> AccessKey | None:
        return self._keys.get(key_id)
