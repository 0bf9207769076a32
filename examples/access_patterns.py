"""Access patterns as data, and a meter that compares them with the requests that a program sends.

The meter uses botocore's events only, so it measures requests to the service as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

READS = ("GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "ExecuteStatement")


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One thing that an application asks of its table.

    name: what, in the application's words, with the size of the example that the units belong to.
    operation: the operations of all requests, in order, joined by " + "; "3 x Query" are three alike.
    key_condition: of a Query the KeyConditionExpression that is sent; otherwise the keys read or written.
    index: the index of a Query.
    read, write: capacity units that all requests consume together, of the table and its indexes.
    """

    name: str
    operation: str
    key_condition: str
    index: str | None = None
    read: float = 0
    write: float = 0

    def query(self) -> dict[str, str]:
        """Returns the parameters of a Query that the table of patterns decides about."""
        return {
            "KeyConditionExpression": self.key_condition,
            **({} if self.index is None else {"IndexName": self.index}),
        }


@dataclass(frozen=True, slots=True)
class Request:
    operation: str
    parameters: dict[str, Any]
    consumed: list[dict[str, Any]] = field(default_factory=list)
    """`ConsumedCapacity` of each table; of a request that failed nothing, although it may consume units."""


@dataclass(slots=True)
class Meter:
    """Records the requests of boto3 clients from `attach` on."""

    requests: list[Request] = field(default_factory=list)

    def attach(self, client: Any) -> Meter:
        events = client.meta.events
        events.register("before-parameter-build.dynamodb", self._before)
        events.register("after-call.dynamodb", self._after)
        return self

    def _before(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        context["metered"] = request = Request(model.name, dict(params))
        self.requests.append(request)
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def _after(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        context["metered"].consumed.extend(consumed if isinstance(consumed, list) else [consumed])

    def units(self, *, reads: bool) -> float:
        """Returns the units that the recorded requests consumed by reading, or by writing."""
        return sum(
            float(consumed["CapacityUnits"])
            for request in self.requests
            for consumed in request.consumed
            if (request.operation in READS) is reads
        )

    def operations(self) -> str:
        """Returns the operations in the form of `AccessPattern.operation`."""
        runs: list[tuple[str, int]] = []
        for request in self.requests:
            if runs and runs[-1][0] == request.operation:
                runs[-1] = (request.operation, runs[-1][1] + 1)
            else:
                runs.append((request.operation, 1))
        return " + ".join(name if count == 1 else f"{count} x {name}" for name, count in runs)

    def check(self, pattern: AccessPattern) -> None:
        """Raises AssertionError when the requests are not those of the pattern. Forgets them.

        Compares operations, the index and the key condition of Queries, and units. No pattern has a Scan.
        """
        requests, measured = (
            self.requests,
            (self.operations(), self.units(reads=True), self.units(reads=False)),
        )
        self.requests = []
        expected = (pattern.operation, pattern.read, pattern.write)
        if "Scan" in measured[0] or measured != expected:
            raise AssertionError(f"{pattern.name}: (operations, read, write) {measured}, not {expected}")
        for request in requests:
            if request.operation == "Query":
                sent = {
                    name: request.parameters.get(name) for name in ("KeyConditionExpression", "IndexName")
                }
                if sent != {"IndexName": None, **pattern.query()}:
                    raise AssertionError(f"{pattern.name}: sent {sent}")


def markdown(patterns: Iterable[AccessPattern]) -> str:
    """Returns the patterns as a table of a page."""
    lines = [
        "| Access pattern | Operation | Key condition | Index | Reads | Writes |",
        "|---|---|---|---|---|---|",
    ]
    for one in patterns:
        units = (f"{number:g}" if number else "" for number in (one.read, one.write))
        columns = (
            one.name,
            one.operation,
            f"`{one.key_condition}`",
            f"`{one.index}`" if one.index else "",
            *units,
        )
        lines.append("| " + " | ".join(columns) + " |")
    return "\n".join(lines)
