"""The actions and resources of a request: a `Need` for each pair that its caller must be allowed.

A request is allowed only if all its needs are. An existing table is named by its own ARN, whatever the
request calls it: where one namespace serves all regions, another region in the name or in the signature
reaches the same table, and must meet the same policies. Source: iam.md sections 1.1 and 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from faradisc.engine.streams.iterators import arn_of
from faradisc.engine.streams.stream import Stream, StreamState
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceNotFoundException, ValidationException
from faradisc.language.partiql.parser import parse_statement
from faradisc.language.partiql.syntax import Body, Delete, Insert, Statement, UpdateStatement
from faradisc.operations.backend import Access, Backend
from faradisc.operations.call import Call
from faradisc.operations.registry import OPERATIONS
from faradisc.records import dataclass

SERVICE: Final = "dynamodb"


@dataclass(slots=True)
class Need:
    """One action on one resource."""

    name: str
    """Of the action, without its service."""
    resource: str
    """An ARN, or `*` for actions on no particular resource."""
    table: Table | None = None
    """The resource, or the table of the index; None when there is none, or not yet."""
    stream: Stream | None = None
    index: str | None = None
    members: Any = None
    """The part of the request that addresses the resource; None for an action that the operation implies."""
    statement: Statement | None = None
    """Of PartiQL."""
    service: str = SERVICE

    @property
    def action(self) -> str:
        return f"{self.service}:{self.name}"

    @property
    def state(self) -> TableState | StreamState | None:
        """The state of the table or stream, which holds its policy and tags; None where there is none."""
        if self.table is not None:
            return self.table.state
        return None if self.stream is None else self.stream.state


def needs_of(backend: Backend, call: Call) -> Iterable[Need]:
    """Returns the needs of a request in its order. Raises ValidationException for a malformed ARN."""
    return _FINDERS[OPERATIONS[call.operation].access](backend, call)


# --- Resources -------------------------------------------------------------------------------------


def _table_of(backend: Backend, call: Call, name_or_arn: str) -> tuple[str, Table | None]:
    """Returns the ARN of a table, and the table if it exists."""
    table = backend.tables.named(name_or_arn, call.region, call.account)
    if table is not None:
        return table.arn, table
    return name_or_arn if name_or_arn.startswith("arn:") else _own_arn(call, name_or_arn), None


def _own_arn(call: Call, table_name: str) -> str:
    """Returns the ARN of a table in the caller's account and the request's region."""
    return f"arn:aws:dynamodb:{call.region}:{call.account}:table/{table_name}"


def _on_table(backend: Backend, call: Call, name_or_arn: str, members: Any, action: str = "") -> Need:
    """action: another than that of the operation's name."""
    arn, table = _table_of(backend, call, name_or_arn)
    return Need(action or call.operation, arn, table, members=members)


def _of_index(need: Need, index: str | None) -> Need:
    """Turns the need of a table into that of its index, if there is one."""
    if index is not None:
        need.index = index
        need.resource += f"/index/{index}"
    return need


def _on_stream(backend: Backend, call: Call, arn: str) -> Need:
    try:
        stream = backend.catalog.stream(arn)
    except ResourceNotFoundException:
        return Need(call.operation, arn, members=call.request)
    return Need(call.operation, stream.arn, stream=stream, members=call.request)


# --- Operations of one resource --------------------------------------------------------------------


def _account(backend: Backend, call: Call) -> Iterator[Need]:
    yield Need(call.operation, "*", members=call.request)


def _table(backend: Backend, call: Call) -> tuple[Need]:
    """Returns a tuple, as the next function does: most requests come here."""
    return (_on_table(backend, call, call.request["TableName"], call.request),)


def _table_or_index(backend: Backend, call: Call) -> tuple[Need]:
    request = call.request
    return (_of_index(_on_table(backend, call, request["TableName"], request), request.get("IndexName")),)


def _named_by(member: str) -> Callable[[Backend, Call], Iterator[Need]]:
    """Returns the finder of a resource whose ARN is a member of the request."""

    def find(backend: Backend, call: Call) -> Iterator[Need]:
        yield Need(call.operation, call.request[member], members=call.request)

    return find


def _task(backend: Backend, call: Call) -> Iterator[Need]:
    request = call.request
    arn = next(request[name] for name in ("ExportArn", "ImportArn", "BulkOperationArn") if name in request)
    yield Need(call.operation, arn, members=request)


def _tasks(backend: Backend, call: Call) -> Iterator[Need]:
    if "TableArn" in call.request:
        yield _on_table(backend, call, call.request["TableArn"], call.request)
    else:
        yield from _account(backend, call)


def _global_table(backend: Backend, call: Call) -> Iterator[Need]:
    arn = f"arn:aws:dynamodb::{call.account}:global-table/{call.request['GlobalTableName']}"
    yield Need(call.operation, arn, members=call.request)


def _stream(backend: Backend, call: Call) -> Iterator[Need]:
    yield _on_stream(backend, call, call.request["StreamArn"])


def _iterator(backend: Backend, call: Call) -> Iterator[Need]:
    yield _on_stream(backend, call, arn_of(call.request["ShardIterator"]))


def _resource(backend: Backend, call: Call) -> Iterator[Need]:
    arn = call.request["ResourceArn"]
    if "/stream/" in arn:
        yield _on_stream(backend, call, arn)
    elif not arn.startswith("arn:") or "/index/" in arn:
        yield Need(call.operation, arn, members=call.request)  # which the operation rejects
    else:
        yield _on_table(backend, call, arn, call.request)


# --- Operations of several resources ---------------------------------------------------------------


def _tables(backend: Backend, call: Call) -> Iterator[Need]:
    for name, part in call.request["RequestItems"].items():
        yield _on_table(backend, call, name, part)


_ITEM_ACTIONS: Final = {
    "Get": "GetItem",
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}


def _transaction(backend: Backend, call: Call) -> Iterator[Need]:
    for element in call.request["TransactItems"]:
        for kind, members in element.items():
            yield _on_table(backend, call, members["TableName"], members, _ITEM_ACTIONS[kind])


_SELECT: Final = "PartiQLSelect"
_WRITES: Final[dict[type, str]] = {
    Insert: "PartiQLInsert",
    UpdateStatement: "PartiQLUpdate",
    Delete: "PartiQLDelete",
}
_STATEMENTS: Final = {
    "BatchExecuteStatement": "Statements",
    "ExecuteTransaction": "TransactStatements",
}


def _statements(backend: Backend, call: Call) -> Iterator[Need]:
    """A statement that cannot be parsed is rejected by the operation too, in a batch by itself."""
    member = _STATEMENTS.get(call.operation)
    for request in [call.request] if member is None else call.request[member]:
        try:
            statement = parse_statement(request["Statement"])
        except ValidationException:
            if call.operation == "BatchExecuteStatement":
                continue
            raise
        source = statement.source
        action = _action_of(statement.body)
        need = _on_table(backend, call, source.table, request, action)
        if action == _SELECT:
            _of_index(need, source.index)
        need.statement = statement
        yield need


def _action_of(body: Body) -> str:
    """EXISTS is a read. Assumed: no source says which action it needs."""
    return _WRITES.get(type(body), _SELECT)


# --- Operations that imply others ------------------------------------------------------------------

_FILLING: Final = ("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem")
"""What a restore does to its target, and a new replica to its table."""


def _new_table(backend: Backend, call: Call) -> Iterator[Need]:
    """The account and region of an ARN do not matter: a table is created where the request is signed for."""
    request = call.request
    _, name = backend.tables.resolve(request["TableName"], call.region, call.account)
    arn = _own_arn(call, name)
    yield Need(call.operation, arn, members=request)
    for member, action in (("Tags", "TagResource"), ("ResourcePolicy", "PutResourcePolicy")):
        if member in request:
            yield Need(action, arn, members=request)


def _updated_table(backend: Backend, call: Call) -> Iterator[Need]:
    """Whoever adds or removes a replica needs the right to do so in its region too."""
    yield from _table(backend, call)
    for update in call.request.get("ReplicaUpdates", ()):
        for kind, members in update.items():
            if kind in ("Create", "Delete") and "RegionName" in members:
                own, name = backend.tables.resolve(call.request["TableName"], call.region, call.account)
                account = own.partition("/")[0] or call.account
                arn = f"arn:aws:dynamodb:{members['RegionName']}:{account}:table/{name}"
                for action in (
                    f"{kind}Table",
                    f"{kind}TableReplica",
                    *(_FILLING if kind == "Create" else ()),
                ):
                    yield Need(action, arn)


def _target(call: Call, *actions: str) -> Iterator[Need]:
    arn = _own_arn(call, call.request["TargetTableName"])
    for action in actions:
        yield Need(action, arn)


def _source_table(backend: Backend, call: Call) -> Iterator[Need]:
    request = call.request
    for member in ("SourceTableArn", "SourceTableName"):
        if member in request:
            yield _on_table(backend, call, request[member], request)
    yield from _target(call, *_FILLING)


def _source_backup(backend: Backend, call: Call) -> Iterator[Need]:
    yield Need(call.operation, call.request["BackupArn"], members=call.request)
    yield from _target(call, call.operation, *_FILLING)


def _captured_table(backend: Backend, call: Call) -> Iterator[Need]:
    yield from _table(backend, call)
    for action in ("DescribeStream", "PutRecord", "PutRecords"):
        yield Need(action, call.request["StreamArn"], service="kinesis")


def _exported_table(backend: Backend, call: Call) -> Iterator[Need]:
    request = call.request
    yield _on_table(backend, call, request["TableArn"], request)
    yield from _written(request["S3Bucket"], request.get("S3Prefix"))


def _imported_table(backend: Backend, call: Call) -> Iterator[Need]:
    yield Need(call.operation, _own_arn(call, call.request["TableCreationParameters"]["TableName"]))
    yield from _read(call.request["S3BucketSource"])


def _filled_table(backend: Backend, call: Call) -> Iterator[Need]:
    yield from _table(backend, call)
    yield from _read(call.request["InputS3Configuration"])
    output = call.request["OutputS3Configuration"]
    if "S3Bucket" in output:
        yield from _written(output["S3Bucket"], output.get("S3KeyPrefix"))


def _read(source: Mapping[str, Any]) -> Iterator[Need]:
    bucket = f"arn:aws:s3:::{source['S3Bucket']}"
    yield Need("ListBucket", bucket, service="s3")
    yield Need("GetObject", f"{bucket}/{source.get('S3KeyPrefix', '')}", service="s3")


def _written(bucket: str, prefix: str | None) -> Iterator[Need]:
    objects = f"arn:aws:s3:::{bucket}/{'' if prefix is None else prefix + '/'}AWSDynamoDB"
    for action in ("AbortMultipartUpload", "PutObject", "PutObjectAcl"):
        yield Need(action, objects, service="s3")


_FINDERS: Final[Mapping[Access, Callable[[Backend, Call], Iterable[Need]]]] = {
    "account": _account,
    "table": _table,
    "table or index": _table_or_index,
    "index": _table_or_index,
    "tables": _tables,
    "transaction": _transaction,
    "statements": _statements,
    "new table": _new_table,
    "updated table": _updated_table,
    "source table": _source_table,
    "source backup": _source_backup,
    "backup": _named_by("BackupArn"),
    "task": _task,
    "tasks": _tasks,
    "exported table": _exported_table,
    "imported table": _imported_table,
    "filled table": _filled_table,
    "global table": _global_table,
    "stream": _stream,
    "iterator": _iterator,
    "captured table": _captured_table,
    "resource": _resource,
}
