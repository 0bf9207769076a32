"""A database inside the process, and the boto3 clients that speak to it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy
from faradisc.database import Database, Settings
from faradisc.engine.backups.storage import BACKUPS_DIRECTORY, DirectoryBackupStorage
from faradisc.engine.exchange.locations import directories
from faradisc.engine.kinesis.sender import InlineSender
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.local import sessions
from faradisc.local.interrupts import run_whole
from faradisc.local.transport import attach
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.storage.api import Store
from faradisc.storage.immediate import run


class LocalDatabase:
    """A database of this process, in memory or in a directory.

    Requests run one at a time, in the thread of whoever asks; any thread may. A table is ACTIVE as soon as it
    is created, so no waiter ever sleeps; give `transition_ms` to see the states in between. One in a
    directory belongs to the process that opened it: forks of that are refused, and leave it alone.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        region: str | None = None,
        account: str = "000000000000",
        per_region: bool = False,
        transition_ms: int = 0,
        ttl_delay_s: float = 0.0,
        shard_lifetime_s: float = Settings().shard_lifetime_s,
        conflict_rate: float = 0.0,
        conflict_seed: int = 0,
        collection_bytes_max: int = Settings().collection_bytes_max,
        throughput: str = "off",
        throughput_tables: str = "",
        kinesis_endpoint_url: str | None = None,
        s3_root: str | os.PathLike[str] | None = None,
        restorable_lag_s: float = 0.0,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        """Open the database: in memory without a `path`, otherwise in that directory, made if missing.

        region: of clients that name none; otherwise that of AWS_DEFAULT_REGION, otherwise us-east-1.
        account: stands in ARNs.
        per_region: keep the tables of each region apart, as the service does.
        ttl_delay_s: how long an item outlives its time to live.
        shard_lifetime_s: after how long the open shards of a stream are followed by others.
        conflict_rate: share of writes and transactions refused with a conflict, 0 to 1, to test retries with;
        conflict_seed: which of them, the same number gives the same sequence.
        collection_bytes_max: largest item collection of tables with local indexes.
        throughput: capacity profile whose limits are enforced, "aws" for example, or with small partitions
        "aws:30/10"; throughput_tables: other profiles for single tables, "Orders=aws:30/10,Logs=off".
        kinesis_endpoint_url: where Kinesis destinations deliver to, before the request that follows a change.
        s3_root: directory whose directories are the buckets of exports and imports; else `s3` in `path`.
        restorable_lag_s: how far the latest moment a table can be restored to is behind the clock.
        clock, entropy: for tests that move time or need the same identifiers on every run.

        Raises: StorageError when the directory cannot be used; ValueError for a rate or profile that is none.
        """
        if not 0 <= conflict_rate <= 1:
            raise ValueError(f"conflict_rate is {conflict_rate}, not between 0 and 1")
        self.path = None if path is None else Path(path).absolute()
        self.region = region or os.environ.get("AWS_DEFAULT_REGION") or Settings().region
        self._lock = threading.Lock()
        self._process = os.getpid()
        settings = Settings(
            region=self.region,
            account=account,
            per_region=per_region,
            transition_ms=transition_ms,
            ttl_delay_s=ttl_delay_s,
            shard_lifetime_s=shard_lifetime_s,
            conflict_rate=conflict_rate,
            conflict_seed=conflict_seed,
            collection_bytes_max=collection_bytes_max,
            throughput=throughput,
            throughput_tables=throughput_tables,
            restorable_lag_s=restorable_lag_s,
        )
        if s3_root is None and self.path is not None:
            s3_root = self.path / "s3"
        logs = self.path / "logs" if self.path is not None else None
        store = self._open_store()
        try:
            self._database: Database | None = run(
                Database.open(
                    store,
                    settings=settings,
                    clock=clock,
                    entropy=entropy,
                    kinesis=InlineSender(kinesis_endpoint_url) if kinesis_endpoint_url else None,
                    locations=directories(s3_root, logs) if s3_root is not None else None,
                    backup_storage=None
                    if self.path is None
                    else DirectoryBackupStorage(self.path / BACKUPS_DIRECTORY, blocking=False),
                )
            )
        except BaseException:
            run(store.close())
            raise

    def _open_store(self) -> Store:
        if self.path is None:
            from faradisc.storage.memory import MemoryStore  # noqa: PLC0415 - one engine of two is needed

            return MemoryStore()
        from faradisc.storage.rocks import open_rocks  # noqa: PLC0415

        return open_rocks(self.path, durability="inline")

    # --- Clients ---------------------------------------------------------------------------------

    def client(self, service_name: str = "dynamodb", region_name: str | None = None, **options: Any) -> Any:
        """A boto3 client of this database. `options` are those of `boto3.client`.

        Raises: ValueError for a service other than dynamodb, dynamodbstreams, application-autoscaling and
        cloudwatch.
        """
        made = sessions.make_client(service_name, region_name or self.region, options)
        attach(made, self.answer)
        return made

    def resource(self, service_name: str = "dynamodb", region_name: str | None = None, **options: Any) -> Any:
        """A boto3 resource of this database. `options` are those of `boto3.resource`.

        Raises: ValueError for a service other than dynamodb.
        """
        made = sessions.make_resource(service_name, region_name or self.region, options)
        attach(made.meta.client, self.answer)
        return made

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer one HTTP request, in this thread.

        Raises: RuntimeError when the database is closed, or was opened by another process.
        """
        with self._alone():
            database = self.database
            while (response := run_whole(_answer_when_worked, database, request)) is None:
                pass
            return response

    # --- Life ------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._database is None

    def reset(self) -> None:
        """Drop every table at once, protected or not, and every backup."""
        with self._alone():
            run_whole(self.database.reset)

    def expire_now(self) -> int:
        """Delete every item whose time to live has passed, without waiting for its turn; their number."""
        with self._alone():
            return run_whole(self.database.expire_now)

    # --- Throughput and time ---------------------------------------------------------------------

    def capacity(self, table: str) -> dict[str, Any]:
        """Rates, banks, partitions, heat and splits of a table and its global indexes (""): plain data.

        Raises: AdminError when there is no such table.
        """
        with self._alone():
            database = self._worked()
            return database.desk.capacity(table, self.region, database.account)

    def change_capacity(self, table: str, wanted: dict[str, Any]) -> dict[str, Any]:
        """Pull the levers of a table: {"partitions": 4}, {"balance": {"write": 0}} and the others of
        services/administration/throughput.py; its capacity afterwards. Raises: AdminError."""
        with self._alone():
            database = self._worked()
            return run_whole(database.desk.change_capacity, table, self.region, database.account, wanted)

    def record(self, recorder: TraceRecorder | None) -> None:
        """Tell a recorder of every charge from now on; None: nobody any more."""
        with self._alone():
            run_whole(self.database.record, recorder)

    def accounts(self) -> list[tuple[str, ResourceRegistry]]:
        """Metrics and throughput of all tables, by namespace; one, ("", account), unless per_region."""
        with self._alone():
            return self._worked().accounts()

    def close(self) -> None:
        """Release the directory, or the memory. Clients of this database then refuse every request."""
        if self._is_forked:
            return  # the process that opened it owns it, and goes on
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                run_whole(database.close)

    @property
    def _is_forked(self) -> bool:
        """Whether this process is a fork of the one that opened the directory, which alone may write to it.
        What is in memory is a copy, as everything else of a forked process."""
        return self.path is not None and os.getpid() != self._process

    def _alone(self) -> threading.Lock:
        """What keeps other threads out. Raises: RuntimeError."""
        if self._is_forked:
            raise RuntimeError(
                f"the LocalDatabase in {self.path} belongs to process {self._process}, of which this is a "
                "fork; serve it to several processes with `faradisc serve`"
            )
        return self._lock

    def _worked(self) -> Database:
        """The database, with all background work done that is due: so a test that moves the clock or adds an
        index finds the outcome at once, and no thread runs behind its back."""
        database = self.database
        while run_whole(database.work):
            pass
        return database

    @property
    def database(self) -> Database:
        """Returns the database itself, for tests that look below its clients. Not for several threads.

        Raises: RuntimeError when this is closed.
        """
        if self._database is None:
            # Not an answer of the database: boto3 would take it for the service's and retry for a while.
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
    """Do some of the background work that is due, and answer if that was all of it."""
    return None if await database.work() else await answer(database, request)
