"""What the requests of exports, imports and bulk operations share: tokens, limits, pages.

Sources: limits.md sections 4, 8 and 10; the service model. Assumed, without captures: the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from faradisc.engine.exchange.locations import Locations
from faradisc.engine.exchange.task_store import BULK, EXPORT, IMPORT, Task, TokenMismatch, fingerprint
from faradisc.errors import ApiError, LimitExceededException, UnsupportedOperation, ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.backups import check_account
from faradisc.operations.call import Call

PAGE_SIZE = 10
"""Tasks of a page where the request asks for no number."""
_TOKEN_DIGITS = 112
"""Length of the shortest NextToken that ListImports accepts; a multiple of 16."""


def locations_of(backend: Backend) -> Locations:
    """Raises UnsupportedOperation when the database has no object storage."""
    if backend.exchange.locations is None:
        raise UnsupportedOperation(
            "This database has no place for buckets; start the server with --s3-root or --s3-endpoint, "
            "or give LocalDatabase an s3_root"
        )
    return backend.exchange.locations


def check_encryption(locations: Locations, asked: dict[str, Any]) -> None:
    """Returns the members of a request that describe the encryption of objects.

    Raises UnsupportedOperation when objects are files, which only the disk can encrypt; ValidationException
    for a key without its algorithm.
    """
    algorithm, key = asked.get("S3SseAlgorithm"), asked.get("S3SseKmsKeyId")
    if key is not None and algorithm != "KMS":
        raise ValidationException("S3SseKmsKeyId can only be specified when S3SseAlgorithm is KMS")
    if algorithm == "KMS" and not locations.storage.encrypts:
        raise UnsupportedOperation(
            "S3SseAlgorithm: this version of Faradisc does not support KMS keys for buckets that are "
            "directories; encrypt the disk"
        )


def check_libraries(format_: str, compression: str) -> None:
    """Raises ValidationException when reading needs a library that is not installed."""
    from faradisc.engine.exchange.object_reader import InputFormat  # noqa: PLC0415
    from faradisc.engine.formats.compression import Unavailable  # noqa: PLC0415 - only those that read objects

    try:
        InputFormat(format_, compression).check_libraries()
    except Unavailable as error:
        raise ValidationException(str(error)) from None


_TASK_ARN = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):[0-9]{12}:table/[A-Za-z0-9_.-]+/([a-z-]+)/[0-9]+-[0-9a-f]+"
)


def check_task_arn(backend: Backend, call: Call, kind: str, arn: str) -> str:
    """Returns the region of the ARN of an export or import. Raises ValidationException,
    AccessDeniedException."""
    match = _TASK_ARN.fullmatch(arn)
    if match is None or match[2] != _PATHS[kind]:
        raise ValidationException(f"Invalid {_MEMBERS[kind]} ARN")
    check_account(backend, call, arn)
    return match[1]


def home_of(backend: Backend, call: Call) -> str:
    """Returns the namespace of the request, in which tasks are listed."""
    return backend.tables.namespace(call.region, call.account)


def begun_before(backend: Backend, call: Call, kind: str, mismatch: Callable[[], ApiError]) -> Task | None:
    """Returns the task that the request's token has started, if any. Raises `mismatch` for other
    parameters."""
    token = call.request.get("ClientToken")
    if token is None:
        return None
    try:
        return backend.exchange.tasks.begun_with(
            kind, home_of(backend, call), token, fingerprint(call.request)
        )
    except TokenMismatch:
        raise mismatch() from None


def check_running(backend: Backend, kind: str, most: int) -> None:
    """Raises LimitExceededException when that many tasks are running."""
    if sum(1 for _ in backend.exchange.tasks.running(kind)) >= most:
        raise LimitExceededException(
            f"Subscriber limit exceeded: Number of {kind} operations in progress exceeds the limit of {most}"
        )


_PATHS = {EXPORT: "export", IMPORT: "import", BULK: "bulk-operation"}
"""The part of a task's ARN between the table's ARN and the id. Assumed for bulk operations: the model
shows none."""


async def begin(
    backend: Backend,
    call: Call,
    kind: str,
    table_arn: str,
    shown: dict[str, Any],
    *,
    progress: dict[str, Any] | None = None,
) -> Task:
    """Returns a new task, stored in the task store."""
    task_id = backend.exchange.tasks.new_id()
    task = Task(
        kind,
        task_id,
        f"{table_arn}/{_PATHS[kind]}/{task_id}",
        table_arn,
        home_of(backend, call),
        backend.clock.now_ns(),
        shown,
        call.request.get("ClientToken") or (backend.entropy.uuid() if kind == IMPORT else None),
        fingerprint(call.request),
        progress=progress or {},
    )
    backend.exchange.tasks.add(task)
    await backend.exchange.tasks.save(task)
    return task


_MEMBERS = {EXPORT: "Export", IMPORT: "Import", BULK: "BulkOperation"}


def names_of(task: Task) -> dict[str, Any]:
    """Returns ARN and status of a task, in the members of its kind."""
    member = _MEMBERS[task.kind]
    return {f"{member}Arn": task.arn, f"{member}Status": task.status}


def describe(task: Task) -> dict[str, Any]:
    """Returns an ExportDescription, ImportTableDescription or BulkOperationDescription."""
    described = names_of(task)
    if task.kind != BULK:
        described["TableArn"] = task.table_arn
    if task.token is not None:
        described["ClientToken"] = task.token
    return {**described, **task.shown, **task.times()}


def page_of(backend: Backend, call: Call, kind: str, size: int) -> tuple[list[Task], dict[str, str]]:
    """Returns the tasks of one page of a listing, newest first, and NextToken if there are more."""
    request = call.request
    table = request.get("TableArn")
    name = backend.tables.resolve(table, call.region, call.account) if table is not None else None
    tasks = [
        task
        for task in backend.exchange.tasks.listed(kind, home_of(backend, call))
        if name is None or backend.tables.resolve(task.table_arn, call.region, call.account) == name
    ]
    if "NextToken" in request:
        last = _token_id(request["NextToken"])
        tasks = [task for task in tasks if task.id < last]
    page = tasks[:size]
    if len(tasks) <= size:
        return page, {}
    return page, {"NextToken": page[-1].id.encode().hex().ljust(_TOKEN_DIGITS, "0")}


def _token_id(token: str) -> str:
    """Raises ValidationException for a token that no page has returned."""
    try:
        task_id = bytes.fromhex(token).rstrip(b"\x00").decode("ascii")
    except ValueError:
        task_id = ""
    if len(token) != _TOKEN_DIGITS or task_id.count("-") != 1:
        raise ValidationException(f"Invalid Request: Provided nextToken is invalid: {token}")
    return task_id
