"""A database inside the process, and its boto3 clients."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy, MovableClock
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import (
    BACKUPS_DIRECTORY,
    BackupStorage,
    directory_backups,
    memory_backups,
)
from faradisc.engine.encryption.key_file import KeysInMemory
from faradisc.engine.encryption.services import key_file_of, key_service, own_keys
from faradisc.engine.exchange.locations import directories
from faradisc.engine.kinesis.sender import InlineSender
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.limits import TTL_DELAY_S
from faradisc.local import sessions
from faradisc.local.interrupts import run_whole
from faradisc.local.transport import attach
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.storage.api import Store
from faradisc.storage.immediate import run

if TYPE_CHECKING:
    from faradisc.operations.faults import Faults

LIMITS = (
    *("conflict_rate", "conflict_seed", "throughput", "throughput_tables"),
    *("eventual_lag_ms", "eventual_lag_tables", "eventual_lag_seed", "faults"),
)
"""Settings that a fork may have of its own."""


class LocalDatabase:
    """A database of this process, in memory or in a directory.

    Requests run one at a time, in the caller's thread; any thread may call. A table is ACTIVE as soon as it
    is created, so waiters never sleep; `transition_ms` shows the states in between. A database in a directory
    belongs to the process that opened it: a fork of that process cannot use or close it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        region: str | None = None,
        account: str = "000000000000",
        per_region: bool = False,
        regions: Iterable[str] = (),
        replication_lag_ms: float = 0.0,
        replication_seed: int = 0,
        eventual_lag_ms: float = 0.0,
        eventual_lag_tables: str = "",
        eventual_lag_seed: int = 0,
        size_interval_s: float = 0.0,
        faults: str | os.PathLike[str] | dict[str, Any] | None = None,
        transition_ms: int = 0,
        ttl_delay_s: float = TTL_DELAY_S,
        shard_lifetime_s: float = Settings().shard_lifetime_s,
        conflict_rate: float = 0.0,
        conflict_seed: int = 0,
        collection_bytes_max: int = Settings().collection_bytes_max,
        throughput: str = "off",
        throughput_tables: str = "",
        kinesis_endpoint_url: str | None = None,
        s3_root: str | os.PathLike[str] | None = None,
        restorable_lag_s: float = 0.0,
        describe_lag_ms: int = 0,
        keys: str | os.PathLike[str] | None = None,
        kms_endpoint_url: str | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        """Opens the database: in memory without a `path`, otherwise in that directory, created if missing.

        region: of clients that name none; default: AWS_DEFAULT_REGION, else us-east-1.
        account: in ARNs.
        per_region: keep the tables of each region apart, as the service does.
        regions: those that exist, each with its own tables, for replicas of global tables; default: any.
        replication_lag_ms: mean time that a write takes to another replica, drawn from replication_seed.
        eventual_lag_ms: how late eventually consistent reads and those of global indexes may be, drawn from
        eventual_lag_seed; GetRecords is by exactly this. eventual_lag_tables: other lags of single tables,
        "Orders=500,Logs=0".
        size_interval_s: how often the counts and sizes in descriptions are taken; 0: they are current.
        faults: errors, throttles, lost and slow answers: a file as for `faradisc serve`, or its document. A
        slow answer moves a clock that can be moved, and sleeps with another.
        ttl_delay_s: how long an item outlives its time to live; `expire_now` deletes at once.
        shard_lifetime_s: after how long the open shards of a stream close and their children open.
        conflict_rate: share of writes and transactions rejected with a conflict, 0 to 1, to test retries.
        conflict_seed: the same number gives the same sequence of conflicts.
        collection_bytes_max: largest item collection of tables with local indexes.
        throughput: capacity profile whose limits are enforced, "aws" for example, or with small partitions
        "aws:30/10". throughput_tables: other profiles for single tables, "Orders=aws:30/10,Logs=off".
        kinesis_endpoint_url: where Kinesis destinations deliver to, before the request that follows a change.
        s3_root: directory whose subdirectories are the buckets of exports and imports; default: `s3` in
        `path`.
        restorable_lag_s: how far the latest restorable time of a table is behind the clock.
        describe_lag_ms: how long DescribeTable does not find a table that was created.
        keys: file of master keys of encrypted tables, made by `faradisc keys create`.
        kms_endpoint_url: endpoint of a KMS, whose master keys replace those of a file.
        clock, entropy: for tests that move time or need the same identifiers on every run.

        Raises StorageError when the directory cannot be used; ValueError for an invalid rate or profile;
        SealedFileError when the key file cannot be used.
        """
        if not 0 <= conflict_rate <= 1:
            raise ValueError(f"conflict_rate is {conflict_rate}, not between 0 and 1")
        self.path = None if path is None else Path(path).absolute()
        self.region = region or os.environ.get("AWS_DEFAULT_REGION") or Settings().region
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._settings = Settings(
            region=self.region,
            account=account,
            per_region=per_region,
            regions=",".join(regions),
            replication_lag_ms=replication_lag_ms,
            replication_seed=replication_seed,
            eventual_lag_ms=eventual_lag_ms,
            eventual_lag_tables=eventual_lag_tables,
            eventual_lag_seed=eventual_lag_seed,
            size_interval_s=size_interval_s,
            faults=_faults_of(faults),
            transition_ms=transition_ms,
            ttl_delay_s=ttl_delay_s,
            shard_lifetime_s=shard_lifetime_s,
            conflict_rate=conflict_rate,
            conflict_seed=conflict_seed,
            collection_bytes_max=collection_bytes_max,
            throughput=throughput,
            throughput_tables=throughput_tables,
            restorable_lag_s=restorable_lag_s,
            describe_lag_ms=describe_lag_ms,
        )
        if s3_root is None and self.path is not None:
            s3_root = self.path / "s3"
        logs = self.path / "logs" if self.path is not None else None

        own_file = KeysInMemory() if self.path is None else key_file_of(self.path)

        def open_database(
            store: Store, settings: Settings, backups: BackupStorage, clock: Clock | None
        ) -> Database:
            return run(
                Database.open(
                    store,
                    settings=replace(settings, pause=_pausing(clock)),
                    clock=clock,
                    entropy=entropy,
                    kinesis=InlineSender(kinesis_endpoint_url) if kinesis_endpoint_url else None,
                    locations=directories(s3_root, logs) if s3_root is not None else None,
                    backup_storage=backups,
                    keys=own_keys(
                        own_file,
                        key_service(keys, kms_endpoint_url, clock, entropy, blocking=False),
                        clock,
                        entropy,
                        account=account,
                    ),
                )
            )

        self._open_database = open_database
        self._backups: BackupStorage = (
            memory_backups()
            if self.path is None
            else directory_backups(self.path / BACKUPS_DIRECTORY, blocking=False)
        )
        self._open(self._open_store(), clock)

    def _open_store(self) -> Store:
        if self.path is None:
            from faradisc.storage.memory import MemoryStore  # noqa: PLC0415 - one engine of two is needed

            return MemoryStore()
        from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

        return open_rocks(self.path, durability="inline")

    def _open(self, store: Store, clock: Clock | None) -> None:
        self._store = store
        try:
            self._database: Database | None = self._open_database(store, self._settings, self._backups, clock)
        except BaseException:
            run(store.close())
            raise

    def fork(self, *, clock: Clock | None = None, **limits: Any) -> LocalDatabase:
        """Returns another database with the tables, items, streams and backups of this one, as if restarted.

        Neither sees later changes of the other. Rows are shared until one of the two writes to their part of
        a table, so the cost depends on the number of tables, not of items.

        clock: default: that of this database, so a test that moves it moves both.
        limits: settings of this class that are others: those of conflicts, throughput and late reads.

        Raises ValueError for a database in a directory, whose files have one owner. Raises
        TypeError for another limit.
        """
        from faradisc.storage.memory import MemoryStore  # noqa: PLC0415 - one engine of two is needed

        store = self._store
        backups = self._backups.copy()
        if not isinstance(store, MemoryStore) or backups is None:
            raise ValueError("only a LocalDatabase in memory can be forked")
        if unknown := limits.keys() - LIMITS:
            raise TypeError(f"fork() takes the limits {', '.join(LIMITS)}, not {', '.join(sorted(unknown))}")
        with self._exclusive():
            database = self._worked()
            run_whole(database.backend.catalog.throughput.save_all)
            twin = copy(self)
            twin._lock = threading.Lock()
            if "faults" in limits:
                limits["faults"] = _faults_of(limits["faults"])
            twin._settings = replace(self._settings, **limits)
            twin._backups = backups
            twin._open(store.fork(), clock or database.backend.clock)
        return twin

    def seed(self, directory: str | os.PathLike[str]) -> None:
        """Creates the tables that a directory defines and puts their items, as `faradisc seed` does.

        Existing tables stay unchanged. Raises ValueError, which names the errors by file and line.
        """
        # Seldom needed.
        from faradisc.operations.backend import no_yield  # noqa: PLC0415
        from faradisc.tools.seeding import apply, read_seed  # noqa: PLC0415
        from faradisc.tools.seeding.calling import SeedingCaller, errors_in  # noqa: PLC0415

        async def answered(request: HttpRequest) -> HttpResponse:
            return self.answer(request)

        outcome = run(apply(read_seed(Path(directory)), SeedingCaller(answered, self.region).call, no_yield))
        if outcome.errors:
            raise ValueError(f"The seed cannot be used:{errors_in(os.fspath(directory), outcome)}")

    # --- Clients ---------------------------------------------------------------------------------

    def client(self, service_name: str = "dynamodb", region_name: str | None = None, **options: Any) -> Any:
        """Returns a boto3 client of this database. `options` are those of `boto3.client`.

        Raises ValueError for a service other than dynamodb, dynamodbstreams, application-autoscaling and
        cloudwatch.
        """
        made = sessions.make("client", service_name, region_name or self.region, options)
        attach(made, self.answer)
        return made

    def resource(self, service_name: str = "dynamodb", region_name: str | None = None, **options: Any) -> Any:
        """Returns a boto3 resource of this database. `options` are those of `boto3.resource`.

        Raises ValueError for a service other than dynamodb.
        """
        made = sessions.make("resource", service_name, region_name or self.region, options)
        attach(made.meta.client, self.answer)
        return made

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answers one HTTP request, in this thread.

        Raises RuntimeError when the database is closed, or was opened by another process.
        """
        with self._exclusive():
            database = self.database
            while (response := run_whole(_answer_when_worked, database, request)) is None:
                pass
            return response

    # --- Life ------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._database is None

    def reset(self) -> None:
        """Drops every table at once, protected or not, and every backup."""
        with self._exclusive():
            run_whole(self.database.reset)

    def expire_now(self) -> int:
        """Deletes every item whose time to live has passed. Returns their number."""
        with self._exclusive():
            return run_whole(self.database.expire_now)

    # --- Throughput and time ---------------------------------------------------------------------

    def capacity(self, table: str) -> dict[str, Any]:
        """Returns rates, burst capacity, partitions, heat and splits of a table and its global indexes ("").

        Raises AdminError when there is no such table.
        """
        with self._exclusive():
            database = self._worked()
            return run_whole(database.administration.capacity, table, self.region, database.account)

    def change_capacity(self, table: str, wanted: dict[str, Any]) -> dict[str, Any]:
        """Changes a table's capacity: {"partitions": 4}, {"balance": {"write": 0}} and the other settings of
        services/administration/throughput.py. Returns its capacity afterwards. Raises AdminError."""
        with self._exclusive():
            database = self._worked()
            return run_whole(
                database.administration.change_capacity, table, self.region, database.account, wanted
            )

    def replication(self) -> list[dict[str, Any]]:
        """Returns the links between replicas: what waits, for how long, what was delivered, conflicts."""
        with self._exclusive():
            return run_whole(self._worked().administration.replication)

    def cut(self, region: str, other: str) -> None:
        """Stops replication between two regions, both ways, until `heal`, also in a stored database
        that is opened again. Their writes wait."""
        with self._exclusive():
            run_whole(self._worked().backend.replicas.links.cut, region, other)

    def heal(self, region: str, other: str) -> None:
        """Lets what waits between two regions pass."""
        with self._exclusive():
            run_whole(self.database.backend.replicas.links.heal, region, other)

    def late_reads(self, **wanted: Any) -> dict[str, Any]:
        """Changes how late reads are from now on, by `ms`, `tables` ({"Orders": 500}) and `seed`, as POST
        /_faradisc/late-reads does; returns what holds then. Raises AdminError."""
        with self._exclusive():
            return self.database.administration.change_late_reads(wanted)

    def faults(self, wanted: dict[str, Any] | None = None) -> dict[str, Any]:
        """Replaces the faults by those of a document, such as {"faults": []}; None: leaves them. Returns them
        with how often each was applied, and which writes were repeated unsafely. Raises AdminError."""
        with self._exclusive():
            administration = self.database.administration
            return administration.faults() if wanted is None else administration.change_faults(wanted)

    def record(self, recorder: TraceRecorder | None) -> None:
        """Passes every charge to a recorder from now on; None: stops recording."""
        with self._exclusive():
            run_whole(self.database.record, recorder)

    def accounts(self) -> list[tuple[str, ResourceRegistry]]:
        """Returns metrics and throughput by namespace: of one, ("", account), unless per_region."""
        with self._exclusive():
            return self._worked().accounts()

    def close(self) -> None:
        """Releases the directory, or the memory. Clients of this database then raise RuntimeError."""
        if self._is_forked:
            return  # the process that opened it owns it, and goes on
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                run_whole(database.close)

    @property
    def _is_forked(self) -> bool:
        """Whether this process is a fork of the one that opened the directory, which alone may write to it.

        A database in memory is copied by a fork.
        """
        return self.path is not None and os.getpid() != self._process

    def _exclusive(self) -> threading.Lock:
        """Returns the lock against other threads. Raises RuntimeError in a fork."""
        if self._is_forked:
            raise RuntimeError(
                f"the LocalDatabase in {self.path} belongs to process {self._process}, of which this is a "
                "fork; serve it to several processes with `faradisc serve`"
            )
        return self._lock

    def _worked(self) -> Database:
        """Returns the database after all due background work: a test that moves the clock or adds an index
        sees the result at once, without a background thread."""
        database = self.database
        while run_whole(database.work):
            pass
        return database

    @property
    def database(self) -> Database:
        """The database itself, for tests that look below its clients. Not for several threads.

        Raises RuntimeError when this is closed.
        """
        if self._database is None:
            # Not an error of the API, which boto3 would retry for a while.
            raise RuntimeError("this LocalDatabase is closed")
        return self._database

    def __enter__(self) -> LocalDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"<LocalDatabase {where}{', closed' if self.closed else ''}>"


async def _answer_when_worked(database: Database, request: HttpRequest) -> HttpResponse | None:
    """Does a step of background work; answers the request when nothing is left to do."""
    return None if await database.work() else await answer(database, request)


def _faults_of(given: str | os.PathLike[str] | dict[str, Any] | None) -> Faults | None:
    """Raises ValueError, with the place of a mistake."""
    if given is None:
        return None
    from faradisc.operations.faults import read_fault_file, read_faults  # noqa: PLC0415 - few have some

    return read_faults(given) if isinstance(given, dict) else read_fault_file(Path(given).read_text())


def _pausing(clock: Clock | None) -> Callable[[float], Awaitable[None]]:
    async def pause(seconds: float) -> None:
        if isinstance(clock, MovableClock):
            clock.advance(seconds)
        else:
            time.sleep(seconds)  # noqa: ASYNC251 - there is no loop: the request has this thread

    return pause
