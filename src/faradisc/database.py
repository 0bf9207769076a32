"""The open database, for the server, the in-process clients and tests."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from faradisc import __version__
from faradisc.background import DatabaseJobs
from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.clock import Clock, Entropy, SystemClock, SystemEntropy
from faradisc.engine.backups.periods import Periods
from faradisc.engine.backups.registry import Backups
from faradisc.engine.backups.restoring import Restores
from faradisc.engine.backups.storage import BackupStorage, memory_backups
from faradisc.engine.derived.kinds import KINDS
from faradisc.engine.encryption.encryption import Encryption
from faradisc.engine.encryption.key_service import KeyService
from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.service import ExchangeService
from faradisc.engine.kinesis.delivery import KinesisDelivery
from faradisc.engine.kinesis.sender import Sender
from faradisc.engine.replication.group import PEER_PAUSE_S, Replicas
from faradisc.engine.replication.links import Links
from faradisc.engine.replication.peers import PeerClient
from faradisc.engine.replication.strong import StrongReplicas
from faradisc.engine.sealing.sealed_store import SealedStore
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.counted_sizes import CountedSizes
from faradisc.engine.tables.late import LateReads
from faradisc.engine.throughput.settings import parse_throughput
from faradisc.engine.throughput.trace_recorder import TraceRecorder
from faradisc.engine.transactions.conflicts import ConflictInjector
from faradisc.engine.transactions.tokens import Tokens
from faradisc.engine.ttl.sweep import Sweeper
from faradisc.errors import StorageError
from faradisc.limits import ITEM_COLLECTION_BYTES_MAX, SHARD_LIFETIME_S, TTL_CHANGE_INTERVAL_S
from faradisc.operations.backend import Backend, no_yield
from faradisc.operations.call import Call
from faradisc.operations.registry import OPERATIONS
from faradisc.protocol.executor import OperationExecutor
from faradisc.protocol.http import HttpRequest
from faradisc.protocol.response import RequestIds
from faradisc.records import dataclass
from faradisc.services.administration.checking import OnlineCheck
from faradisc.services.administration.service import Administration
from faradisc.services.other_services import OtherServices
from faradisc.storage.api import Store
from faradisc.storage.figures import Measured, StoreFigures

if TYPE_CHECKING:
    from faradisc.engine.cluster.cluster import Cluster
    from faradisc.engine.copying.place import CopyPlace
    from faradisc.operations.access.authorizer import Authorizer
    from faradisc.operations.faults import Faults
    from faradisc.services.administration.places import Places
    from faradisc.storage.postgres.routed import RoutedStore

T = TypeVar("T")


class RunLarge(Protocol):
    """Runs a function on another thread, one at a time, and returns what it returns. Raises Overloaded."""

    async def __call__(self, work: Callable[[], T], request: HttpRequest, /) -> T: ...


class CopyOfStore(Protocol):
    """The continuous copy of the store (server/copying.py, server/standby.py)."""

    @property
    def place(self) -> CopyPlace:
        """Where it is."""
        ...

    @property
    def problem(self) -> str:
        """What is wrong, in a sentence; "" if nothing is."""
        ...

    def document(self) -> dict[str, float | str]:
        """Returns what administrators see of it."""
        ...

    async def promote(self, confirmed: bool) -> dict[str, float | str]:
        """Makes a standby the primary. Returns its document, with a `fault` if it is not."""
        ...

    async def hand_over(self, is_done: bool) -> dict[str, float | str]:
        """Called at a primary by a standby that follows its address, first to get everything, then when it is
        the primary. Returns its document, with a `fault` if it does not hand over."""
        ...

    async def stop(self) -> None:
        """Called before the store is closed."""
        ...

    async def finish(self) -> None:
        """Called after the store was closed."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    region: str = "us-east-1"
    """Used where a request names no region (GET /)."""
    account: str = "000000000000"
    per_region: bool = False
    """Keep the tables of every account and region apart, as the service does."""
    regions: str = ""
    """The regions that exist, with commas, each with its own tables; "": any region."""
    replication_lag_ms: float = 0.0
    """Mean time that a write takes to another replica of its global table."""
    replication_seed: int = 0
    eventual_lag_ms: float = 0.0
    """How late eventually consistent reads and those of global indexes may be, at most."""
    eventual_lag_tables: str = ""
    """Other lags of single tables: "Orders=500,Logs=0"."""
    eventual_lag_seed: int = 0
    size_interval_s: float = 0.0
    """How often the counts and sizes in descriptions of tables are taken; 0: they are current."""
    transition_ms: int = 5
    """How long a table is CREATING, UPDATING or DELETING."""
    conflict_rate: float = 0.0
    """Share of single writes and transactions that are rejected as if by an ongoing transaction."""
    conflict_seed: int = 0
    shard_lifetime_s: float = SHARD_LIFETIME_S
    """How long a shard of a stream is open before its child opens."""
    ttl_delay_s: float = 0.0
    """How long an item outlives its expiry; the service takes minutes to days."""
    ttl_change_interval_s: float = TTL_CHANGE_INTERVAL_S
    """Least time between two changes of a table's time to live."""
    collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX
    """Largest item collection of a table with local indexes."""
    throughput: str = "off"
    """Capacity profile whose limits are enforced, with or without partition caps: "aws", "aws:30/10"."""
    throughput_tables: str = ""
    """Other profiles for single tables: "Orders=aws:30/10,Logs=off"."""
    restorable_lag_s: float = 0.0
    """How far LatestRestorableDateTime is behind the clock; about 5 minutes in the service."""
    describe_lag_ms: int = 0
    """How long DescribeTable does not find a table that was created."""
    faults: Faults | None = None
    """Errors, throttles and lost answers, to test programs with."""
    pause: Callable[[float], Awaitable[None]] = sleep
    """Waits so many seconds before a slow answer."""
    yield_control: Callable[[], Awaitable[None]] = no_yield
    """Awaited in the middle of long work; lets the event loop, where there is one, serve other requests."""
    background_throttle: Callable[[], Awaitable[None]] = no_yield
    """Awaited between steps of background work that do not wait for the disk; leaves requests a share."""
    alarm_webhook: str = ""
    """URL that actions of alarms are posted to; "": they are not carried out."""
    slow_ms: float = 0.0
    """A request that took longer is logged; 0 for none."""
    large: RunLarge | None = None
    """Runs the reading and checking of a large request body on another thread; None: in this one."""


COMMON_SETTINGS = (
    *("account", "region", "per_region", "regions", "transition_ms", "shard_lifetime_s", "ttl_delay_s"),
    *("ttl_change_interval_s", "collection_bytes_max", "throughput", "throughput_tables", "restorable_lag_s"),
    "describe_lag_ms",
)
"""Settings that all nodes of a shared store must have in common."""


class Database:
    """Executes operations on a store. Used by one thread (one event loop) at a time."""

    def __init__(self, backend: Backend, settings: Settings, places: RoutedStore | None = None) -> None:
        self.backend = backend
        """The parts of the database: store, catalog, clock, exchange, backups and the others."""
        self.settings = settings
        self.region = settings.region
        self.account = settings.account
        self.request_ids = RequestIds(backend.entropy)
        store, catalog = backend.store, backend.catalog
        self.knows, self.execute = backend.knows, backend.execute
        backend.check_caller = self._check_caller
        backend.set_faults(settings.faults)
        self.other_services = OtherServices(
            store,
            catalog,
            clock=backend.clock,
            entropy=backend.entropy,
            metrics_of=lambda place: catalog.throughput.registry(place).metrics,
            execute=self.execute,
            alarm_webhook=settings.alarm_webhook,
        )
        backend.replicas.scaling.service = self.other_services.replica_scaling
        self._sweeper = Sweeper(store, catalog, backend.clock, delay_s=settings.ttl_delay_s)
        self.checks = OnlineCheck(store, backend.clock, backend.backups.storage)
        """Checks of the whole database while it serves requests (`faradisc check --url`)."""
        self.copy: CopyOfStore | None = None
        """The continuous copy that the store is copied to, or follows. Closed with the database."""
        self.places: Places | None = None
        """Where the tables are, on a store of several places."""
        if places is not None:
            # Few stores have several.
            from faradisc.services.administration.places import Places  # noqa: PLC0415

            self.places = Places(places, catalog, backend.clock)
        self.cluster = backend.cluster
        self.engine: Store = store
        """The store without what is around it."""
        background = DatabaseJobs(backend, self._sweeper, self.checks, self.other_services, self.places)
        self.work, self.keep_up = background.step, background.keep_up
        """Each runs steps of background jobs, and returns False when there was nothing to do."""
        self.administration = Administration(backend, self._sweeper, self.work)
        """The operations of administrators."""

    @classmethod
    async def open(
        cls,
        store: Store,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        kinesis: Sender | None = None,
        locations: Locations | None = None,
        backup_storage: BackupStorage | None = None,
        address: str = "",
        keys: KeyService | None = None,
        places: RoutedStore | None = None,
        peers: Mapping[str, PeerClient] | None = None,
        peer_pause_s: float = PEER_PAUSE_S,
    ) -> Self:
        """Opens the database in a store. Raises StorageError.

        backup_storage: stores backups; default: in memory.
        kinesis: delivers to Kinesis destinations, and is closed with the database; without one, none can
        be switched on.
        keys: holds the master keys of encrypted tables, and is closed with the database.
        locations: where exports are written and imports are read; without them there are none.
        address: that other nodes of a shared store show of this one.
        places: the store, if it has, or may get, several places.
        peers: the ways to the servers of other regions, by region; closed with the database. They are asked
        every `peer_pause_s` seconds, and more often while something happens.
        """
        settings = settings or Settings()
        clock = clock or SystemClock()
        entropy = entropy or SystemEntropy()
        cluster: Cluster | None = None
        engine = store
        if store.shared:
            from faradisc.engine.cluster.cluster import Cluster  # noqa: PLC0415 - few stores are shared
            from faradisc.engine.cluster.leases import fenced  # noqa: PLC0415
            from faradisc.engine.cluster.nodes import SEVERAL_PLACES  # noqa: PLC0415

            cluster = await Cluster.join(
                store,
                clock,
                entropy,
                address=address,
                version=__version__,
                settings={
                    **{name: getattr(settings, name) for name in COMMON_SETTINGS},
                    "backups": "memory" if backup_storage is None else backup_storage.kind,
                    "buckets": locations is not None,
                    "peers": ",".join(sorted(peers or ())),
                    SEVERAL_PLACES: places is not None,
                },
            )
            store = fenced(store)
        sealers = Sealers(clock, entropy)
        # From here on `store` is this one. It has the engine's own methods, so that `commit` is the engine's,
        # until the first table is encrypted; then `commit` is SealedStore.commit, which seals the payloads of
        # encrypted tables and calls the engine's.
        store = SealedStore(store, sealers)
        catalog = Catalog(
            store,
            clock,
            entropy,
            KINDS,
            per_region=settings.per_region or bool(settings.regions),
            transition_ms=settings.transition_ms,
            describe_lag_ms=settings.describe_lag_ms,
            shard_lifetime_s=settings.shard_lifetime_s,
            collection_bytes_max=settings.collection_bytes_max,
            throughput=parse_throughput(settings.throughput, settings.throughput_tables),
            sealers=sealers,
            late=LateReads(
                clock, settings.eventual_lag_ms, settings.eventual_lag_tables, settings.eventual_lag_seed
            ),
        )
        encryption = Encryption(store, catalog, clock, entropy, keys)
        await catalog.load()
        exchange = ExchangeService(
            store,
            catalog,
            clock,
            entropy,
            locations,
            yield_control=settings.yield_control,
            background_throttle=settings.background_throttle,
        )
        await exchange.load()
        backups = Backups(store, catalog, clock, entropy, backup_storage or memory_backups())
        await backups.load()
        restores = Restores(store, catalog, clock, backups)
        readers = (restores.oldest_needed_ns, exchange.oldest_needed_ns)
        periods = Periods(store, catalog, readers, lag_s=settings.restorable_lag_s)
        await periods.load()
        links = Links(store, settings.replication_lag_ms, settings.replication_seed)
        await links.load()
        regions = tuple(filter(None, map(str.strip, settings.regions.split(","))))
        replicas = Replicas(
            store,
            catalog,
            clock,
            links,
            regions=regions,
            encryption=encryption,
            peers=peers,
            peer_pause_s=peer_pause_s,
        )
        strong = StrongReplicas(store, replicas, catalog.follower.refresh)
        catalog.tables.strong.join, catalog.tables.strong.stamps = strong.join, strong.stamps
        sizes = CountedSizes(store, catalog.tables.all, clock, settings.size_interval_s)
        await sizes.step()
        rate, seed = settings.conflict_rate, settings.conflict_seed
        backend = Backend(
            operations=OPERATIONS,
            store=store,
            catalog=catalog,
            clock=clock,
            entropy=entropy,
            tokens=Tokens(store, places),
            kinesis=KinesisDelivery(store, catalog, clock, entropy, kinesis),
            exchange=exchange,
            backups=backups,
            restores=restores,
            periods=periods,
            encryption=encryption,
            replicas=replicas,
            sizes=sizes,
            cluster=cluster,
            conflicts=ConflictInjector(rate, seed) if rate else None,
            ttl_change_interval_s=settings.ttl_change_interval_s,
            pause=settings.pause,
            yield_control=settings.yield_control,
            slow_ns=settings.slow_ms * 1e6 or inf,
        )
        database = cls(backend, settings, places)
        database.engine = engine
        await database.other_services.load()
        if cluster is not None:
            database.other_services.share(cluster.broadcast, cluster.follow)
        return database

    def store_figures(self) -> StoreFigures | None:
        """Returns the figures of a store that has some, which is one on this disk."""
        return self.engine.figures() if isinstance(self.engine, Measured) else None

    def problems(self) -> list[str]:
        """Returns a sentence for each thing that takes away some tables only, the copy or a peer."""
        found = [] if self.places is None else self.places.problems()
        found = [*found, *self.backend.replicas.peers.problems()]
        return [*found, self.copy.problem] if self.copy is not None and self.copy.problem else found

    async def run_large(self, work: Callable[[], T], request: HttpRequest) -> T:
        """Returns what `work` returns; a server runs it on another thread. Raises Overloaded."""
        return work() if self.settings.large is None else await self.settings.large(work, request)

    async def yield_control(self) -> None:
        await self.settings.yield_control()

    async def expire_now(self) -> int:
        """Deletes every item that has expired by the clock, without `ttl_delay_s`. Returns their number."""
        return await self._sweeper.expire_now()

    def accounts(self) -> list[tuple[str, ResourceRegistry]]:
        """Returns throughput and metrics by namespace of the catalog."""
        return self.backend.catalog.throughput.registries()

    async def record(self, recorder: TraceRecorder | None) -> None:
        """Passes every charge to a recorder; None: stops recording."""
        await self.backend.catalog.throughput.record(recorder)

    @property
    def store(self) -> Store:
        return self.backend.store

    @cached_property
    def authorizer(self) -> Authorizer:
        """Tests the requests of callers whom policies limit."""
        from faradisc.operations.access.authorizer import Authorizer  # noqa: PLC0415 - seldom needed

        return Authorizer(self.backend)

    def _check_caller(self, call: Call) -> None:
        self.authorizer.check(call)

    def authorize(self, call: Call, service: str) -> None:
        """Tests whether the caller may use an operation of another service, which has no resources.

        Raises AccessDeniedException.
        """
        from faradisc.operations.access.needs import Need  # noqa: PLC0415 - seldom needed

        self.authorizer.require(call, Need(call.operation, "*", service=service))

    def other_service(self, service: str) -> OperationExecutor:
        return self.other_services.of(service)

    async def reset(self) -> None:
        """Drops every table at once, protected or not, and every backup."""
        await self.backend.exchange.drop_all()
        await self.backend.catalog.drop_all()
        await self.backend.backups.drop_all()
        await self.other_services.drop_all()

    async def close(self) -> None:
        if self.copy is not None:
            await self.copy.stop()
        await self.checks.close()
        self.backend.kinesis.close()
        self.backend.replicas.peers.close()
        self.other_services.close()
        self.backend.exchange.close()
        self.backend.encryption.close()
        with suppress(StorageError):
            await self.backend.catalog.throughput.save_all()
        await self.backend.backups.close()
        if self.cluster is not None:
            await self.cluster.leave()
        await self.backend.store.close()
        if self.copy is not None:
            await self.copy.finish()
