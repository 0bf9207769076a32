"""`--audit-log FILE`: a line of JSON for each request, in the shape of CloudTrail's events.

Who, from where, which operation, on which resources, the decision and the policy that made it, the error
code. No member of request or answer but names of resources, so no secret and no item.

The requests' thread collects references; another thread makes lines of them and writes. When the disk is
full, events are lost and counted, and requests are served on. A file of FILE_BYTES is renamed by its time,
and never deleted.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import orjson

from faradisc.auth.policy.model import Decision, Request
from faradisc.auth.sigv4 import DYNAMODB, Authenticator, Credential, SignedRequest, lenient
from faradisc.clock import Clock
from faradisc.database import Database
from faradisc.errors import ApiError
from faradisc.operations.call import Call
from faradisc.protocol.executor import Executor, OperationExecutor
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.other_services.recognise import service_request_of
from faradisc.records import dataclass

FILE_BYTES: Final = 64 << 20
WAITING_MAX: Final = 100_000
"""Events that wait to be written; further ones are lost."""
BATCH_MAX: Final = 1000
PAUSE_S: Final = 0.2
"""Between two batches: to wake the other thread for each event would cost more than to record it."""
CLOSE_S: Final = 5.0

_READS: Final = re.compile(r"Get|List|Describe|Query|Scan|BatchGet|TransactGet|Search|Simulate")
_ERROR: Final = re.compile(rb'"__type":"(?:[^"#]*#)?(\w+)"|<Code>(\w+)</Code>')
_ACTION: Final = re.compile(rb"(?:^|&)Action=(\w+)")
_NAMES: Final = ("TableName", "TableArn", "ResourceArn", "StreamArn", "BackupArn", "ExportArn", "ImportArn")
_IDENTITY_TYPES: Final = {"account": "Root", "user": "IAMUser", "session": "AssumedRole"}
_log = logging.getLogger("faradisc.audit")

Decisions = list[tuple[str, Decision]]
"""By resource."""


@dataclass(slots=True, eq=False)
class _Event:
    now_ns: int
    service: str
    """Its signing name."""
    operation: str
    region: str
    address: str
    user_agent: bytes
    request_id: bytes
    error: str
    """"" for a request that succeeded."""
    credential: Credential | None
    is_verified: bool
    decisions: Decisions
    resources: list[str]
    """Names or ARNs, where no policy was asked."""


class _Watch:
    """The executor and the authenticator of one request, which record what it calls and what is decided."""

    def __init__(
        self, database: Database, authenticate: Authenticator, decided: dict[int, Decisions]
    ) -> None:
        self._database = database
        self._authenticate = authenticate
        self._decided = decided
        self._executor: OperationExecutor = database
        self.call: Call | None = None
        self.credential: Credential | None = None
        self.error = ""
        self.decisions: Decisions = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def authenticate(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        self.credential = self._authenticate(request, service)
        return self.credential

    def other_service(self, service: str) -> _Watch:
        self._executor = self._database.other_service(service)
        return self

    def knows(self, operation: str) -> bool:
        return self._executor.knows(operation)

    def authorize(self, call: Call, service: str) -> None:
        with self._watching(call):
            self._database.authorize(call, service)

    async def execute(self, call: Call) -> dict[str, Any]:
        with self._watching(call):
            return await self._executor.execute(call)

    @contextmanager
    def _watching(self, call: Call) -> Iterator[None]:
        self.call = call
        try:
            yield
        except ApiError as error:
            self.error = error.wire_name()
            raise
        finally:
            self.decisions += self._decided.pop(id(call), ())


class AuditLog:
    def __init__(self, path: str, clock: Clock, account: str, *, is_verified: bool) -> None:
        """is_verified: whether signatures are, so that the log can name callers. Raises OSError."""
        self._path = Path(path)
        self._clock = clock
        self._account = account
        self._is_verified = is_verified
        self._decided: dict[int, Decisions] = {}
        """Of the calls under way, by their `id`."""
        self._waiting: deque[_Event] = deque()
        self._stop = threading.Event()
        self._dropped = self._reported = self._unwritten = 0
        """Events that were lost: because too many waited, of these reported, and because of the disk."""
        self._file = self._opened()
        self._writer = threading.Thread(target=self._write_all, name="audit log", daemon=True)
        self._writer.start()

    def observe(self, call: Call, request: Request, decision: Decision) -> None:
        """Is given each decision of a policy."""
        self._decided.setdefault(id(call), []).append((request.resource, decision))

    async def answer(
        self, database: Database, request: HttpRequest, authenticate: Authenticator
    ) -> HttpResponse:
        """Answers a request and records it."""
        watch = _Watch(database, authenticate, self._decided)
        response = await answer(cast(Executor, watch), request, watch.authenticate)
        if request.method == "POST":
            event = self._event(request, response, watch)
            if len(self._waiting) < WAITING_MAX:
                self._waiting.append(event)
            else:
                self._dropped += 1
        return response

    def _event(self, request: HttpRequest, response: HttpResponse, watch: _Watch) -> _Event:
        call = watch.call
        service, operation = _called(request, call)
        credential = watch.credential
        if credential is None:
            try:
                credential = lenient(request)
            except ApiError:
                credential = None
        error = watch.error
        if response.status >= 400 and not error:
            found = _ERROR.search(response.body)
            error = (found[1] or found[2]).decode() if found else f"HTTP {response.status}"
        return _Event(
            self._clock.now_ns(),
            service,
            operation,
            "" if credential is None else credential.region,
            request.peer.address,
            request.headers.get(b"user-agent", b""),
            response.request_id or b"",
            error,
            credential,
            self._is_verified and watch.credential is not None,
            watch.decisions,
            [] if call is None or watch.decisions else _resources(call),
        )

    def close(self) -> None:
        """Writes what waits, for some seconds at most."""
        self._stop.set()
        self._writer.join(CLOSE_S)

    # --- The other thread ------------------------------------------------------------------------

    def _write_all(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._stop.wait(PAUSE_S)
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH_MAX, len(self._waiting)))]
                try:
                    self._append(b"".join(map(self._line, batch)))
                    self._report_losses()
                except OSError as error:
                    if not self._unwritten:
                        _log.error(
                            "the audit log %s cannot be written, and misses events: %s", self._path, error
                        )
                    self._unwritten += len(batch)
        os.close(self._file)

    def _report_losses(self) -> None:
        dropped = self._dropped
        if self._unwritten or dropped > self._reported:
            lost = self._unwritten + dropped - self._reported
            _log.error("the audit log %s misses %d events", self._path, lost)
            self._unwritten, self._reported = 0, dropped

    def _append(self, lines: bytes) -> None:
        """Writes whole lines or nothing. Raises OSError."""
        size = os.fstat(self._file).st_size
        if size and size + len(lines) > FILE_BYTES:
            moment = datetime.fromtimestamp(self._clock.now_ns() / 1e9, UTC).strftime("%Y%m%dT%H%M%S.%f")
            os.rename(self._path, f"{self._path}.{moment}")
            os.close(self._file)
            self._file, size = self._opened(), 0
        try:
            while lines:
                lines = lines[os.write(self._file, lines) :]
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _opened(self) -> int:
        """Returns the descriptor of the file, for appending. Raises OSError."""
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _line(self, event: _Event) -> bytes:
        credential = event.credential
        moment = datetime.fromtimestamp(event.now_ns // 1_000_000_000, UTC)
        request_id = event.request_id.decode()
        document: dict[str, Any] = {
            "eventVersion": "1.11",
            "eventTime": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "eventSource": f"{event.service}.amazonaws.com",
            "eventName": event.operation,
            "awsRegion": event.region,
            "sourceIPAddress": event.address,
            "userAgent": event.user_agent.decode("latin-1"),
            "userIdentity": _identity(credential, self._account, is_verified=event.is_verified),
            "requestID": request_id,
            "eventID": request_id,
            "eventType": "AwsApiCall",
            "readOnly": _READS.match(event.operation) is not None,
            "recipientAccountId": self._account,
            "resources": [
                {"ARN": arn, "type": _type_of(arn)}
                for arn in dict.fromkeys([*(arn for arn, _ in event.decisions), *event.resources])
                if arn != "*"
            ],
        }
        if event.error:
            document["errorCode"] = event.error.replace("AccessDeniedException", "AccessDenied")
        if event.decisions:
            document["additionalEventData"] = _decision(event.decisions)
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def _called(request: HttpRequest, call: Call | None) -> tuple[str, str]:
    """Returns the signing name of the service, and the operation, as far as the request names them."""
    target = service_request_of(request)
    service = DYNAMODB if target is None else target.service.signing_name
    if call is not None:
        return service, call.operation
    if target is not None and target.operation:
        return service, target.operation
    named = _ACTION.search(request.body) if target is not None else None
    if named is not None:
        return service, named[1].decode()
    return service, request.headers.get(b"x-amz-target", b"").rpartition(b".")[2].decode("latin-1")[:128]


def _resources(call: Call) -> list[str]:
    """Returns the ARNs of the tables that a request has used, or else of what its members name."""
    if call.tables:
        return [table.arn for table in call.tables]
    named = [call.request[name] for name in _NAMES if type(call.request.get(name)) is str]
    own = f"arn:aws:dynamodb:{call.region}:{call.account}:table/"
    return [name if name.startswith("arn:") else own + name for name in named]


def _type_of(arn: str) -> str:
    """Returns CloudTrail's name of a resource's type."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[2] == DYNAMODB:
        return "AWS::DynamoDB::Stream" if "/stream/" in arn else "AWS::DynamoDB::Table"
    service = {"iam": "IAM", "s3": "S3", "kinesis": "Kinesis"}.get(parts[2], parts[2])
    return f"AWS::{service}::{parts[5].partition('/')[0].capitalize() if service == 'IAM' else 'Object'}"


def _decision(decisions: Decisions) -> dict[str, Any]:
    """Returns the decision on the whole request: the denial, or of several allowed resources the first."""
    denied = next((decision for _, decision in decisions if not decision.allowed), None)
    decision = denied or decisions[0][1]
    found: dict[str, Any] = {
        "decision": "Allow" if decision.allowed else "Deny",
        "explicit": decision.explicit,
        "policyType": decision.kind,
    }
    if decision.policy:
        found["policy"] = decision.policy
    if decision.sid:
        found["sid"] = decision.sid
    return found


def _identity(credential: Credential | None, account: str, *, is_verified: bool) -> dict[str, Any]:
    if credential is None:
        return {"type": "Unknown"}
    key = {"accessKeyId": credential.access_key_id}
    if not is_verified:
        return {"type": "Unknown", **key}
    identity = credential.identity
    if identity is None:
        arn = f"arn:aws:iam::{account}:root"
        return {"type": "Root", "principalId": account, "arn": arn, "accountId": account, **key}
    principal = identity.principal
    members: dict[str, Any] = {
        "type": _IDENTITY_TYPES.get(principal.kind, "Unknown"),
        "principalId": principal.user_id,
        "arn": principal.arn,
        "accountId": principal.account,
        **key,
    }
    if principal.kind == "user":
        members["userName"] = principal.name
    if principal.issued_s is not None:
        issued = datetime.fromtimestamp(principal.issued_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        context: dict[str, Any] = {"attributes": {"creationDate": issued, "mfaAuthenticated": "false"}}
        if principal.role_arn:
            context["sessionIssuer"] = {"type": "Role", "arn": principal.role_arn}
        if principal.source_identity:
            context["sourceIdentity"] = principal.source_identity
        members["sessionContext"] = context
    return members
