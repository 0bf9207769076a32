"""The key that a data directory has made for itself (engine/encryption/own_keys.py), in its continuous copy.

The object `keys.json` of a copy is the key file, sealed with the passphrase of FARADISC_KEYS_PASSPHRASE;
without a passphrase it only names the keys, so that a restore says what it lacks before it writes anything.
Who reads the bucket must not read encrypted tables, so the key is never stored in it as it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import SystemEntropy
from faradisc.engine.copying.format import CopyDamaged, CopyError
from faradisc.engine.copying.place import CopyPlace
from faradisc.engine.encryption.key_file import KIND, KeyFile
from faradisc.engine.encryption.services import key_file_of
from faradisc.engine.objects.api import NoSuchKey

KEYS = "keys.json"
_log = logging.getLogger(__name__)


class StoredKeys:
    """Keeps the copy's keys as those of the directory. Used by one thread at a time."""

    def __init__(self, directory: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._file = key_file_of(directory)
        self._environment = environment
        self._stored: object = None
        """State of the file when it was stored."""
        self.lacking = ""
        """Why the copy alone does not restore encrypted tables; "" if it does."""

    def store(self, place: CopyPlace) -> None:
        """Called before each segment, which may have the first rows under a new key. Raises BucketError."""
        state = self._file.state()
        if state is None or state == self._stored:
            return
        try:
            content, self.lacking = self._content(place)
        except (SealedFileError, OSError) as error:
            content, self.lacking = b"", f"The key of its encrypted tables is not in the copy: {error}"
        if content:
            place.put(KEYS, content)
        if self.lacking:
            _log.warning("%s", self.lacking)
        self._stored = state

    def _content(self, place: CopyPlace) -> tuple[bytes, str]:
        """Returns the object, b"" if the one in the copy is right, and what it lacks. Raises SealedFileError,
        OSError, BucketError."""
        if self._environment.get(KIND.passphrase_variable):
            with TemporaryDirectory() as folder:
                sealed = KeyFile(Path(folder) / KEYS, self._environment)
                self._file.copy_to(sealed, SystemEntropy())
                return sealed.path.read_bytes(), ""
        document = self._file.read()
        stored = _KeysOfCopy.of(place, self._environment)
        if stored is not None and stored.is_sealed and stored.versions == _versions(document):
            return b"", ""
        entries = document["keys"].items()
        names = {key: {"arn": each["arn"], "versions": len(each["versions"])} for key, each in entries}
        return orjson.dumps({"format": document["format"], "keys": names}) + b"\n", (
            f"The key of its encrypted tables is not in the copy: keep {self._file.path} and "
            f"{self._file.path.name}.key elsewhere, or set {KIND.passphrase_variable}, with which they are "
            "stored in the copy too."
        )


class _KeysOfCopy(KeyFile):
    """The object `keys.json`."""

    def __init__(self, content: bytes, where: str, environment: Mapping[str, str]) -> None:
        """Raises CopyDamaged."""
        super().__init__(KEYS, environment)
        try:
            self._document: dict[str, Any] = orjson.loads(content)
            self.versions = _versions(self._document)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CopyDamaged(f"{where}/{KEYS} is damaged: it cannot be read.") from None

    @classmethod
    def of(cls, place: CopyPlace, environment: Mapping[str, str]) -> _KeysOfCopy | None:
        """Raises CopyError, BucketError."""
        try:
            return cls(place.get(KEYS)[0], place.shown, environment)
        except NoSuchKey:
            return None

    @property
    def is_sealed(self) -> bool:
        return "kdf" in self._document

    def read(self) -> dict[str, Any]:
        return self._document


def keys_for(
    place: CopyPlace,
    directory: Path,
    given: str = "",
    *,
    adopt: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> KeyFile | None:
    """Returns the key file whose keys a directory with this copy needs and lacks; None if it needs none.

    given: a key file that has them. adopt: its keys become those of the directory.
    Raises CopyError where nothing has them; BucketError.
    """
    wanted = _KeysOfCopy.of(place, environment)
    file, own = KeyFile(given, environment) if given else None, key_file_of(directory)
    try:
        if file is not None and (adopt or wanted is not None):
            lacking = sorted((wanted.versions if wanted else {}).keys() - file.load().keys())
            if not lacking:
                return file if adopt else None
            if adopt:
                raise CopyError(f"{given} lacks the key {lacking[0]} of encrypted tables in {place.shown}.")
        if wanted is None or (
            own.state() is not None and wanted.versions.items() <= _versions(own.read()).items()
        ):
            return None
        if wanted.is_sealed:
            wanted.load()
            return wanted
    except SealedFileError as error:
        raise CopyError(f"The keys of {place.shown} cannot be used: {error}") from error
    raise CopyError(
        f"{place.shown} has tables that are encrypted under a key which is not in the copy: give --keys the "
        "file that was kept of its data directory, keys/master.json (with master.json.key beside it)."
    )


def adopt_keys(directory: Path, keys: KeyFile | None) -> None:
    """Makes keys those of a data directory too. Raises SealedFileError, OSError."""
    if keys is not None:
        own = key_file_of(directory)
        own.path.parent.mkdir(mode=0o700, exist_ok=True)
        keys.copy_to(own, SystemEntropy())


def _versions(document: Mapping[str, Any]) -> dict[str, int]:
    """Returns the number of versions of each key, by its id."""
    found = {key: each["versions"] for key, each in document["keys"].items()}
    return {key: each if isinstance(each, int) else len(each) for key, each in found.items()}
