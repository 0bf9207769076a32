"""Opens the database that a server's settings describe: its store, keys, buckets and backups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from faradisc.clock import Clock
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import (
    BACKUPS_DIRECTORY,
    BackupStorage,
    NoBackupStorage,
    directory_backups,
    memory_backups,
    s3_backups,
)
from faradisc.engine.encryption.key_service import KeyService
from faradisc.engine.exchange.locations import Locations, directories
from faradisc.engine.kinesis.sender import Sender
from faradisc.engine.replication.peers import PeerClient
from faradisc.limits import MB
from faradisc.server.large_requests import LargeBodies, Turns
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.copying.copier import Copier
    from faradisc.operations.faults import Faults
    from faradisc.server.copying import Copying

Opened = TypeVar("Opened", bound=Database)
BACKGROUND_THROTTLE_S = 0.005
"""One or two syncs of a disk; the pause after a step of background work that waits for no sync."""


async def _background_throttle() -> None:
    await asyncio.sleep(BACKGROUND_THROTTLE_S)


_SHARED_SETTINGS = {each.name for each in fields(Settings)} & {
    each.name for each in fields(ServerSettings)
} - {"faults"}


def _ignored(reason: str) -> None:
    """Nothing."""


async def open_database(
    settings: ServerSettings,
    clock: Clock,
    address: str = "",
    *,
    copier: Copier | None = None,
    on_lost: Callable[[str], None] = _ignored,
) -> Database:
    """address: that other servers over the same store show. copier: of a standby that has taken over.
    on_lost: called when another server has the lease of the copy. Raises StorageError, SettingsError."""
    store = await _open_store(settings)
    copying = None
    try:
        if settings.copy_to or copier is not None:
            copying = await _copying(store, copier or _copier(settings, clock, address, store), on_lost)
        database = await served(Database, store, settings, clock, address)
        if copying is not None:
            database.copy, database.execute = copying, copying.answers(database.execute)
        return database
    except BaseException:
        if copying is not None:
            await copying.stop()
        await store.close()
        raise


def _copier(settings: ServerSettings, clock: Clock, address: str, store: Store) -> Copier:
    """Raises SettingsError."""
    from faradisc.server.copying import new_copier, place_of  # noqa: PLC0415 - few servers copy
    from faradisc.storage.rocks import RocksStore  # noqa: PLC0415

    assert isinstance(store, RocksStore)
    return new_copier(settings, place_of(settings.copy_to, settings.s3_endpoint), store, clock, address)


async def _copying(store: Store, copier: Copier, on_lost: Callable[[str], None]) -> Copying:
    from faradisc.server.copying import Copying  # noqa: PLC0415 - few servers copy
    from faradisc.storage.rocks import RocksStore  # noqa: PLC0415

    assert isinstance(store, RocksStore)
    copier.source = store
    copying = Copying(copier, on_lost)
    await copying.begin()
    store.disk.after_sync = copier.after_sync
    return copying


async def served(
    kind: type[Opened], store: Store, settings: ServerSettings, clock: Clock, address: str
) -> Opened:
    """Opens the database in a store. Raises StorageError, SettingsError."""
    return await kind.open(
        store,
        places=store if settings.where.has_places else None,  # type: ignore[arg-type]
        settings=Settings(
            **{name: getattr(settings, name) for name in _SHARED_SETTINGS},
            faults=_faults(settings),
            yield_control=Turns().take,
            background_throttle=_background_throttle,
            large=LargeBodies().run,
        ),
        clock=clock,
        kinesis=_kinesis(settings),
        locations=locations_of(settings),
        backup_storage=_storage(settings),
        keys=_keys(settings, clock),
        peers=_peers(settings),
        address=address,
    )


def _faults(settings: ServerSettings) -> Faults | None:
    """Raises SettingsError when the file cannot be used."""
    if not settings.faults:
        return None
    from faradisc.operations.faults import read_fault_file  # noqa: PLC0415 - few servers have some

    try:
        return read_fault_file(Path(settings.faults).read_text())
    except OSError as error:
        raise SettingsError(f"The faults in {settings.faults} cannot be read: {error.strerror}.") from error
    except ValueError as mistake:
        raise SettingsError(f"{settings.faults}: {mistake}.") from mistake


def _keys(settings: ServerSettings, clock: Clock) -> KeyService | None:
    """Raises SettingsError when the key file cannot be used."""
    from faradisc.auth.sealed_file import SealedFileError  # noqa: PLC0415 - imports base64 and more
    from faradisc.engine.encryption.key_file import KeysInMemory  # noqa: PLC0415
    from faradisc.engine.encryption.services import key_file_of, key_service, own_keys  # noqa: PLC0415

    try:
        given = key_service(settings.keys, settings.kms_endpoint, clock, blocking=True)
        if settings.store:  # other servers have other directories
            return given
        file = KeysInMemory() if settings.memory else key_file_of(settings.data_dir)
        return own_keys(file, given, clock, account=settings.account)
    except SealedFileError as error:
        raise SettingsError(str(error)) from error


def _peers(settings: ServerSettings) -> dict[str, PeerClient]:
    """Raises SettingsError when the environment's credentials cannot be used."""
    if not settings.peer:
        return {}
    from faradisc.server.peering import peer_clients  # noqa: PLC0415 - few servers have peers

    return peer_clients(settings.peers)


def _kinesis(settings: ServerSettings) -> Sender | None:
    if not settings.kinesis_endpoint_url:
        return None
    from faradisc.engine.kinesis.sender import ThreadedSender  # noqa: PLC0415 - few servers have one

    return ThreadedSender(settings.kinesis_endpoint_url)


def locations_of(settings: ServerSettings) -> Locations | None:
    """Returns the buckets of exports and imports; none by default when the data is in memory."""
    logs = None if settings.memory else settings.where.directory / "logs"
    if settings.s3_endpoint:
        if find_spec("boto3") is None:
            raise SettingsError("--s3-endpoint needs a library: pip install 'faradisc[exchange]'.")
        import tempfile  # noqa: PLC0415 - few servers have an endpoint

        from faradisc.engine.objects.s3 import S3Storage  # noqa: PLC0415

        logs = logs or Path(tempfile.mkdtemp(prefix="faradisc-logs-"))
        return Locations(S3Storage(settings.s3_endpoint), logs)
    if not settings.s3_root and (settings.memory or not settings.where.has_directory):
        return None
    return directories(settings.s3_root or settings.where.directory / "s3", logs)


def _storage(settings: ServerSettings) -> BackupStorage:
    if settings.store:
        from faradisc.storage.postgres.connecting import is_sharded  # noqa: PLC0415 - few servers

        if is_sharded(settings.store):
            return NoBackupStorage(
                "Backups need one state of a whole table, which several PostgreSQLs do not have."
            )
    if settings.memory and not settings.backup_bucket:
        return memory_backups()
    if settings.backup_bucket:
        return s3_backups(settings.s3_endpoint, settings.backup_bucket)
    if not settings.where.has_directory:
        return NoBackupStorage(
            "Backups need a place that all servers share: start each of them with --data-dir or "
            "--backup-bucket."
        )
    return directory_backups(settings.where.directory / BACKUPS_DIRECTORY, blocking=True)


async def _open_store(settings: ServerSettings) -> Store:
    if settings.memory:
        from faradisc.storage.memory import MemoryStore  # noqa: PLC0415 - one engine of two is needed

        return MemoryStore()
    if settings.store:
        return await open_shared(settings)
    from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

    # In a thread, so that /health/live answers while an older format is rewritten. While RocksDB replays the
    # log after a crash it does not answer: rocksdict 0.3.29 holds the interpreter lock (0.4 s for 28 MB; the
    # log has at most 64 MB).
    return await asyncio.to_thread(
        open_rocks,
        settings.data_dir,
        cache_bytes=settings.cache_mb * MB,
        keep_log=bool(settings.copies),
    )


async def open_shared(settings: ServerSettings, *, create: bool = True) -> Store:
    """Opens the PostgreSQL of the settings. create: what is missing. Raises StorageError, SettingsError."""
    from faradisc.storage.postgres.connecting import is_sharded  # noqa: PLC0415 - few servers
    from faradisc.storage.postgres.sharded import open_sharded  # noqa: PLC0415
    from faradisc.storage.postgres.store import open_postgres, open_private  # noqa: PLC0415

    store: Store
    if settings.where.has_places:
        store = await _open_places(settings, create=create)
    elif settings.where.is_private_postgres:
        store = await open_private(Path(settings.store.partition(":")[2]), create=create)
    elif is_sharded(settings.store):
        store = await open_sharded(settings.store, create=create)
    else:
        store = await open_postgres(settings.store, create=create)
    if create and settings.where.has_directory:
        try:
            settings.where.directory.mkdir(parents=True, exist_ok=True)  # of backups
        except OSError as error:
            await store.close()
            raise SettingsError(f"{settings.where.directory} cannot be created: {error.strerror}.") from error
    return store


async def _open_places(settings: ServerSettings, *, create: bool) -> Store:
    from faradisc.storage.postgres.joining import Named, named, open_places  # noqa: PLC0415 - few servers
    from faradisc.storage.postgres.store import join_private  # noqa: PLC0415

    if not settings.where.is_private_postgres:
        more = None if settings.where.store_file is None else lambda: _addresses_now(settings)
        return await open_places([named(each) for each in settings.where.addresses], create=create, more=more)
    joined: list[Named] = []
    try:
        for directory in settings.where.private_directories:
            joined.append(Named(*await join_private(directory, create=create)))
    except BaseException:
        for each in joined:
            if each.leave is not None:
                each.leave()
        raise
    return await open_places(joined, create=create)


def _addresses_now(settings: ServerSettings) -> list[str]:
    """Returns what the file of the places names; nothing while it cannot be read."""
    try:
        return settings.where.addresses
    except SettingsError:
        return []
