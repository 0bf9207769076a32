"""The key of tables whose SSESpecification names none, where no key file and no KMS is given.

It is the service's `alias/aws/dynamodb`: made with the first such table, as a key file in the data directory,
or in memory. A key service that settings name comes first for new tables; tables under a key of the directory
stay readable beside it.
"""

from __future__ import annotations

import logging

from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import Clock, Entropy
from faradisc.engine.encryption.key_file import FileKeyService, KeyFile, KeysInMemory
from faradisc.engine.encryption.key_service import (
    MANAGED_ALIAS,
    KeyService,
    KeyServiceUnreachable,
    not_found,
)

log = logging.getLogger("faradisc.engine.encryption")


class OwnKeys:
    """A KeyService of a data directory, or of data in memory."""

    def __init__(
        self,
        file: KeyFile | KeysInMemory,
        given: KeyService | None,
        clock: Clock,
        entropy: Entropy,
        account: str,
    ) -> None:
        """given: the key service that settings name. Raises SealedFileError when the file cannot be read."""
        self._file = file
        self._given = given
        self._clock = clock
        self._entropy = entropy
        self._account = account
        self.blocking = given is not None and given.blocking
        self._own = FileKeyService(file, clock, entropy) if file.state() is not None else None

    def _make(self, region: str) -> FileKeyService:
        """Makes the key. Raises SealedFileError, OSError."""
        is_new = self._file.state() is None
        if isinstance(self._file, KeyFile):
            self._file.path.parent.mkdir(mode=0o700, exist_ok=True)
        now_s = self._clock.now_ns() // 1_000_000_000
        self._file.create_managed(now_s, self._entropy, region=region, account=self._account)
        if is_new and isinstance(self._file, KeyFile):
            words = "made %s, the key of encrypted tables: keep a copy of its directory, apart from backups"
            log.warning(words, self._file.path)
        return FileKeyService(self._file, self._clock, self._entropy)

    def resolve(self, name: str, region: str) -> str:
        if self._given is not None:
            return self._given.resolve(name, region)
        if self._own is None:
            if name != MANAGED_ALIAS:
                raise not_found(name, self._account)
            try:
                self._own = self._make(region)
            except (SealedFileError, OSError) as error:
                raise KeyServiceUnreachable(
                    f"The key of the data directory cannot be made: {error}"
                ) from error
        return self._own.resolve(name, region)

    def _of(self, arn: str) -> KeyService:
        """Returns the service that has a key. Raises KeyRefused."""
        if self._own is not None and (self._given is None or self._own.has(arn)):
            return self._own
        if self._given is None:
            raise not_found()
        return self._given

    def generate(self, arn: str, context: dict[str, str]) -> tuple[bytes, bytes]:
        return self._of(arn).generate(arn, context)

    def wrap(self, arn: str, key: bytes, context: dict[str, str]) -> bytes:
        return self._of(arn).wrap(arn, key, context)

    def unwrap(self, arn: str, wrapped: bytes, context: dict[str, str]) -> bytes:
        return self._of(arn).unwrap(arn, wrapped, context)

    def is_outdated(self, arn: str, wrapped: bytes) -> bool:
        return any(each.is_outdated(arn, wrapped) for each in self._services())

    def changed(self) -> bool:
        changed = [each.changed() for each in self._services()]
        return any(changed)

    def close(self) -> None:
        for each in self._services():
            each.close()

    def _services(self) -> list[KeyService]:
        return [each for each in (self._own, self._given) if each is not None]
