"""A JSON file of secrets: each is encrypted at rest, and the file is written atomically.

One object:

    {"format": 1,
     "kdf": {"name": "scrypt", "salt": <base64>, "n": 32768, "r": 8, "p": 1},      only with a passphrase
     "check": <sealed b"">,
     "keys": {<id>: {...}}}

A sealed value is the base64 of nonce (12 bytes) and AES-256-GCM ciphertext. `check` distinguishes a wrong key
from a damaged entry; each kind of file has its own entries (credentials_file.py, key_file.py).

The encryption key is either the 32 bytes in `<file>.key` (base64, mode 0600, created with the file), or
derived by scrypt from the passphrase in an environment variable, if there is a `kdf`.

A change creates `<file>.new` as its lock, writes there, syncs and renames. `cryptography` is imported only to
encrypt or decrypt.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from faradisc.clock import Entropy
from faradisc.files import sync_directory, sync_file

_FORMAT: Final = 1
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_SCRYPT: Final = {"n": 32_768, "r": 8, "p": 1}
_SCRYPT_MEMORY_MAX: Final = 128 * 1024 * 1024


class SealedFileError(Exception):
    """Raised when the file cannot be used; the text is a sentence for the user."""


class FileKind(NamedTuple):
    """The words of messages about one kind of file."""

    name: str
    content: str
    made_by: str
    """The command that creates one."""
    passphrase_variable: str


class SealedFile:
    """Nothing is read before the first call. All methods raise SealedFileError."""

    def __init__(self, path: str | Path, kind: FileKind, environment: Mapping[str, str]) -> None:
        self.path = Path(path)
        self._kind = kind
        self._environment = environment
        self._derived: dict[str, bytes] = {}
        """Keys by salt; scrypt takes a tenth of a second."""

    # --- Reading ---------------------------------------------------------------------------------

    def opened(self) -> tuple[dict[str, Any], bytes]:
        """Returns the document, and the key of its sealed values, which has opened `check`."""
        document = self.read()
        key = self._key(document)
        self.open(key, "check", document["check"])
        return document, key

    def state(self) -> tuple[int, int, int] | None:
        """Returns a value that changes when the file does; None when there is no file."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def read(self) -> dict[str, Any]:
        """Returns the document with its values sealed."""
        kind = self._kind
        try:
            document = orjson.loads(self.path.read_bytes())
        except OSError as error:
            raise SealedFileError(
                f"The {kind.name} {self.path} cannot be read ({error.strerror or error}); "
                f"`{kind.made_by}` creates one."
            ) from error
        except orjson.JSONDecodeError as error:
            raise SealedFileError(f"The {kind.name} {self.path} is damaged: it is not JSON.") from error
        if type(document) is not dict or document.get("format") != _FORMAT:
            raise SealedFileError(f"{self.path} is not a {kind.name} that this version of Faradisc can read.")
        return document

    def open(self, key: bytes, bound: str, sealed: str) -> bytes:
        """Returns a sealed value that was sealed with the same `bound`."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        raw = b64decode(sealed)
        try:
            return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound.encode())
        except InvalidTag:
            what = "this is not its key or passphrase" if bound == "check" else f"entry of {bound!r} changed"
            raise SealedFileError(f"The {self._kind.name} {self.path} cannot be opened: {what}.") from None

    @staticmethod
    def seal(key: bytes, bound: str, content: bytes, entropy: Entropy) -> str:
        """bound: data that is authenticated together with the content."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 20 ms at start

        nonce = entropy.token_bytes(_NONCE_BYTES)
        return b64encode(nonce + AESGCM(key).encrypt(nonce, content, bound.encode())).decode()

    # --- Changing --------------------------------------------------------------------------------

    def change(self, change: Callable[[dict[str, Any], bytes], None], entropy: Entropy | None) -> None:
        """Applies a change to the document. entropy: creates a missing file."""
        draft = self.path.with_name(self.path.name + ".new")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise SealedFileError(
                f"{draft} exists: another command is changing the {self._kind.content}, or was killed while "
                "it did; if none is running, remove that file."
            ) from None
        except OSError as error:
            raise SealedFileError(f"{draft} cannot be written ({error.strerror or error}).") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                made = entropy is not None and self.state() is None
                document = self._new(entropy) if made and entropy is not None else self.read()
                change(document, self._key(document))
                file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2))
                sync_file(file)
            os.replace(draft, self.path)
            sync_directory(self.path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    def _new(self, entropy: Entropy) -> dict[str, Any]:
        document: dict[str, Any] = {"format": _FORMAT}
        if self._environment.get(self._kind.passphrase_variable):
            document["kdf"] = {
                "name": "scrypt",
                "salt": b64encode(entropy.token_bytes(16)).decode(),
                **_SCRYPT,
            }
        elif not self._key_path.exists():
            self._make_key(entropy)
        document["check"] = self.seal(self._key(document), "check", b"", entropy)
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
                sync_file(file)
        except OSError as error:
            raise SealedFileError(
                f"The key {self._key_path} cannot be written ({error.strerror or error})."
            ) from error

    def _key(self, document: Mapping[str, Any]) -> bytes:
        if "kdf" in document:
            return self._key_of_passphrase(document["kdf"])
        try:
            text = self._key_path.read_bytes()
            if os.name == "posix" and os.stat(self._key_path).st_mode & 0o077:
                raise SealedFileError(
                    f"Other users may read the key {self._key_path}; change its mode to 0600."
                )
            key = b64decode(text.strip(), validate=True)
        except OSError as error:
            raise SealedFileError(
                f"The key {self._key_path} cannot be read ({error.strerror or error})."
            ) from error
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise SealedFileError(f"The key {self._key_path} does not hold a key.")
        return key

    def _key_of_passphrase(self, kdf: Mapping[str, Any]) -> bytes:
        passphrase = self._environment.get(self._kind.passphrase_variable)
        if not passphrase:
            raise SealedFileError(
                f"{self.path} was made with a passphrase; set {self._kind.passphrase_variable} to it."
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
