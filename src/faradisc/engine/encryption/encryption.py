"""Chooses, switches and unwraps the keys of tables, and follows what happens to their master keys.

A table with a key of its own has data keys, each wrapped by a master key of the key service. An unwrapped
data key stays in memory for at most five minutes; then it is unwrapped again, which fails when the master key
has been disabled or deleted. The table is then INACCESSIBLE_ENCRYPTION_CREDENTIALS, until the master key can
be used again. A change of the key file is seen at the next step of the background job.

Source: iam.md section 9. Texts of refused specifications are ours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from faradisc.clock import Clock, Entropy
from faradisc.engine.encryption.converting import convert_step
from faradisc.engine.encryption.data_keys import DataKeys
from faradisc.engine.encryption.key_service import (
    MANAGED_ALIAS,
    KeyRefused,
    KeyService,
    KeyServiceUnreachable,
)
from faradisc.engine.jobs.runner import Attempts, Work
from faradisc.engine.sealing.sealer import Sealer
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import CONTEXT_ACCOUNT, CONTEXT_TABLE, SealState
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import IN_USE, INACCESSIBLE
from faradisc.errors import (
    InternalServerError,
    ResourceInUseException,
    ResourceNotFoundException,
    UnsupportedOperation,
    invalid,
)
from faradisc.limits import STREAM_RETENTION_S
from faradisc.storage.api import Store

log = logging.getLogger("faradisc.engine.encryption")

REFRESH_NS = 240 * 1_000_000_000
RETRY_NS = 30 * 1_000_000_000
"""Pause between two attempts while a key cannot be used."""


class Encryption:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        clock: Clock,
        entropy: Entropy,
        service: KeyService | None,
    ) -> None:
        """service: None without master keys; then no table can be encrypted."""
        self.sealers: Sealers = catalog.sealers
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._keys = None if service is None else DataKeys(self.sealers, entropy, service)
        self._attempts = Attempts(clock)

    # --- Choosing and switching keys ---

    async def of_new_table(
        self,
        specification: Mapping[str, Any] | None,
        name: str,
        region: str,
        account: str,
        *,
        source: SealState | None = None,
    ) -> SealState | None:
        """Returns the encryption of a table that is being created; None: the default.

        source: of a table that is restored without a specification, which then uses the same master key.
        Raises ValidationException, UnsupportedOperation, KeyDenied.
        """
        if specification is None and source is not None and source.enabled:
            specification = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": source.key_arn}
        wanted = self._checked(specification)
        if wanted is None:
            return None
        keys, key_name = wanted
        context = {CONTEXT_TABLE: name, CONTEXT_ACCOUNT: account}
        arn, wrapped = await keys.new(key_name, region, context)
        return SealState(arn, context, [wrapped], hashed_keys=True)

    def _checked(self, specification: Mapping[str, Any] | None) -> tuple[DataKeys, str] | None:
        """Returns the key service and the key that a specification names; None: the default encryption.

        A type of encryption enables it where Enabled is absent.
        """
        specification = specification or {}
        named = specification.get("KMSMasterKeyId")
        kind = specification.get("SSEType")
        enabled = specification.get("Enabled")
        if enabled is False:
            for member in ("SSEType", "KMSMasterKeyId"):
                if member in specification:
                    raise invalid(f"{member} can not be specified if Enabled is false")
        if kind not in (None, "KMS"):
            raise invalid(f"SSEType {kind} is not supported")
        if named is not None and kind is None:
            raise invalid("SSEType KMS is required if KMSMasterKeyId is specified")
        if not enabled and kind is None:
            return None
        if self._keys is None:
            raise UnsupportedOperation(
                "SSESpecification: this server has no keys; start it with --keys or --kms-endpoint"
            )
        return self._keys, str(named) if named is not None else MANAGED_ALIAS

    async def change_of(
        self, table: Table, specification: Mapping[str, Any] | None
    ) -> Callable[[TableState], bool] | None:
        """Returns the change of a table's state that UpdateTable makes; None: no change.

        Raises what `of_new_table` raises; KeyDenied too while the table's present key cannot be used.
        """
        present = table.state.sealing
        if present is not None and present.inaccessible_ns is not None:
            await self.sealers.ready(self.sealers.attach(table.state.table_id, present, ()))
        if specification is None:
            return None
        wanted = self._checked(specification)
        if wanted is None:
            if present is None or not present.enabled:
                raise invalid("Table is already encrypted by default")
            following = replace(present, enabled=False, switching=True, converting=True)
        else:
            if present is not None and present.enabled and wanted[1] == present.key_arn:
                raise invalid(
                    "Table is already encrypted with given KMSMasterKeyId. "
                    "Use KMSMasterKeyId parameter if you want to change Master Key"
                )
            following = await self._switched(table, present, *wanted)

        def change(state: TableState) -> bool:
            if state.sealing != present or (present is not None and present.switching):
                raise ResourceInUseException(f"{IN_USE}Server-Side Encryption is still being updated")
            state.sealing = following
            return True

        return change

    async def _switched(
        self, table: Table, present: SealState | None, keys: DataKeys, wanted: str
    ) -> SealState:
        """Returns the state under another master key: new rows get a new data key, and the data keys so far
        are wrapped again."""
        state = table.state
        context = {CONTEXT_TABLE: state.name, CONTEXT_ACCOUNT: state.account}
        arn, wrapped = await keys.new(wanted, state.region, context)
        entries_until_ns = self._clock.now_ns() + 2 * STREAM_RETENTION_S * 1_000_000_000
        if present is None:
            following = SealState(arn, context, [wrapped], switching=True)
        else:
            try:
                before = await keys.wrapped_again(present, arn)
            except (KeyRefused, KeyServiceUnreachable) as error:
                if present.enabled or present.converting:
                    raise keys.denial(error) from error
                before = [None] * len(present.keys)  # log entries of the last hours cannot be read any more
            following = replace(present, key_arn=arn, keys=[*before, wrapped], enabled=True, switching=True)
        if present is None or not present.enabled:
            following.converting, following.plain_entries_until_ns = True, entries_until_ns
        return following

    # --- The background job ---

    async def step(self) -> bool:
        """Unwraps keys that are due, changes the status of their tables, and converts some rows."""
        if self.sealers.is_empty():
            return False
        changed = self._keys is not None and self._keys.service.changed()
        busy = False
        works: list[Work] = []
        now_ns = self._clock.now_ns()
        for sealer in self.sealers.all():
            pause_ns = RETRY_NS if sealer.denied is not None or not sealer.is_ready else REFRESH_NS
            if changed or not sealer.tried_ns or now_ns - sealer.tried_ns >= pause_ns:
                await self.sealers.unwrap(sealer)
            if sealer.name is not None:
                with suppress(ResourceNotFoundException, ResourceInUseException):
                    busy = await self._follow(sealer, sealer.name, works) or busy
        return await self._attempts.step(works) or busy

    async def _follow(self, sealer: Sealer, name: tuple[str, str], works: list[Work]) -> bool:
        """Makes the state of a table follow its key; adds what is to be done with its rows to `works`."""
        table = self._catalog.tables.at(name)
        state = table.state if table is not None else None
        sealing = state.sealing if state is not None else None
        if table is None or state is None or sealing is None or sealing is not sealer.state:
            return False
        if state.status == "DELETING" or state.owner_job is not None or not table.version:
            return False
        denied = sealer.denied is not None and sealer.is_needed
        if denied != (sealing.inaccessible_ns is not None):
            await self._set_accessible(table, sealer, accessible=not denied)
            return True
        if denied or not sealer.is_ready:
            return False
        if self._keys is not None and self._keys.is_outdated(sealing):
            await self._wrap_again(table, sealing, self._keys)
            return True
        if sealing.converting and state.status == "UPDATING":
            step = partial(convert_step, self._store, self._catalog, table)
            works.append(Work(f"conversion of {table.arn}", step))
        return False

    async def _set_accessible(self, table: Table, sealer: Sealer, *, accessible: bool) -> None:
        now_ns = self._clock.now_ns()

        def change(state: TableState) -> bool:
            assert state.sealing is not None, "it is never removed"
            state.sealing.inaccessible_ns = None if accessible else now_ns
            if not accessible:
                state.status = INACCESSIBLE
            elif state.status == INACCESSIBLE:
                state.status = "UPDATING" if state.sealing.converting else "ACTIVE"
            return False

        await self._catalog.update(table, change, while_in_use=True)
        if accessible:
            log.warning("table %s can be used again", table.name)
        else:
            log.error("table %s cannot be used: %s", table.name, sealer.denied)

    async def _wrap_again(self, table: Table, sealing: SealState, data_keys: DataKeys) -> None:
        """Wraps the data keys by the newest version of the master key."""
        try:
            keys = await data_keys.wrapped_again(sealing, sealing.key_arn)
        except (KeyRefused, KeyServiceUnreachable) as error:
            log.warning("the data keys of table %s are not wrapped again: %s", table.name, error)
            return

        def change(state: TableState) -> bool:
            if state.sealing is None or state.sealing.keys != sealing.keys:
                raise InternalServerError
            state.sealing.keys = list(keys)
            return False

        await self._catalog.update(table, change, while_in_use=True)
        log.warning("the data keys of table %s are wrapped by the newest version of its key", table.name)

    def close(self) -> None:
        if self._keys is not None:
            self._keys.service.close()
