"""Counts requests of all operations: latencies, throttled requests, errors, items returned.

Units and throttle events are counted where they are charged (engine/tables/charging.py); here requests are.
Source: metrics.md; capacity.md section 2.14; vectors V130, V131, V133.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from faradisc.capacity.resource_registry import ResourceRegistry
from faradisc.engine.tables.table import Table
from faradisc.errors import (
    ApiError,
    ConditionalCheckFailedException,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
)
from faradisc.metrics.metric_store import Dimensions, dimensions
from faradisc.operations.call import Call, RequestStats, StreamRead

THROTTLES: Final = (ProvisionedThroughputExceededException, ThrottlingException, RequestLimitExceeded)
_THROTTLE_CODES: Final = {"ProvisionedThroughputExceeded", "ThrottlingError"}
"""Codes in the reasons of a cancelled transaction."""
_TRANSACTIONS: Final = {"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"}


_log = logging.getLogger(__name__)


class RequestCounter:
    """Counts requests in the metrics of the account they belong to."""

    __slots__ = ("_registry_of",)

    def __init__(self, registry_of: Callable[[str, str], ResourceRegistry]) -> None:
        self._registry_of = registry_of

    def succeeded(self, call: Call, stats: RequestStats, elapsed: int) -> None:
        """Counts a request on several tables, or one that returned items or records. Backend.execute counts
        its first table."""
        for table in stats.tables:
            table.meter.succeeded(call.operation, elapsed)
        if stats.all_throttled:
            _throttled(call, call.tables)
        if isinstance(stats.returned, int):
            for table in call.tables:
                requests = table.meter.registry.requests
                requests.operation(table.name, call.operation).returned[stats.returned] += 1
        elif stats.returned is not None:
            self._read_stream(call.operation, stats.returned, elapsed)

    def _read_stream(self, operation: str, read: StreamRead, elapsed: int) -> None:
        """Counts a page of a stream, by the stream's label only."""
        stream = read.stream
        requests = self._registry_of(stream.region, stream.account).requests
        meter = requests.operation(stream.table_name, operation, dimensions(StreamLabel=stream.label))
        meter.succeeded(elapsed)
        meter.records[read.records] += 1
        meter.record_bytes[read.size_bytes] += 1

    def rejected(self, call: Call, error: ApiError) -> None:
        """Counts a request that was rejected with an error."""
        tables = call.tables
        if isinstance(error, THROTTLES):
            _throttled(call, _rejected_by(call, error) if call.operation in _TRANSACTIONS else tables)
            return
        if isinstance(error, ConditionalCheckFailedException):
            for table in tables:
                table.meter.registry.requests.conditions_failed[table.name] += 1
            return
        if isinstance(error, TransactionConflictException | TransactionCanceledException):
            self._conflicts(call, error)
            short = _short_of_capacity(call, error)
            if short:
                _throttled(call, short)
                return
        elif error.status >= 500:
            self.failed(call)
            return
        self._registry_of(call.region, call.account).requests.user_errors += 1

    def failed(self, call: Call) -> None:
        """Counts a request that failed inside the database."""
        for table in call.tables:
            table.meter.registry.requests.operation(table.name, call.operation).system_errors += 1

    def _conflicts(self, call: Call, error: ApiError) -> None:
        reasons = error.extra.get("CancellationReasons", [{"Code": "TransactionConflict"}])
        items = sum(reason["Code"] == "TransactionConflict" for reason in reasons)
        if items:
            for table in call.tables:
                table.meter.registry.requests.conflicts[table.name].append(items)


def _throttled(call: Call, tables: Iterable[Table]) -> None:
    """Counts a request that was throttled by these tables or by indexes of theirs."""
    for table in tables:
        requests = table.meter.registry.requests
        requests.operation(table.name, call.operation, _extra(call)).throttled += 1


def _rejected_by(call: Call, error: ApiError) -> list[Table]:
    """Returns the tables that throttled a transaction as a whole."""
    reasons = [*error.extra.get("ThrottlingReasons", ()), *error.extra.get("throttlingReasons", ())]
    names = {reason["resource"].split("/")[1] for reason in reasons}
    return [table for table in call.tables if table.name in names] or list(call.tables)


def _short_of_capacity(call: Call, error: ApiError) -> list[Table]:
    """Returns the tables whose capacity a cancelled transaction lacked; for statements, all of its tables."""
    reasons = error.extra.get("CancellationReasons", ())
    short = [position for position, reason in enumerate(reasons) if reason["Code"] in _THROTTLE_CODES]
    if not short or "TransactItems" not in call.request:
        return list(call.tables) if short else []
    actions = call.request["TransactItems"]
    named = [next(iter(actions[position].values()))["TableName"] for position in short]
    names = {name.rsplit("/", 1)[-1] for name in named}
    return [table for table in call.tables if table.name in names]


def _extra(call: Call) -> Dimensions:
    """Returns the further dimensions of throttled PartiQL requests (measured)."""
    if call.operation == "ExecuteStatement":
        return dimensions(Verb=f"PartiQL{_verb(call.request['Statement']).capitalize()}")
    if call.operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        member = "Statements" if call.operation == "BatchExecuteStatement" else "TransactStatements"
        reads = _verb(call.request[member][0]["Statement"]) == "SELECT"
        return dimensions(OperationType="Read" if reads else "Write")
    return ()


def _verb(statement: str) -> str:
    """Returns the first keyword of a valid statement, so the number of values is bounded."""
    from faradisc.language.partiql.lexer import tokens_of  # noqa: PLC0415 - only servers with statements

    return tokens_of(statement)[0].upper


def log_slow(call: Call, elapsed_ns: int) -> None:
    """Logs a request that took long, with what a person needs to find it."""
    tables = [table.name for table in call.tables]
    fields = {"operation": call.operation, "tables": tables, "ms": round(elapsed_ns / 1e6, 3)}
    _log.warning(
        "slow: %s on %s took %.1f ms",
        call.operation,
        ", ".join(tables) or "no table",
        elapsed_ns / 1e6,
        extra={"fields": fields},
    )
