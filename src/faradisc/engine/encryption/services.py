"""Opens the key service that settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from faradisc.clock import Clock, Entropy, SystemClock, SystemEntropy
from faradisc.engine.encryption.key_file import FileKeyService, KeyFile, KeysInMemory
from faradisc.engine.encryption.key_service import KeyService
from faradisc.engine.encryption.own_keys import OwnKeys

OWN_KEYS = Path("keys", "master.json")
"""The key file in a data directory."""
KEYS_VARIABLE = "FARADISC_KEYS"
KMS_VARIABLE = "FARADISC_KMS_ENDPOINT"


def key_service(
    keys: str | os.PathLike[str] | None,
    kms_endpoint: str | None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    *,
    blocking: bool,
) -> KeyService | None:
    """Returns the key service of a key file or an endpoint; None when neither is given.

    blocking: an event loop must not wait for a network. Raises SealedFileError.
    """
    if kms_endpoint:
        from faradisc.engine.encryption.kms import KmsKeyService  # noqa: PLC0415 - few servers have one

        return KmsKeyService(kms_endpoint, blocking=blocking)
    if not keys:
        return None
    return FileKeyService(KeyFile(os.fspath(keys)), clock or SystemClock(), entropy or SystemEntropy())


def of_environment(
    directory: str | os.PathLike[str] | None = None, environment: Mapping[str, str] = os.environ
) -> KeyService | None:
    """Returns the key service of a command that opens a data directory. Raises SealedFileError."""
    given = key_service(environment.get(KEYS_VARIABLE), environment.get(KMS_VARIABLE), blocking=False)
    return given if directory is None else own_keys(key_file_of(directory), given)


def own_keys(
    file: KeyFile | KeysInMemory,
    given: KeyService | None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    *,
    account: str = "000000000000",
) -> KeyService:
    """Returns the key service of a file of the data's own, beside the one that settings name.

    Raises SealedFileError.
    """
    return OwnKeys(file, given, clock or SystemClock(), entropy or SystemEntropy(), account)


def key_file_of(directory: str | os.PathLike[str]) -> KeyFile:
    """Returns the key file of a data directory, which need not exist. No passphrase opens it."""
    return KeyFile(Path(directory) / OWN_KEYS, {})
