"""The file of access keys: secrets encrypted at rest, written atomically.

JSON, one object:

    {"format": 1,
     "kdf": {"name": "scrypt", "salt": <base64>, "n": 32768, "r": 8, "p": 1},      only with a passphrase
     "check": <sealed b"">,
     "keys": {<key id>: {"created_s": <epoch>, "expires_s": <epoch, only temporary keys>,
                         "sealed": <base64 of nonce (12 bytes) and AES-256-GCM ciphertext>}}}

`sealed` holds the JSON of secret and session token; the key id and the expiry are authenticated with it, so
entries can neither be swapped nor prolonged. `check` distinguishes a wrong key from a damaged entry.

The encryption key is either the 32 bytes in `<file>.key` (base64, mode 0600, created with the file), or
derived by scrypt from the passphrase in FARADISC_CREDENTIALS_PASSPHRASE, if there is a `kdf`.

A change creates `<file>.new` as its lock, writes there, syncs and renames. `cryptography` is imported only to
encrypt or decrypt.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from faradisc.auth.keys import AccessKey
from faradisc.clock import Entropy

log = logging.getLogger("faradisc.auth")

PASSPHRASE_VARIABLE: Final = "FARADISC_CREDENTIALS_PASSPHRASE"
_FORMAT: Final = 1
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_SCRYPT: Final = {"n": 32_768, "r": 8, "p": 1}
_SCRYPT_MEMORY_MAX: Final = 128 * 1024 * 1024

_BASE32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class CredentialsError(Exception):
    """Raised when the file cannot be used; the text is a sentence for the user."""


class CredentialsFile:
    """The keys of one file. Nothing is read before `load`."""

    def __init__(self, path: str | Path, environment: Mapping[str, str] = os.environ) -> None:
        self.path = Path(path)
        self._environment = environment
        self._derived: dict[str, bytes] = {}
        """Keys by salt; scrypt takes a tenth of a second."""

    # --- Reading ---------------------------------------------------------------------------------

    def load(self) -> dict[str, AccessKey]:
        """Returns every key, decrypted, by id. Raises CredentialsError."""
        document = self._read()
        key = self._key(document)
        self._open(key, "check", document["check"])
        keys = {}
        for key_id, entry in document["keys"].items():
            expires_s = entry.get("expires_s")
            opened = orjson.loads(self._open(key, _bound(key_id, expires_s), entry["sealed"]))
            keys[key_id] = AccessKey(key_id, opened["secret"], opened.get("token"), expires_s)
        return keys

    def listed(self) -> list[tuple[str, int, int | None]]:
        """Returns (key id, creation, expiry) of every key, oldest first, without decrypting.

        Raises CredentialsError.
        """
        entries = self._read()["keys"].items()
        return [(key_id, entry["created_s"], entry.get("expires_s")) for key_id, entry in entries]

    def state(self) -> tuple[int, int, int] | None:
        """Returns a value that changes when the file does; None when there is no file."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> dict[str, Any]:
        try:
            document = orjson.loads(self.path.read_bytes())
        except OSError as error:
            raise CredentialsError(
                f"The credentials file {self.path} cannot be read ({error.strerror or error}); "
                "`faradisc credentials add` creates one."
            ) from error
        except orjson.JSONDecodeError as error:
            raise CredentialsError(f"The credentials file {self.path} is damaged: it is not JSON.") from error
        if type(document) is not dict or document.get("format") != _FORMAT:
            raise CredentialsError(
                f"{self.path} is not a credentials file that this version of Faradisc can read."
            )
        return document

    def _open(self, key: bytes, bound: str, sealed: str) -> bytes:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        raw = b64decode(sealed)
        try:
            return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound.encode())
        except InvalidTag:
            what = "this is not its key or passphrase" if bound == "check" else f"entry of {bound!r} changed"
            raise CredentialsError(f"The credentials file {self.path} cannot be opened: {what}.") from None

    # --- Changing --------------------------------------------------------------------------------

    def add(self, key: AccessKey, now_s: int, entropy: Entropy) -> None:
        """Adds a key, and creates a missing file. Raises CredentialsError, also for an existing key id."""

        def change(document: dict[str, Any]) -> None:
            if key.key_id in document["keys"]:
                raise CredentialsError(f"The access key {key.key_id} exists already; revoke it first.")
            content = {"secret": key.secret}
            if key.token is not None:
                content["token"] = key.token
            entry: dict[str, Any] = {"created_s": now_s}
            if key.expires_s is not None:
                entry["expires_s"] = key.expires_s
            bound = _bound(key.key_id, key.expires_s)
            entry["sealed"] = _seal(self._key(document), bound, orjson.dumps(content), entropy)
            document["keys"][key.key_id] = entry

        self._change(change, entropy)

    def revoke(self, key_id: str) -> None:
        """Removes a key. Raises CredentialsError when there is no such key."""

        def change(document: dict[str, Any]) -> None:
            if document["keys"].pop(key_id, None) is None:
                raise CredentialsError(f"There is no access key {key_id} in {self.path}.")

        self._change(change, None)

    def _change(self, change: Callable[[dict[str, Any]], None], entropy: Entropy | None) -> None:
        draft = self.path.with_name(self.path.name + ".new")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise CredentialsError(
                f"{draft} exists: another command is changing the credentials, or was killed while it "
                "did; if none is running, remove that file."
            ) from None
        except OSError as error:
            raise CredentialsError(f"{draft} cannot be written ({error.strerror or error}).") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                made = entropy is not None and self.state() is None
                document = self._new(entropy) if made and entropy is not None else self._read()
                change(document)
                file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    def _new(self, entropy: Entropy) -> dict[str, Any]:
        document: dict[str, Any] = {"format": _FORMAT}
        if self._environment.get(PASSPHRASE_VARIABLE):
            document["kdf"] = {
                "name": "scrypt",
                "salt": b64encode(entropy.token_bytes(16)).decode(),
                **_SCRYPT,
            }
        elif not self._key_path.exists():
            self._make_key(entropy)
        document["check"] = _seal(self._key(document), "check", b"", entropy)
        document["keys"] = {}
        return document

    # --- The encryption key ----------------------------------------------------------------------

    @property
    def _key_path(self) -> Path:
        return self.path.with_name(self.path.name + ".key")

    def _make_key(self, entropy: Entropy) -> None:
        try:
            descriptor = os.open(self._key_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b64encode(entropy.token_bytes(_KEY_BYTES)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CredentialsError(
                f"The key file {self._key_path} cannot be written ({error.strerror or error})."
            ) from error

    def _key(self, document: Mapping[str, Any]) -> bytes:
        if "kdf" in document:
            return self._key_of_passphrase(document["kdf"])
        try:
            text = self._key_path.read_bytes()
            if os.name == "posix" and os.stat(self._key_path).st_mode & 0o077:
                raise CredentialsError(
                    f"Other users may read the key file {self._key_path}; change its mode to 0600."
                )
            key = b64decode(text.strip(), validate=True)
        except OSError as error:
            raise CredentialsError(
                f"The key file {self._key_path} cannot be read ({error.strerror or error})."
            ) from error
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise CredentialsError(f"The key file {self._key_path} does not hold a key.")
        return key

    def _key_of_passphrase(self, kdf: Mapping[str, Any]) -> bytes:
        passphrase = self._environment.get(PASSPHRASE_VARIABLE)
        if not passphrase:
            raise CredentialsError(
                f"{self.path} was made with a passphrase; set {PASSPHRASE_VARIABLE} to it."
            )
        salt = kdf["salt"]
        if salt not in self._derived:
            self._derived[salt] = hashlib.scrypt(
                passphrase.encode(),
                salt=b64decode(salt),
                n=kdf["n"],
                r=kdf["r"],
                p=kdf["p"],
                maxmem=_SCRYPT_MEMORY_MAX,
                dklen=_KEY_BYTES,
            )
        return self._derived[salt]


def _bound(key_id: str, expires_s: int | None) -> str:
    """Returns the data that is authenticated together with an entry's content."""
    return f"key {key_id} {'' if expires_s is None else expires_s}"


def _seal(key: bytes, bound: str, content: bytes, entropy: Entropy) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms at start

    nonce = entropy.token_bytes(_NONCE_BYTES)
    return b64encode(nonce + AESGCM(key).encrypt(nonce, content, bound.encode())).decode()


class FileKeyring:
    """The keys of a file, which is read again when it changes.

    When the file can no longer be read, the keys stay in force and an error is logged once: a missing file
    must not lock all clients out.
    """

    def __init__(self, file: CredentialsFile) -> None:
        """Raises CredentialsError."""
        self._file = file
        self._seen = file.state()
        self._keys = file.load()
        self.generation = 0

    def refresh(self) -> None:
        state = self._file.state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._keys = self._file.load()
        except (CredentialsError, KeyError, TypeError, ValueError) as error:
            log.error("the access keys stay as they were: %s", error)
            return
        self.generation += 1
        log.warning("read %s again: %d access keys", self._file.path, len(self._keys))

    def find(self, key_id: str) -> AccessKey | None:
        return self._keys.get(key_id)


# --- New keys --------------------------------------------------------------------------------------


def new_key(entropy: Entropy, *, expires_s: int | None = None) -> AccessKey:
    """Returns a random key in AWS's form: AKIA..., or ASIA... with a session token if it expires."""
    letters = bytes(_BASE32[byte & 31] for byte in entropy.token_bytes(16)).decode()
    secret = b64encode(entropy.token_bytes(30)).decode()
    if expires_s is None:
        return AccessKey("AKIA" + letters, secret)
    token = b64encode(entropy.token_bytes(96)).decode()
    return AccessKey("ASIA" + letters, secret, token, expires_s)
