"""How a throttled request is answered: exception, reason, member and text, as data.

The exception follows from the capacity mode and the cause. The reason is one of sixteen, {Table, Index} x
{Read, Write} x four causes. The member of reasons begins with a small t in ThrottlingException only.

Source: capacity.md sections 2.10 and 2.11; vectors V90, V96, V107, V108, V112, V114.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from faradisc.capacity.config import Direction
from faradisc.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
from faradisc.records import dataclass


class Cause(Enum):
    """What was exhausted; the value is the end of the reason's name, in the order of the checks."""

    ACCOUNT = "AccountLimitExceeded"
    MAX_ON_DEMAND = "MaxOnDemandThroughputExceeded"
    PROVISIONED = "ProvisionedThroughputExceeded"
    KEY_RANGE = "KeyRangeThroughputExceeded"

    # `Enum.__hash__` is a Python function; throttle events are counted by cause, so a fast one matters.
    __hash__ = object.__hash__

    @property
    def metric(self) -> str:
        """The metric that counts the cause, without Read or Write (metrics.md)."""
        return f"{self.value.removesuffix('Exceeded')}ThrottleEvents"


ResourceKind = Literal["Table", "Index"]


def reason(kind: ResourceKind, direction: Direction, cause: Cause) -> str:
    """Returns one of the sixteen reasons."""
    return f"{kind}{'Read' if direction == 'R' else 'Write'}{cause.value}"


TABLE_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
"""T1."""
INDEX_WRITE_PROVISIONED = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table "
    "was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary "
    "indexes with the UpdateTable API"
)
"""T2."""
INDEX_READ_PROVISIONED = "The level of configured provisioned throughput for the index was exceeded"
"""T2r."""
TABLE_ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "
    "table or index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
)
"""T3."""
INDEX_ON_DEMAND = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. "
    "DynamoDB is automatically scaling your index so please try again shortly."
)
"""T4."""
MAX_ON_DEMAND = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
"""T5."""
ACCOUNT = (
    "Throughput exceeds the current throughput limit for your account. "
    "Please contact AWS Support at https://aws.amazon.com/support request a limit increase"
)
"""T6."""

_MEMBER: dict[type[ApiError], str] = {
    ProvisionedThroughputExceededException: "ThrottlingReasons",
    RequestLimitExceeded: "ThrottlingReasons",
    ThrottlingException: "throttlingReasons",
}


@dataclass(frozen=True, slots=True)
class Throttle:
    """A throttled charge: what was out of units."""

    arn: str
    kind: ResourceKind
    direction: Direction
    cause: Cause
    on_demand: bool
    partition: str | None = None
    """Id of the exhausted partition; only for a key range."""

    @property
    def reason(self) -> str:
        return reason(self.kind, self.direction, self.cause)

    def as_api_error(self, *, transaction: bool = False) -> ApiError:
        """Returns the exception of a throttled request. `transaction`: for TransactWriteItems,
        TransactGetItems and ExecuteTransaction, which answer an index's on-demand maximum differently
        (V108)."""
        kind = self._exception(transaction=transaction)
        return kind(
            self.text,
            extra={_MEMBER[kind]: [{"reason": self.reason, "resource": self.arn}]},
        )

    def _exception(self, *, transaction: bool) -> type[ApiError]:
        if self.cause is Cause.ACCOUNT:
            return RequestLimitExceeded if self.kind == "Table" else ThrottlingException
        if self.cause is Cause.MAX_ON_DEMAND:
            index_write = self.kind == "Index" and self.direction == "W"
            return (
                ProvisionedThroughputExceededException
                if index_write and not transaction
                else ThrottlingException
            )
        return ThrottlingException if self.on_demand else ProvisionedThroughputExceededException

    @property
    def text(self) -> str:
        if self.cause is Cause.ACCOUNT:
            return ACCOUNT
        if self.cause is Cause.MAX_ON_DEMAND:
            return MAX_ON_DEMAND
        if self.kind == "Table":
            return TABLE_ON_DEMAND if self.on_demand else TABLE_PROVISIONED
        if self.on_demand:
            return INDEX_ON_DEMAND
        if self.direction == "R" and self.cause is Cause.PROVISIONED:
            return INDEX_READ_PROVISIONED
        return INDEX_WRITE_PROVISIONED

    @property
    def member_code(self) -> str:
        """The code inside a cancelled transaction or a batch of statements."""
        if self.cause is Cause.PROVISIONED or (self.cause is Cause.KEY_RANGE and not self.on_demand):
            return "ProvisionedThroughputExceeded"
        return "ThrottlingError"


class Throttled(Exception):
    """A request is throttled. The operation decides how it is answered."""

    def __init__(self, throttle: Throttle) -> None:
        super().__init__(throttle.reason)
        self.throttle = throttle


def batch_error(throttles: Sequence[Throttle], *, writes: bool) -> ApiError:
    """Returns the exception of a batch of which nothing was processed (section 2.11, V112).

    For reads it follows the mode of the table that ran out of provisioned units, else of the first throttle.
    For writes of a table on demand it is ThrottlingException, for those of a provisioned one
    ProvisionedThroughputExceededException, whichever limit was reached, as for single requests.
    """
    assert throttles
    short = next((throttle for throttle in throttles if throttle.cause is Cause.PROVISIONED), None)
    # Assumed: as a transaction answers an index's maximum.
    return (short or throttles[0]).as_api_error(transaction=writes and short is None)


def transaction_answer(
    throttles: Sequence[Throttle | None], style: Literal["auto", "toplevel", "cancel"]
) -> ApiError | list[str]:
    """Returns the answer of a transaction with throttled actions: an exception, or cancellation codes in
    order.

    `throttles` has an entry per action. `auto`: a shortage of the whole table or index is one exception, of
    a partition a cancellation (section 2.11, V114).
    """
    first = next((throttle for throttle in throttles if throttle is not None), None)
    assert first is not None
    whole = next((t for t in throttles if t is not None and t.cause is not Cause.KEY_RANGE), None)
    if style == "toplevel" or (style == "auto" and whole is not None):
        return (whole or first).as_api_error(transaction=True)
    return [throttle.member_code if throttle is not None else "None" for throttle in throttles]
