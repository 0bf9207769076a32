"""Opens the key service that settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from faradisc.clock import Clock, Entropy, SystemClock, SystemEntropy
from faradisc.engine.encryption.key_service import KeyService

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
    from faradisc.engine.encryption.key_file import FileKeyService, KeyFile  # noqa: PLC0415

    return FileKeyService(KeyFile(os.fspath(keys)), clock or SystemClock(), entropy or SystemEntropy())


def of_environment(environment: Mapping[str, str] = os.environ) -> KeyService | None:
    """Returns the key service of a command that opens a data directory. Raises SealedFileError."""
    return key_service(environment.get(KEYS_VARIABLE), environment.get(KMS_VARIABLE), blocking=False)
