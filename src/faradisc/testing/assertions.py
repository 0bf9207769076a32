"""What code costs, and how it reads, as assertions of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faradisc.local import LocalDatabase

_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "SearchVectors"})


class Units:
    """Capacity units that a client has consumed, and by what."""

    def __init__(self) -> None:
        self.read = 0.0
        self.write = 0.0
        self.requests: list[str] = []
        """Each with its units, as text."""

    def _count(self, operation: str, reads: bool, consumed: dict[str, Any]) -> None:
        read, write = consumed.get("ReadCapacityUnits"), consumed.get("WriteCapacityUnits")
        if read is None and write is None:
            total = consumed.get("CapacityUnits", 0.0)
            read, write = (total, 0.0) if reads else (0.0, total)
        self.read += read or 0.0
        self.write += write or 0.0
        counted = [f"{units:g} {kind}" for units, kind in ((read, "read"), (write, "write")) if units]
        self.requests.append(f"{operation} of {consumed['TableName']}: {', '.join(counted) or 'nothing'}")


@contextmanager
def assert_units(client: Any, read: float | None = None, write: float | None = None) -> Iterator[Units]:
    """Asserts at the end of the block how many capacity units the requests of a client have consumed in it.

    client: a boto3 client of dynamodb, a resource, or a table of one, of whatever endpoint.
    read, write: the units; None: any number. Requests that fail report no units, and count as none.

    Yields the units counted so far, with the attributes `read`, `write` and `requests`. Raises
    AssertionError, which lists the requests.
    """
    events = client.meta.events if hasattr(client.meta, "events") else client.meta.client.meta.events
    units = Units()
    asked = f"faradisc {id(units)}"  # the key in the context of a request

    def ask(params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            statements = [
                each["Statement"]
                for each in (params, *params.get("Statements", ()), *params.get("TransactStatements", ()))
                if "Statement" in each
            ]
            selects = [each.lstrip()[:6].upper() == "SELECT" for each in statements]
            reads = model.name in _READS or (bool(selects) and all(selects))
            adds = params.get("ReturnConsumedCapacity", "NONE") == "NONE"
            if adds:
                params["ReturnConsumedCapacity"] = "TOTAL"
            context[asked] = adds, reads

    def count(parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        _, reads = context.get(asked, (False, False))
        consumed = parsed.get("ConsumedCapacity")
        for each in consumed if isinstance(consumed, list) else [consumed] if consumed else []:
            units._count(model.name, reads, each)

    def hide(parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        added, _reads = context.get(asked, (False, False))
        if added:
            parsed.pop("ConsumedCapacity", None)

    events.register_last("before-parameter-build.dynamodb", ask)
    events.register_first("after-call.dynamodb", count)
    events.register_last("after-call.dynamodb", hide)
    try:
        yield units
    finally:
        events.unregister("before-parameter-build.dynamodb", ask)
        events.unregister("after-call.dynamodb", count)
        events.unregister("after-call.dynamodb", hide)
    wrong = [
        f"{found:g} {kind} units, not {wanted:g}"
        for kind, found, wanted in (("read", units.read, read), ("write", units.write, write))
        if wanted is not None and found != wanted
    ]
    if wrong:
        listed = "".join(f"\n  {request}" for request in units.requests) or " no request"
        raise AssertionError(f"{' and '.join(wrong)}, were consumed:{listed}")


@contextmanager
def assert_no_scans(database: LocalDatabase | None = None) -> Iterator[None]:
    """Asserts at the end of the block that nothing has scanned a table or index in it, with Scan or PartiQL.

    database: default: that of the `faradisc.local.patch()` in force. Its recorder (`LocalDatabase.record`) is
    used meanwhile.

    Raises AssertionError, which names the tables; RuntimeError when no database is given or patched.
    """
    from faradisc.local import patched  # noqa: PLC0415 - the module is imported before every run of pytest

    watched = database or next(reversed(patched()), None)
    if watched is None:
        raise RuntimeError("assert_no_scans needs a LocalDatabase, or faradisc.local.patch() around it")
    recorder = _Scans()
    watched.record(recorder)
    try:
        yield
    finally:
        watched.record(None)
    if recorder.tables:
        raise AssertionError(f"scanned: {', '.join(recorder.tables)}")


class _Scans:
    """A TraceRecorder that keeps the tables of scans, a line per page."""

    def __init__(self) -> None:
        self.tables: list[str] = []

    def describe(self, table: str, **_: Any) -> None:
        """Does nothing."""

    def request(self, now_ns: int, operation: str, table: str, charges: Any, **_: Any) -> None:
        if operation == "Scan":
            self.tables.append(table)
