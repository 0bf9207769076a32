"""What the front end needs of a database; `database.Database` is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from faradisc.operations.call import Call, Caller
from faradisc.protocol.http import HttpRequest
from faradisc.protocol.response import RequestIds

if TYPE_CHECKING:
    from faradisc.auth.identity import Identity

T = TypeVar("T")


class Overloaded(Exception):
    """Raised for a request that is not begun, because others wait or its client has left; answered with
    503."""


class OperationExecutor(Protocol):
    """Executes the operations of one AWS service."""

    def knows(self, operation: str) -> bool:
        """Whether `execute` takes calls of this operation of the service model."""

    async def execute(self, call: Call) -> dict[str, Any]:
        """Returns the answer's members; may hold `orjson.Fragment`. Raises ApiError."""


class Executor(OperationExecutor, Protocol):
    """Executes DynamoDB's operations, and knows the other AWS services of the same port."""

    @property
    def region(self) -> str:
        """The region in ARNs when a request's credential scope names none."""

    @property
    def account(self) -> str:
        """Twelve digits."""

    @property
    def request_ids(self) -> RequestIds: ...

    async def run_large(self, work: Callable[[], T], request: HttpRequest, /) -> T:
        """Returns what `work` returns; raises what it raises, and Overloaded.

        A server runs it on another thread. request: whose body `work` reads.
        """

    async def yield_control(self) -> None:
        """Lets other requests run, in the middle of a long one."""

    def authorize(self, call: Call, service: str) -> None:
        """Tests whether the caller may use an operation of another service, by botocore's name of it.

        Raises AccessDeniedException.
        """

    def other_service(self, service: str) -> OperationExecutor:
        """Returns the executor of another service, by botocore's name of it."""


def caller_of(identity: Identity, request: HttpRequest) -> Caller:
    """Returns the caller of a request with a user's or a session's key."""
    return Caller(identity, request.peer.address, request.peer.is_tls, request.headers)
