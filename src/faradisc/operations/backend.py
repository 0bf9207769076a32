"""The open database as operations use it: its parts, and how an operation is executed.

A request passes here twice: `execute` finds its operation, and counts what it raises; the operation asks for
its table. Which operations there are is in registry.py.
"""

from __future__ import annotations

import re
from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Protocol

from faradisc.capacity.throttle import Throttled
from faradisc.clock import Clock, Entropy, quick_reading
from faradisc.engine.backups.periods import Periods
from faradisc.engine.backups.registry import Backups
from faradisc.engine.backups.restoring import Restores
from faradisc.engine.encryption.encryption import Encryption
from faradisc.engine.exchange.service import ExchangeService
from faradisc.engine.kinesis.delivery import KinesisDelivery
from faradisc.engine.replication.group import Replicas
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.counted_sizes import CountedSizes
from faradisc.engine.tables.names import table_not_found
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.tables import Tables
from faradisc.engine.throughput.table_usage import RequestTime
from faradisc.engine.transactions.conflicts import ConflictInjector
from faradisc.engine.transactions.tokens import Tokens
from faradisc.errors import (
    ApiError,
    RequestRuleError,
    StorageError,
    ValidationException,
)
from faradisc.limits import TTL_CHANGE_INTERVAL_S
from faradisc.metrics.request_metrics import RECENT_MAX
from faradisc.model.values.checks import Wording
from faradisc.operations.call import Call
from faradisc.operations.request_counter import RequestCounter, log_slow
from faradisc.records import dataclass, field
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.cluster.cluster import Cluster

_TRANSACTIONS = ("TransactWriteItems", "TransactGetItems", "ExecuteTransaction")
"""What strongly consistent global tables refuse (new-features.md section 11); the text is assumed."""

Handler = Callable[["Backend", Call], Awaitable[dict[str, Any]]]

Access = Literal[
    "account",  # `*`
    "table",  # TableName
    "table or index",  # TableName, IndexName
    "index",
    "tables",  # the tables of a batch
    "transaction",  # each action of its elements
    "statements",  # PartiQL's action of each statement
    "new table",
    "updated table",  # and its replicas that are added or removed
    "source table",  # and what a restore does to its target
    "source backup",
    "backup",
    "task",  # an export, an import or a bulk operation
    "tasks",  # `*`, or those of a table
    "exported table",  # and the bucket
    "imported table",
    "filled table",
    "global table",
    "stream",
    "iterator",  # the stream in it
    "captured table",  # and the Kinesis stream
    "resource",  # ResourceArn
]
"""The resources that an operation uses, on which its caller needs the action of the operation's name, or of
the names that access/needs.py lists. Source: iam.md section 1.2."""


class Operation:
    """One API action, for example CreateTable: the function `create_table` in tables.py.

    The file is imported at the first request for the action: most servers use ten of the sixty operations,
    and importing all of them, with expressions, searches and PartiQL, takes a quarter of the start.

    `wording` and `enveloped` say in which of the two validation layers of the service the operation is
    (errors.md section 3, "Two layers in 2026").
    """

    __slots__ = ("_file", "access", "enveloped", "follows", "handler", "name", "wording")

    def __init__(
        self,
        name: str,
        access: Access,
        *,
        file: str = "",
        wording: Wording = Wording.OLD,
        enveloped: bool = False,
    ) -> None:
        """file: the module in this package, if it has another name than the function."""
        self.name = name
        self.access = access
        self.wording = wording
        self.enveloped = enveloped
        self.follows: Literal["all", "first", "late"] = "first"
        """When it takes over what other nodes have changed: all of it first; the tables first; or the tables
        when one is missing, has changed or does not fit the request."""
        self._file = file or _function_name(name)
        self.handler: Handler = self._first

    def load(self) -> Handler:
        """Imports the operation's file, and sets `handler` to the function in it."""
        module = import_module(f"{__package__}.{self._file}")
        self.handler = getattr(module, _function_name(self.name))
        return self.handler

    async def _first(self, backend: Backend, call: Call) -> dict[str, Any]:
        return await self.load()(backend, call)


def _function_name(operation: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()


async def no_yield() -> None:
    """Returns at once: without an event loop no other request waits for the thread."""


def every_caller(call: Call) -> None:
    """Lets every caller do everything."""


class Faulty(Protocol):
    """Errors, throttles and lost answers, to test programs with (faults.py)."""

    def on(self, operations: Mapping[str, Operation]) -> Mapping[str, Operation]:
        """Returns the operations with their faults."""
        ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(slots=True, kw_only=True)
class Backend:
    """The parts of a database."""

    operations: Mapping[str, Operation]

    store: Store
    catalog: Catalog
    tables: Tables = field(init=False)
    clock: Clock
    entropy: Entropy
    tokens: Tokens
    kinesis: KinesisDelivery
    exchange: ExchangeService
    backups: Backups
    restores: Restores
    periods: Periods
    encryption: Encryption
    replicas: Replicas
    sizes: CountedSizes
    """What descriptions show of counts and sizes."""
    cluster: Cluster | None = None
    """This node among others; None: the store is embedded."""
    conflicts: ConflictInjector | None = None
    """Injects transaction conflicts, to test programs with; None: only real conflicts occur."""
    ttl_change_interval_s: float = TTL_CHANGE_INTERVAL_S
    pause: Callable[[float], Awaitable[None]] = sleep
    """Waits so many seconds."""
    yield_control: Callable[[], Awaitable[None]] = no_yield
    """Awaited during long work, so that other requests run."""
    slow_ns: float = inf
    """Requests that take longer are logged."""
    check_caller: Callable[[Call], None] = every_caller
    """Tests a request of a caller whom policies limit. Raises AccessDeniedException."""
    faults: Faulty | None = field(init=False, default=None)
    """Set by `set_faults`."""
    _without_faults: Mapping[str, Operation] = field(init=False)
    _counter: RequestCounter = field(init=False)
    _read_clock: Callable[[], int] = field(init=False)
    _request_time: RequestTime = field(init=False)

    def __post_init__(self) -> None:
        self.tables = self.catalog.tables
        self._without_faults = self.operations
        self._counter = RequestCounter(self.tables.registry_of)
        self._read_clock = quick_reading(self.clock)
        self._request_time = self.catalog.throughput.request_time

    def set_faults(self, faults: Faulty | None) -> None:
        """Replaces the faults of requests from now on; None: there are none."""
        self.faults = faults
        self.operations = self._without_faults if faults is None else faults.on(self._without_faults)

    def table_for_data(self, call: Call, name_or_arn: str) -> Table:
        """Returns a table to read or write. Raises ResourceNotFoundException, ValidationException."""
        table = self.tables.for_data(name_or_arn, call.region, call.account)
        if table.strong is not None and call.operation in _TRANSACTIONS:
            raise ValidationException(
                "Transactional operations are not supported for global tables with MultiRegionConsistency "
                "set to STRONG."
            )
        if call.first_table is None:
            call.first_table = table
            return table
        if table is not call.first_table:
            call.add_table(table)
        return table

    def table_for_control(self, call: Call) -> Table:
        """Returns the table of a control-plane request. Raises ResourceNotFoundException."""
        return self.tables.for_control(call.request["TableName"], call.region, call.account)

    def table_for_backup(self, call: Call, name_or_arn: str) -> Table:
        """Returns the table of a backup request. Raises TableNotFoundException."""
        table = self.tables.find(name_or_arn, call.region, call.account)
        if table is None:
            raise table_not_found(name_or_arn)
        return table

    def knows(self, operation: str) -> bool:
        """Whether `execute` takes calls of this operation."""
        return operation in self.operations

    async def execute(self, call: Call) -> dict[str, Any]:
        """Runs one operation.

        Returns JSON values and `orjson.Fragment`s. Raises ApiError; StorageError when the store fails.
        """
        operation = self.operations[call.operation]
        call.wording = Wording.OLD if call.older else operation.wording
        read_clock = self._read_clock
        began = read_clock()
        self._request_time.now = began
        try:
            if call.caller is not None:
                self.check_caller(call)
            if self.cluster is None:
                result = await operation.handler(self, call)
            else:
                result = await self._execute_shared(operation, call)
        except RequestRuleError as error:
            self._counter.rejected(call, error)
            if operation.enveloped and not call.older:
                raise error.enveloped() from None
            raise
        except ApiError as error:
            self._counter.rejected(call, error)
            raise
        except Throttled as throttled:
            throttle = throttled.throttle.as_api_error()
            self._counter.rejected(call, throttle)
            raise throttle from None
        except StorageError:
            self._counter.failed(call)
            raise
        elapsed = read_clock() - began
        if call.first_table is not None:
            # TableMeter.succeeded, written out: this is on the path of every request. Those of the control
            # plane ask for no data and are not counted.
            try:
                recent = call.first_table.meter.latencies[call.operation]
            except KeyError:
                recent = call.first_table.meter.latency_window(call.operation)
            recent.append(elapsed)
            if len(recent) == RECENT_MAX:
                call.first_table.meter.count_latencies(call.operation)
        if call.stats is not None:
            self._counter.succeeded(call, call.stats, elapsed)
        if elapsed > self.slow_ns:
            log_slow(call, elapsed)
        return result

    async def _execute_shared(self, operation: Operation, call: Call) -> dict[str, Any]:
        """Runs an operation beside other nodes: with the tables as they are, even if another node has just
        changed them."""
        if operation.follows == "all" and self.cluster is not None:
            await self.cluster.follow()
        elif operation.follows != "late":
            await self.catalog.follower.refresh()
        if operation.name == "BatchExecuteStatement":  # which repeats single statements
            return await operation.handler(self, call)

        def attempt() -> Awaitable[dict[str, Any]]:
            call.first_table = call.stats = None
            return operation.handler(self, call)

        return await self.catalog.follower.with_newest(attempt)
