"""What the console knows of browsers: the endpoint and key of each, colours, tables that were opened last.

All of it stays in memory. Sessions with the same endpoint, region and key share one `Endpoint`: a client of
botocore takes about ten megabytes.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from nicegui import app

from faradisc.records import dataclass, field
from faradisc.tools.console.endpoint import Failure, Key, ServerEndpoint

RECENT_MAX: Final = 6
_ENDPOINTS: WeakValueDictionary[tuple[str | None, str, Key | None], ServerEndpoint] = WeakValueDictionary()


def shared_endpoint(url: str | None, region: str, key: Key | None) -> ServerEndpoint:
    """Returns the endpoint of all sessions with this key."""
    found = _ENDPOINTS.get((url, region, key))
    if found is None:
        found = _ENDPOINTS[url, region, key] = ServerEndpoint(url, region, key)
    return found


@dataclass(slots=True)
class Session:
    """What the console knows of one browser."""

    url: str | None
    region: str
    key: Key | None = None
    dark: bool | None = None
    """None: as the browser prefers."""
    endpoint: ServerEndpoint = field(init=False)
    admin: bool | None = None
    """Whether the admin API answers; None: not asked yet."""
    who: str | None = None
    """The caller as the endpoint names it; None: not asked yet."""
    arn: str = ""
    """The caller's ARN, where the endpoint tells it."""
    recent: list[str] = field(default_factory=list)
    """Tables that were opened last, the latest first."""
    panes: str = "both"
    """What the editor of an item shows: `tree`, `json` or `both`."""
    colours: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers of the colours of entities, by table and name."""

    def __post_init__(self) -> None:
        self.connect(self.url, self.region, self.key)

    def connect(self, url: str | None, region: str, key: Key | None) -> None:
        self.url, self.region, self.key, self.admin, self.who = url, region, key, None, None
        self.arn = ""
        self.endpoint = shared_endpoint(url, region, key)

    async def has_admin(self) -> bool:
        if self.admin is None:
            self.admin = await self.endpoint.has_admin()
        return self.admin

    async def caller(self) -> str:
        """Returns who the endpoint takes this session for: the end of an ARN, or the id of the key."""
        if self.who is None:
            try:
                answer = await self.endpoint.service("sts", "GetCallerIdentity", {})
                self.arn = str(answer["Arn"])
                self.who = self.arn.rpartition(":")[2]
            except Failure:
                self.who = self.key.key_id if self.key else "environment credentials"
        return self.who

    async def denied(self, table: str, *operations: str, part: str = "") -> set[str]:
        """Returns the operations on a table that this key may not use: those that were denied before, and
        those that the caller's policies deny, where it may ask for that.

        table: its name; empty for operations on no table in particular. part: what of it is meant, such as
        `/stream/*`.
        """
        await self.caller()
        refused = self.endpoint.refused
        found = {name for name in operations if (name, table) in refused}
        if not self.arn:
            return found
        _, partition, _, _, account, *_ = self.arn.split(":")
        resource = f"arn:{partition}:dynamodb:{self.region}:{account}:table/{table or '*'}{part}"
        request = {
            "PolicySourceArn": self.arn,
            "ActionNames": [f"dynamodb:{name}" for name in operations],
            "ResourceArns": [resource],
        }
        try:
            answer = await self.endpoint.service("iam", "SimulatePrincipalPolicy", request)
        except Failure:
            return found
        results = answer["EvaluationResults"]
        return found | {
            each["EvalActionName"].partition(":")[2] for each in results if each["EvalDecision"] != "allowed"
        }

    def opened(self, table: str) -> None:
        """Puts a table before the others that were opened last."""
        self.recent = [table, *(name for name in self.recent if name != table)][:RECENT_MAX]


class Sessions:
    """The sessions by browser, the newest SESSIONS_MAX of them."""

    SESSIONS_MAX = 200

    def __init__(self) -> None:
        self.url: str | None = None
        self.region = "us-east-1"
        self._found: dict[str, Session] = {}

    def current(self) -> Session:
        browser = app.storage.browser["id"]
        session = self._found.pop(browser, None) or Session(self.url, self.region)
        self._found[browser] = session
        if len(self._found) > self.SESSIONS_MAX:
            del self._found[next(iter(self._found))]
        return session


SESSIONS = Sessions()
