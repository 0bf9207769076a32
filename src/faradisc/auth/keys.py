"""Access keys, and the ring of them that an authenticator asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AccessKey:
    """One pair of key id and secret. A temporary one has a session token and an end."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    expires_s: int | None = None
    """Epoch seconds; None for a key that lasts until it is revoked."""


class Keyring(Protocol):
    """Where an authenticator finds keys. `generation` changes whenever an earlier answer may be outdated."""

    @property
    def generation(self) -> int: ...

    def refresh(self) -> None:
        """See whether something has changed. Called at most once a second."""

    def find(self, key_id: str) -> AccessKey | None: ...


class FixedKeyring:
    """Keys that are given once; for tests and for whoever embeds the front end."""

    def __init__(self, keys: Iterable[AccessKey]) -> None:
        self._keys = {key.key_id: key for key in keys}
        self.generation = 0

    def refresh(self) -> None:
        """Nothing ever changes."""

    def find(self, key_id: str) -> AccessKey | None:
        return self._keys.get(key_id)
