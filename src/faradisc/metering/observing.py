"""What is counted of requests, whatever they were: latencies, throttled requests, errors, items returned.

Units and throttle events are counted where they are charged (tables/charging.py); here requests are.
Source: metrics.md; capacity.md section 2.14; vectors V130, V131, V133.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from faradisc.capacity.account import Account
from faradisc.capacity.metrics import Dimensions, dimensions
from faradisc.errors import (
    ApiError,
    ConditionalCheckFailedException,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
)

THROTTLES: Final = (ProvisionedThroughputExceededException, ThrottlingException, RequestLimitExceeded)
_COUNTED: Final = frozenset({"Query", "Scan"})
"""Their answers say how many items they return."""


class Seen(Protocol):
    """A call, as far as it is needed here."""

    operation: str
    request: dict[str, Any]
    region: str
    account: str
    tables: list[Any]


class Observer:
    """Counts requests in the metrics of the account they belong to."""

    __slots__ = ("_account_of", "_now")

    def __init__(self, account_of: Callable[[str, str], Account], now: Callable[[], int]) -> None:
        self._account_of = account_of
        self._now = now

    def begin(self) -> int:
        return self._now()

    def succeeded(self, call: Seen, began: int, result: dict[str, Any]) -> None:
        """A request was answered. Control-plane requests have no tables here and are not counted."""
        tables = call.tables
        if not tables:
            return
        operation = call.operation
        elapsed = self._now() - began
        for table in tables:
            meter = table.meter.account.requests.meter(table.name, operation)
            meter.succeeded(elapsed)
            if operation in _COUNTED:
                meter.returned[result["Count"]] += 1
            elif operation == "ExecuteStatement":
                meter.returned[len(result["Items"])] += 1

    def refused(self, call: Seen, error: ApiError) -> None:
        """A request was refused with this error."""
        tables = call.tables
        if isinstance(error, THROTTLES):
            for table in tables:
                requests = table.meter.account.requests
                requests.meter(table.name, call.operation, _extra(call)).throttled += 1
            return
        if isinstance(error, ConditionalCheckFailedException):
            for table in tables:
                table.meter.account.requests.conditions_failed[table.name] += 1
            return
        if isinstance(error, TransactionConflictException | TransactionCanceledException):
            self._conflicts(call, error)
        elif error.status >= 500:
            self.failed(call)
            return
        self._account_of(call.region, call.account).requests.user_errors += 1

    def failed(self, call: Seen) -> None:
        """The database itself could not answer."""
        for table in call.tables:
            table.meter.account.requests.meter(table.name, call.operation).system_errors += 1

    def _conflicts(self, call: Seen, error: ApiError) -> None:
        reasons = error.extra.get("CancellationReasons", [{"Code": "TransactionConflict"}])
        items = sum(reason["Code"] == "TransactionConflict" for reason in reasons)
        if items:
            for table in call.tables:
                table.meter.account.requests.conflicts[table.name].append(items)


def _extra(call: Seen) -> Dimensions:
    """The further dimensions of throttled PartiQL requests (measured)."""
    if call.operation == "ExecuteStatement":
        verb = call.request["Statement"].split(None, 1)[0].upper()
        return dimensions(Verb=f"PartiQL{verb.capitalize()}")
    if call.operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        member = "Statements" if call.operation == "BatchExecuteStatement" else "TransactStatements"
        first = call.request[member][0]["Statement"].split(None, 1)[0].upper()
        return dimensions(OperationType="Read" if first == "SELECT" else "Write")
    return ()
