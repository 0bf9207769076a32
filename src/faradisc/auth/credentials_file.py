"""The file of access keys and identities: encrypted at rest, written atomically.

A sealed file (auth/sealed_file.py) whose entries are access keys:

    "keys": {<key id>: {"created_s": <epoch>, "expires_s": <epoch, only temporary keys>, "sealed": <sealed>}}
    "identities": <sealed JSON of auth/identities.py>, if there are any

`sealed` holds the JSON of secret and session token; the key id and the expiry are authenticated with it, so
entries can neither be swapped nor prolonged.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from faradisc.auth.identities import Identities
from faradisc.auth.keys import AccessKey
from faradisc.auth.sealed_file import FileKind, SealedFile, SealedFileError
from faradisc.auth.session_tokens import sealing_key
from faradisc.clock import Entropy

T = TypeVar("T")

KIND: Final = FileKind(
    "credentials file", "credentials", "faradisc credentials add", "FARADISC_CREDENTIALS_PASSPHRASE"
)
_BASE32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class CredentialsFile(SealedFile):
    """The keys of one file. Nothing is read before `load`."""

    def __init__(self, path: str | Path, environment: Mapping[str, str] = os.environ) -> None:
        super().__init__(path, KIND, environment)

    def load(self) -> dict[str, AccessKey]:
        """Returns every key of the account, decrypted, by id. Raises SealedFileError."""
        return self.contents()[0]

    def contents(self) -> tuple[dict[str, AccessKey], Identities, bytes]:
        """Returns the keys of the account by id, the identities, and the key that seals session tokens.

        Raises SealedFileError.
        """
        document, key = self.opened()
        keys = {}
        for key_id, entry in document["keys"].items():
            expires_s = entry.get("expires_s")
            opened = orjson.loads(self.open(key, _bound(key_id, expires_s), entry["sealed"]))
            keys[key_id] = AccessKey(key_id, opened["secret"], opened.get("token"), expires_s)
        return keys, self._identities(document, key), sealing_key(key)

    def _identities(self, document: dict[str, Any], key: bytes) -> Identities:
        if "identities" not in document:
            return Identities()
        return Identities.of(self.open(key, "identities", document["identities"]))

    def listed(self) -> list[tuple[str, int, int | None]]:
        """Returns (key id, creation, expiry) of every key, oldest first, without decrypting.

        Raises SealedFileError.
        """
        entries = self.read()["keys"].items()
        return [(key_id, entry["created_s"], entry.get("expires_s")) for key_id, entry in entries]

    def add(self, key: AccessKey, now_s: int, entropy: Entropy) -> None:
        """Adds a key, and creates a missing file. Raises SealedFileError, also for an existing key id."""

        def change(document: dict[str, Any], file_key: bytes) -> None:
            if key.key_id in document["keys"]:
                raise SealedFileError(f"The access key {key.key_id} exists already; revoke it first.")
            content = {"secret": key.secret}
            if key.token is not None:
                content["token"] = key.token
            entry: dict[str, Any] = {"created_s": now_s}
            if key.expires_s is not None:
                entry["expires_s"] = key.expires_s
            bound = _bound(key.key_id, key.expires_s)
            entry["sealed"] = self.seal(file_key, bound, orjson.dumps(content), entropy)
            document["keys"][key.key_id] = entry

        self.change(change, entropy)

    def revoke(self, key_id: str) -> None:
        """Removes a key. Raises SealedFileError when there is no such key."""

        def change(document: dict[str, Any], _: bytes) -> None:
            if document["keys"].pop(key_id, None) is None:
                raise SealedFileError(f"There is no access key {key_id} in {self.path}.")

        self.change(change, None)

    def change_identities(self, change: Callable[[Identities], T], entropy: Entropy) -> T:
        """Applies a change to the identities as they are in the file, which has to exist.

        Returns what `change` returns. Raises SealedFileError, and what `change` raises.
        """
        results: list[T] = []

        def replace(document: dict[str, Any], key: bytes) -> None:
            identities = self._identities(document, key)
            results.append(change(identities))
            document["identities"] = self.seal(key, "identities", identities.stored(), entropy)

        self.change(replace, None)
        return results[0]


def _bound(key_id: str, expires_s: int | None) -> str:
    """Returns the data that is authenticated together with an entry's content."""
    return f"key {key_id} {'' if expires_s is None else expires_s}"


# --- New keys --------------------------------------------------------------------------------------


def new_key(entropy: Entropy, *, expires_s: int | None = None) -> AccessKey:
    """Returns a random key in AWS's form: AKIA..., or ASIA... with a session token if it expires."""
    letters = bytes(_BASE32[byte & 31] for byte in entropy.token_bytes(16)).decode()
    secret = b64encode(entropy.token_bytes(30)).decode()
    if expires_s is None:
        return AccessKey("AKIA" + letters, secret)
    token = b64encode(entropy.token_bytes(96)).decode()
    return AccessKey("ASIA" + letters, secret, token, expires_s)
