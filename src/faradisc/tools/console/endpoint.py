"""Requests of the console to its endpoint, as a client makes them."""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import Any, Final, TypeVar

import orjson

from faradisc.clock import SystemClock
from faradisc.records import dataclass, field
from faradisc.tools.console.values import from_client, to_client

_METHOD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STREAMS: Final = frozenset(("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"))
TIMEOUT_S: Final = 30
READS_MAX: Final = 20_000
"""Reads of this console that are remembered, so that advice and access patterns do not count them."""
_READS: Final = frozenset(("Scan", "Query", "GetItem"))
S3_URL: Final = "AWS_ENDPOINT_URL_S3"
"""The variable of the environment that names the S3 endpoint of exports, to every client of AWS."""
ADMIN: Final = "the admin API"
Answer = TypeVar("Answer")


class Failure(Exception):
    """An error that the endpoint answered, or why there was no answer. code: "" without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if code else message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Key:
    """An access key. `repr` shows no secret."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


class ServerEndpoint:
    """An endpoint with a region and a key. Calls run in threads; clients of botocore are safe there."""

    def __init__(self, url: str | None, region: str, key: Key | None) -> None:
        """url: None for Amazon's. key: None takes the credentials of the environment, or made-up ones for a
        url."""
        self.url = url
        self.region = region
        self.key = key
        self._clients: dict[str, Any] = {}
        self._making = asyncio.Lock()
        self._listing: asyncio.Task[list[str]] | None = None
        self._reads: deque[tuple[str, str, int]] = deque(maxlen=READS_MAX)
        """The operation, the table and the time of each read of this console."""
        self.refused: set[tuple[str, str]] = set()
        """Operations and tables that the endpoint has denied to this key; ADMIN for the admin API."""

    # --- The API ---

    async def call(self, operation: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the answer, with binary as base64. Raises Failure."""
        service = "dynamodbstreams" if operation in _STREAMS else "dynamodb"
        if operation in _READS:
            self._reads.append((operation, str((request or {})["TableName"]), SystemClock().now_ns()))
        try:
            return await self._run(service, operation, request or {})
        except Failure as failure:
            if failure.code == "AccessDeniedException":
                self.refused.add((operation, str((request or {}).get("TableName", ""))))
            raise

    def reads_since(self, operation: str, table: str, hours: float) -> int:
        """Returns how often this console has read a table with an operation in the last hours."""
        since = SystemClock().now_ns() - hours * 3600e9
        return sum((did, name) == (operation, table) and at >= since for did, name, at in self._reads)

    async def optional(self, operation: str, request: dict[str, Any], member: str, default: Any) -> Any:
        """Returns a member of an answer; the default where the endpoint or the key does not allow the
        request."""
        try:
            return (await self.call(operation, request)).get(member, default)
        except Failure:
            return default

    async def service(self, service: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Calls another service of the endpoint, such as `cloudwatch`. Raises Failure."""
        return await self._run(service, operation, request)

    async def pages(self, operation: str, request: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yields the pages of a Query or a Scan. Raises Failure."""
        while True:
            answer = await self.call(operation, request)
            yield answer
            if "LastEvaluatedKey" not in answer:
                return
            request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}

    async def _run(self, service: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        def ask(client: Any) -> dict[str, Any]:
            method = getattr(client, _METHOD.sub("_", operation).lower())
            answer: dict[str, Any] = method(**to_client(request))
            return answer

        answer = await self.use(ask, service)
        answer.pop("ResponseMetadata", None)
        converted: dict[str, Any] = from_client(answer)
        return converted

    async def use(self, action: Callable[[Any], Answer], service: str = "dynamodb") -> Answer:
        """Runs an action with a client of botocore, in a thread. Raises Failure for errors of requests."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - slow to import

        client = await self._client(service)
        try:
            return await asyncio.to_thread(action, client)
        except ClientError as error:
            found = error.response["Error"]
            raise Failure(found.get("Code", ""), found.get("Message", "") or str(error)) from error
        except BotoCoreError as error:
            raise Failure("", f"{error}.".replace("..", ".")) from error

    async def _client(self, service: str) -> Any:
        async with self._making:
            if service not in self._clients:
                self._clients[service] = await asyncio.to_thread(self._made, service)
            return self._clients[service]

    @cached_property
    def _session(self) -> Any:
        import botocore.session  # noqa: PLC0415 - slow to import

        return botocore.session.get_session()

    def _made(self, service: str) -> Any:
        from botocore.config import Config  # noqa: PLC0415 - slow to import

        session, key = self._session, self.key
        if key is None and self.url is not None and session.get_credentials() is None:
            key = Key("console", "console")
        # The endpoint serves no buckets: `exports.has_buckets` says whether another one is known.
        buckets: dict[str, Any] = {"s3": {"addressing_style": "path"}}
        is_foreign = service == "s3" and self.url is not None
        return session.create_client(
            service,
            region_name=self.region,
            endpoint_url=os.environ[S3_URL] if is_foreign else self.url,
            aws_access_key_id=key.key_id if key else None,
            aws_secret_access_key=key.secret if key else None,
            aws_session_token=key.token if key else None,
            config=Config(
                parameter_validation=False,
                retries={"max_attempts": 2},
                connect_timeout=5,
                read_timeout=TIMEOUT_S,
                max_pool_connections=20,
                **(buckets if is_foreign else {}),
            ),
        )

    # --- The admin API, which only Faradisc has ---

    async def admin(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Returns the document of an admin page (docs/guide/administration.md); a POST with a body.

        Raises Failure, with code "404" where the endpoint has no such page.
        """
        if self.url is None:
            raise Failure("404", "Amazon DynamoDB has no admin API.")
        client = await self._client("dynamodb")
        try:
            return await asyncio.to_thread(self._admin, client, path, body)
        except Failure as failure:
            if failure.code == "403":
                self.refused.add((ADMIN, ""))
            raise

    def _admin(self, client: Any, path: str, body: dict[str, Any] | None) -> Any:
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        from botocore.httpsession import URLLib3Session  # noqa: PLC0415

        data = None if body is None else orjson.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        url = f"{str(self.url).rstrip('/')}/_faradisc/{path}"
        request = AWSRequest("GET" if body is None else "POST", url, headers, data)
        SigV4Auth(client._get_credentials(), "dynamodb", self.region).add_auth(request)
        # As botocore finds the authorities that its clients trust: AWS_CA_BUNDLE or the profile.
        trusted = self._session.get_config_variable("ca_bundle") or True
        try:
            answer = URLLib3Session(verify=trusted, timeout=TIMEOUT_S).send(request.prepare())
        except BotoCoreError as error:
            raise Failure("", str(error)) from error
        try:
            document = orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            raise Failure("404", "The endpoint has no admin API.") from None
        if answer.status_code >= 400:
            raise Failure(
                str(answer.status_code), str(document.get("error", "")) or "The endpoint has no admin API."
            )
        return document

    async def has_admin(self) -> bool:
        """Returns whether the endpoint answers the admin API to this key."""
        try:
            await self.admin("clock")
        except Failure:
            return False
        return True

    async def tables(self) -> list[str]:
        """Returns the names of all tables; callers at the same time share the requests. Raises Failure."""
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._listed())
        return list(await asyncio.shield(self._listing))

    async def _listed(self) -> list[str]:
        names: list[str] = []
        request: dict[str, Any] = {}
        while True:
            answer = await self.call("ListTables", request)
            names += answer["TableNames"]
            if "LastEvaluatedTableName" not in answer:
                return names
            request = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}

    async def describe(self, table: str) -> dict[str, Any]:
        """Returns a table's description. Raises Failure."""
        described: dict[str, Any] = (await self.call("DescribeTable", {"TableName": table}))["Table"]
        return described
