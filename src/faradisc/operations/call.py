"""A request for an operation, and the open database that operations use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from faradisc.engine.streams.stream import StreamState
from faradisc.engine.tables.table import Table
from faradisc.model.values.attribute import Item
from faradisc.model.values.parameters import Parameters
from faradisc.model.values.size import item_size
from faradisc.records import dataclass, field

if TYPE_CHECKING:
    from faradisc.auth.identity import Identity


@dataclass(frozen=True, slots=True)
class StreamRead:
    """The page that a GetRecords returns; for the metrics."""

    stream: StreamState
    records: int
    size_bytes: int


@dataclass(slots=True)
class RequestStats:
    """Metrics of a request that most requests do not need."""

    tables: tuple[Table, ...] = ()
    """Tables it has read or written besides the first one."""
    returned: int | StreamRead | None = None
    """Items that a Query, a Scan or a SELECT returned, or the page that a GetRecords returned."""
    all_throttled: bool = False
    """Whether every statement of a batch was throttled."""


@dataclass(slots=True)
class Caller:
    """Who sends a request, and from where, for policies."""

    identity: Identity
    address: str = ""
    """The client's; "" where there is none."""
    secure: bool = False
    """Whether the request came encrypted."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict)
    """Of the request, by lower-case name."""

    @property
    def user_agent(self) -> str | None:
        return self._header(b"user-agent")

    @property
    def referer(self) -> str | None:
        return self._header(b"referer")

    def _header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


@dataclass(slots=True)
class Call(Parameters):
    """A request to an operation. The registry sets `wording`."""

    region: str
    account: str
    host: str | None = None
    """Host header of the request, where one was sent."""
    older: bool = False
    """Only the service's older layer reads this request: its errors have the old wording, and no prefix."""
    first_table: Table | None = None
    """The first table it reads or writes; for the metrics."""
    stats: RequestStats | None = None
    """None for most requests, so that counting one costs a single test."""
    item_sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of items to be put, by the `id` of their dicts, where the checks have measured them
    (protocol/shapes.py)."""
    caller: Caller | None = None
    """Whom policies limit; None for requests with all rights, and for those of the database itself."""
    body: bytes | None = None
    """The JSON text of an ExecuteStatement, whose tokens depend on how numbers are spelled."""
    lost: Literal["", "closed", "withheld"] = ""
    """What happens to its answer instead of being sent (faults.py)."""
    access_key_id: str = ""
    """That a request to another service was signed with."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """Returns the tables that the request has read or written so far."""
        further = () if self.stats is None else self.stats.tables
        return further if self.first_table is None else (self.first_table, *further)

    def add_table(self, table: Table) -> None:
        """Records that the request uses a table besides its first one."""
        stats = self.stats = self.stats or RequestStats()
        if table not in stats.tables:
            stats.tables = (*stats.tables, table)

    def record_returned(self, returned: int | StreamRead) -> None:
        """Records how many items, or which page of a stream, the request returns."""
        stats = self.stats = self.stats or RequestStats()
        stats.returned = returned

    def mark_throttled(self) -> None:
        """Records that the request succeeds although all that it asked for was throttled."""
        stats = self.stats = self.stats or RequestStats()
        stats.all_throttled = True

    def size_of(self, item: Item) -> int:
        """Returns the size in bytes of an item of the request."""
        return self.item_sizes.get(id(item)) or item_size(item)
