"""Identities of a server that verifies signatures: its authenticator, and the services IAM and STS."""

from __future__ import annotations

from faradisc.auth.credentials_file import CredentialsFile
from faradisc.auth.keyring import FileKeyring
from faradisc.auth.sealed_file import SealedFileError
from faradisc.auth.strict import StrictAuthenticator
from faradisc.clock import Clock, SystemEntropy
from faradisc.protocol.executor import OperationExecutor
from faradisc.protocol.other_services.services import IAM
from faradisc.server.settings import ServerSettings, SettingsError


class ServedIdentities:
    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        """clock: the machine's, as signatures use it. Raises SettingsError."""
        try:
            self.keyring = FileKeyring(CredentialsFile(settings.credentials_file), settings.account)
        except SealedFileError as error:
            raise SettingsError(str(error)) from error
        self._clock = clock
        self.authenticate = StrictAuthenticator(
            self.keyring, clock, region=None if settings.per_region else settings.region
        )

    def service(self, name: str) -> OperationExecutor:
        """Returns IAM's executor or STS's, by botocore's name of it."""
        from faradisc.services.iam import registry  # noqa: PLC0415 - few servers have users
        from faradisc.services.iam.service import Iam  # noqa: PLC0415

        operations = registry.IAM if name == IAM.name else registry.STS
        return Iam(name, operations, self.keyring, self._clock, SystemEntropy(), observer=lambda: None)
