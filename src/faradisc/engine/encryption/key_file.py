"""Master keys in a file of this server, made and changed by `faradisc keys`.

A sealed file (auth/sealed_file.py) whose entries are keys:

    "keys": {<key id>: {"arn": ..., "created_s": <epoch>, "description": ..., "aliases": ["alias/..."],
                        "state": "Enabled" or "Disabled",
                        "deletion_s": <epoch; only of a key whose deletion is scheduled>,
                        "versions": [<sealed 32 bytes>, ...]}}

Rotation adds a version; the last one wraps, the earlier ones unwrap. A deleted key leaves nothing. A wrapped
data key is the number of the version (2 bytes), a nonce (12) and AES-256-GCM over the key, with the key id
and the encryption context authenticated.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from faradisc.auth.sealed_file import FileKind, SealedFile, SealedFileError
from faradisc.clock import Clock, Entropy
from faradisc.engine.encryption.key_service import (
    DATA_KEY_BYTES,
    MANAGED_ALIAS,
    KeyRefused,
    KeyServiceUnreachable,
    not_found,
)

log = logging.getLogger("faradisc.engine.encryption")

KIND: Final = FileKind("key file", "keys", "faradisc keys create", "FARADISC_KEYS_PASSPHRASE")
ALIAS: Final = re.compile(r"alias/[A-Za-z0-9/_-]{1,250}")
_VERSION_BYTES: Final = 2
_NONCE_BYTES: Final = 12


class KeyFile(SealedFile):
    """The file, for `faradisc keys`. All methods raise SealedFileError."""

    def __init__(self, path: str | Path, environment: Mapping[str, str] = os.environ) -> None:
        super().__init__(path, KIND, environment)

    def create(
        self, now_s: int, entropy: Entropy, *, region: str, account: str, description: str = ""
    ) -> dict[str, Any]:
        """Adds a key, and creates a missing file with the key of `MANAGED_ALIAS`. Returns the new entry."""
        made: dict[str, Any] = {}

        def change(document: dict[str, Any], file_key: bytes) -> None:
            nonlocal made
            if not document["keys"]:
                self._add(document, file_key, managed_entry(now_s, entropy, region, account), entropy)
            made = new_entry(now_s, entropy, (region, account), description)
            self._add(document, file_key, made, entropy)

        self.change(change, entropy)
        return made

    def create_managed(self, now_s: int, entropy: Entropy, *, region: str, account: str) -> None:
        """Creates a missing file with the key of `MANAGED_ALIAS`, and no other one."""

        def change(document: dict[str, Any], file_key: bytes) -> None:
            if not document["keys"]:
                self._add(document, file_key, managed_entry(now_s, entropy, region, account), entropy)

        self.change(change, entropy)

    def _add(
        self, document: dict[str, Any], file_key: bytes, entry: dict[str, Any], entropy: Entropy
    ) -> None:
        key_id = entry["arn"].rpartition("/")[2]
        document["keys"][key_id] = entry
        self._add_version(key_id, entry, file_key, entropy)

    def _add_version(self, key_id: str, entry: dict[str, Any], file_key: bytes, entropy: Entropy) -> None:
        material = entropy.token_bytes(DATA_KEY_BYTES)
        entry["versions"].append(
            self.seal(file_key, _bound(key_id, len(entry["versions"])), material, entropy)
        )

    def change_key(self, name: str, now_s: int, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Applies a change to the entry of a key; purges keys whose deletion is due. Returns the entry."""
        found: dict[str, Any] = {}

        def apply(document: dict[str, Any], _: bytes) -> None:
            nonlocal found
            _purge(document, now_s)
            found = find_entry(document, name)[1]
            change(found)

        self.change(apply, None)
        return found

    def rotate(self, name: str, now_s: int, entropy: Entropy) -> dict[str, Any]:
        """Adds a version to a key. Returns its entry."""
        found: dict[str, Any] = {}

        def apply(document: dict[str, Any], file_key: bytes) -> None:
            nonlocal found
            _purge(document, now_s)
            key_id, found = find_entry(document, name)
            self._add_version(key_id, found, file_key, entropy)

        self.change(apply, None)
        return found

    def set_alias(self, alias: str, name: str, now_s: int) -> None:
        """Makes an alias name a key, and no other one."""

        def apply(document: dict[str, Any], _: bytes) -> None:
            _purge(document, now_s)
            entry = find_entry(document, name)[1]
            for each in document["keys"].values():
                each["aliases"] = [known for known in each["aliases"] if known != alias]
            entry["aliases"].append(alias)

        self.change(apply, None)

    def delete(self, name: str, now_s: int) -> None:
        """Deletes a key at once: what it wraps can never be opened again."""

        def apply(document: dict[str, Any], _: bytes) -> None:
            _purge(document, now_s)
            del document["keys"][find_entry(document, name)[0]]

        self.change(apply, None)

    def purge(self, now_s: int) -> None:
        """Deletes the keys whose scheduled deletion is due."""
        self.change(lambda document, _: _purge(document, now_s), None)

    def copy_to(self, other: KeyFile, entropy: Entropy) -> None:
        """Adds all keys to another file, which may be missing, sealed with that file's own key."""
        keys = self.load()

        def change(document: dict[str, Any], file_key: bytes) -> None:
            for key_id, key in keys.items():
                sealed = [
                    self.seal(file_key, _bound(key_id, number), material, entropy)
                    for number, material in enumerate(key.versions)
                ]
                document["keys"][key_id] = {**key.entry, "versions": sealed}

        other.change(change, entropy)

    def load(self) -> dict[str, _Key]:
        """Returns every key by id."""
        document, file_key = self.opened()
        return {
            key_id: _Key(
                key_id,
                entry,
                [
                    self.open(file_key, _bound(key_id, number), sealed)
                    for number, sealed in enumerate(entry["versions"])
                ],
            )
            for key_id, entry in document["keys"].items()
        }


def new_entry(
    now_s: int, entropy: Entropy, where: tuple[str, str], description: str, aliases: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns the entry of a new key, without a version. where: region and account."""
    region, account = where
    return {
        "arn": f"arn:aws:kms:{region}:{account}:key/{entropy.uuid()}",
        "created_s": now_s,
        "description": description,
        "aliases": [*aliases],
        "state": "Enabled",
        "versions": [],
    }


def managed_entry(now_s: int, entropy: Entropy, region: str, account: str) -> dict[str, Any]:
    return new_entry(now_s, entropy, (region, account), "Default key of tables", [MANAGED_ALIAS])


class KeysInMemory:
    """In place of a key file: one key, of `MANAGED_ALIAS`, once it is made."""

    path = "memory"

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}

    def state(self) -> tuple[int, int, int] | None:
        return (0, 0, 0) if self._keys else None

    def create_managed(self, now_s: int, entropy: Entropy, *, region: str, account: str) -> None:
        if not self._keys:
            entry = managed_entry(now_s, entropy, region, account)
            key_id = entry["arn"].rpartition("/")[2]
            self._keys = {key_id: _Key(key_id, entry, [entropy.token_bytes(DATA_KEY_BYTES)])}

    def load(self) -> dict[str, _Key]:
        return self._keys

    def purge(self, now_s: int) -> None:
        """Nothing is scheduled."""


class _Key:
    """A key in memory."""

    __slots__ = ("entry", "key_id", "versions")

    def __init__(self, key_id: str, entry: Mapping[str, Any], versions: list[bytes]) -> None:
        self.key_id = key_id
        self.entry = entry
        self.versions = versions


def _bound(key_id: str, version: int) -> str:
    return f"master key {key_id} {version}"


def find_entry(document: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """Returns id and entry of a key named by id, alias, or the ARN of either. Raises SealedFileError."""
    for key_id, entry in document["keys"].items():
        if _is_named(key_id, entry, name):
            return key_id, entry
    raise SealedFileError(f"There is no key {name}.")


def _is_named(key_id: str, entry: Mapping[str, Any], name: str) -> bool:
    prefix = entry["arn"].removesuffix(f"key/{key_id}")
    return name in (key_id, entry["arn"], *entry["aliases"], *(prefix + each for each in entry["aliases"]))


def _purge(document: dict[str, Any], now_s: int) -> None:
    for key_id, entry in list(document["keys"].items()):
        if entry.get("deletion_s", now_s + 1) <= now_s:
            del document["keys"][key_id]


class FileKeyService:
    """A KeyService over a key file, which is read again when it changes.

    When the file can no longer be read, no key can be used.
    """

    blocking = False

    def __init__(self, file: KeyFile | KeysInMemory, clock: Clock, entropy: Entropy) -> None:
        """Raises SealedFileError when the file cannot be read."""
        self._file = file
        self._clock = clock
        self._entropy = entropy
        self._seen = file.state()
        self._keys = file.load()
        self._failure = ""

    def changed(self) -> bool:
        self._purge()
        state = self._file.state()
        if state == self._seen:
            return False
        self._seen = state
        try:
            self._keys, self._failure = self._file.load(), ""
        except (SealedFileError, KeyError, TypeError, ValueError) as error:
            self._keys, self._failure = {}, str(error)
            log.error("the keys of tables cannot be used: %s", error)
        else:
            log.warning("read %s again: %d keys", self._file.path, len(self._keys))
        return True

    def _purge(self) -> None:
        """Deletes the keys that are due. A file that cannot be written waits for the next command."""
        now_s = self._now_s()
        due = [each for each in self._keys.values() if each.entry.get("deletion_s", now_s + 1) <= now_s]
        if due:
            with contextlib.suppress(SealedFileError):
                self._file.purge(now_s)

    def _now_s(self) -> int:
        return self._clock.now_ns() // 1_000_000_000

    def resolve(self, name: str, region: str) -> str:
        if self._failure:
            raise KeyServiceUnreachable(self._failure)
        for key in self._keys.values():
            if _is_named(key.key_id, key.entry, name):
                arn: str = self._usable(key.entry["arn"]).entry["arn"]
                return arn
        account = next((each.entry["arn"].split(":")[4] for each in self._keys.values()), "")
        if "alias/" in name and account:
            alias = name if name.startswith("arn:") else f"arn:aws:kms:{region}:{account}:{name}"
            raise KeyRefused("NotFoundException", f"Alias {alias} is not found.")
        raise not_found(name, account)

    def has(self, arn: str) -> bool:
        return arn.rpartition("/")[2] in self._keys

    def _usable(self, arn: str) -> _Key:
        if self._failure:
            raise KeyServiceUnreachable(self._failure)
        key = self._keys.get(arn.rpartition("/")[2])
        if key is None or key.entry["arn"] != arn:
            raise not_found()
        if "deletion_s" in key.entry:
            raise KeyRefused("KMSInvalidStateException", f"{arn} is pending deletion.")
        if key.entry["state"] != "Enabled":
            raise KeyRefused("DisabledException", f"{arn} is disabled.")
        return key

    def generate(self, arn: str, context: dict[str, str]) -> tuple[bytes, bytes]:
        key = self._entropy.token_bytes(DATA_KEY_BYTES)
        return key, self.wrap(arn, key, context)

    def wrap(self, arn: str, key: bytes, context: dict[str, str]) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms at start

        master = self._usable(arn)
        number = len(master.versions) - 1
        nonce = self._entropy.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(master.versions[number]).encrypt(nonce, key, _authenticated(master, context))
        return number.to_bytes(_VERSION_BYTES, "big") + nonce + sealed

    def unwrap(self, arn: str, wrapped: bytes, context: dict[str, str]) -> bytes:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        master = self._usable(arn)
        number, begin = _version_of(wrapped), _VERSION_BYTES + _NONCE_BYTES
        try:
            opened: bytes = AESGCM(master.versions[number]).decrypt(
                wrapped[_VERSION_BYTES:begin], wrapped[begin:], _authenticated(master, context)
            )
        except (InvalidTag, IndexError, ValueError):
            raise KeyRefused("InvalidCiphertextException", "The wrapped data key was changed.") from None
        return opened

    def is_outdated(self, arn: str, wrapped: bytes) -> bool:
        key = self._keys.get(arn.rpartition("/")[2])
        return key is not None and _version_of(wrapped) < len(key.versions) - 1

    def close(self) -> None:
        self._keys = {}


def _version_of(wrapped: bytes) -> int:
    return int.from_bytes(wrapped[:_VERSION_BYTES], "big")


def _authenticated(master: _Key, context: dict[str, str]) -> bytes:
    return orjson.dumps([master.key_id, context], option=orjson.OPT_SORT_KEYS)
