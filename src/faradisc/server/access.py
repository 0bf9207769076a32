"""Who may use a server: its authenticator, its identities, rate limits and the audit log, from its settings.

Most servers have none of it, so all but the lenient authenticator is imported when the settings ask for it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from faradisc.auth.sigv4 import Authenticator, lenient
from faradisc.clock import Clock, SystemEntropy
from faradisc.database import Database
from faradisc.protocol.executor import OperationExecutor
from faradisc.protocol.other_services.services import IAM
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings

if TYPE_CHECKING:
    from faradisc.auth.keyring import FileKeyring
    from faradisc.server.audit import AuditLog
    from faradisc.server.spans import RequestSpans


class Access:
    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        """clock: the machine's, as signatures use it. Raises SettingsError."""
        self._clock = clock
        self.keyring: FileKeyring | None = None
        self.authenticate: Authenticator = lenient
        self.audit: AuditLog | None = None
        self.spans: RequestSpans | None = None
        if settings.auth == "strict":
            self._verify(settings)
        self.authenticate_unlimited = self.authenticate
        """For the administrator's pages."""
        if settings.rate_limit or settings.rate_limit_address:
            from faradisc.server.rate_limits import LimitedAuthenticator  # noqa: PLC0415

            self.authenticate = LimitedAuthenticator(
                self.authenticate, clock, principal=settings.rate_limit, address=settings.rate_limit_address
            )
        if settings.audit_log:
            from faradisc.server.audit import AuditLog  # noqa: PLC0415

            verified = settings.auth == "strict"
            try:
                self.audit = AuditLog(settings.audit_log, clock, settings.account, is_verified=verified)
            except OSError as error:
                raise SettingsError(f"The audit log cannot be written: {error}.") from error
        if settings.otlp or any(each.startswith("OTEL_EXPORTER_OTLP_") for each in os.environ):
            from faradisc.server.spans import spans_of, wanted  # noqa: PLC0415

            self.spans = spans_of(settings.otlp) if wanted(settings.otlp) else None

    def _verify(self, settings: ServerSettings) -> None:
        from faradisc.auth.credentials_file import CredentialsFile  # noqa: PLC0415
        from faradisc.auth.keyring import FileKeyring  # noqa: PLC0415
        from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415
        from faradisc.auth.strict import StrictAuthenticator  # noqa: PLC0415

        try:
            self.keyring = FileKeyring(CredentialsFile(settings.credentials_file), settings.account)
        except SealedFileError as error:
            raise SettingsError(str(error)) from error
        region = None if settings.regions_apart else settings.region
        self.authenticate = StrictAuthenticator(self.keyring, self._clock, region=region)

    def serve(self, database: Database) -> None:
        """Offers IAM and STS beside a database, and records the decisions of policies."""
        if self.keyring is not None:
            database.other_services.identities = self._service
            if self.audit is not None:
                database.authorizer.observer = self.audit.observe

    def _service(self, name: str) -> OperationExecutor:
        """Returns IAM's executor or STS's, by botocore's name of it."""
        from faradisc.services.iam import registry  # noqa: PLC0415
        from faradisc.services.iam.service import Iam  # noqa: PLC0415

        assert self.keyring is not None
        operations = registry.IAM if name == IAM.name else registry.STS
        observer = None if self.audit is None else self.audit.observe
        return Iam(name, operations, self.keyring, self._clock, SystemEntropy(), observer=observer)

    def close(self) -> None:
        if self.audit is not None:
            self.audit.close()
        if self.spans is not None:
            self.spans.close()
