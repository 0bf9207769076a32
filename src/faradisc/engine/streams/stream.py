"""One stream: its stored state, and its status on the clock.

After it is switched off, or its table is deleted, a stream can be read for another 24 hours. Source:
streams.md section 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from faradisc.auth.resource_policy import ResourcePolicy
from faradisc.engine.sealing.state import SealState
from faradisc.engine.streams.shards import Shard, shards_of_generations
from faradisc.limits import STREAM_RETENTION_S
from faradisc.model.codec.keyspace import parts_of
from faradisc.model.values.schema import KeySchema
from faradisc.records import asdict, dataclass, field

RETENTION_NS = STREAM_RETENTION_S * 1_000_000_000


@dataclass(slots=True)
class StreamState:
    """The stored state of a stream: plain data, JSON in the streams' part under the resource number."""

    resource: int
    slots: int
    namespace: str
    table_name: str
    region: str
    account: str
    label: str
    view_type: str
    key_schema: list[tuple[str, str]]
    """Of the table, as (attribute, HASH or RANGE)."""
    types: dict[str, Any]
    secret: str
    """Key of the digests in the stream's iterators, hex digits."""
    created_ns: int
    shards: list[Shard]
    """Oldest first. Those without an end are open, or were when the stream ended."""
    ended_ns: int | None = None
    policy: ResourcePolicy | None = None
    policy_deleted: str | None = None
    """Revision of the last deletion of a policy."""
    tags: dict[str, str] = field(default_factory=dict)
    sealing: SealState | None = None
    """The encryption of its table, once the stream has ended."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "shards": [each.to_json() for each in self.shards]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> StreamState:
        members = {**stored, "key_schema": [(name, kind) for name, kind in stored["key_schema"]]}
        if "generations" in members:  # as earlier releases stored them
            members["shards"] = shards_of_generations(members.pop("generations"), stored["label"])
        else:
            members["shards"] = [Shard.from_json(each) for each in stored["shards"]]
        if members.get("policy") is not None:
            members["policy"] = ResourcePolicy(**members["policy"])
        if members.get("sealing") is not None:
            members["sealing"] = SealState(**members["sealing"])
        return cls(**members)


class Stream:
    """A live stream. `state` is replaced, never changed."""

    __slots__ = (
        *("arn", "denied_until_ns", "key", "partitions", "parts", "rolling", "state", "trim_due_ns"),
        "version",
    )

    def __init__(self, state: StreamState) -> None:
        self.state = state
        self.version = 0
        """Version of its row; 0 until that is committed."""
        self.arn = stream_arn(state.region, state.account, state.table_name, state.label)
        self.parts = parts_of(state.resource, state.slots)
        self.key = KeySchema.of_elements(state.key_schema, state.types)
        self.rolling = asyncio.Lock()
        """Held while the stream rolls, and by readers, which must not see half of it."""
        self.trim_due_ns = 0
        """No record is too old before this time; 0: unknown."""
        self.denied_until_ns = 0
        """Nothing is done before this time, because the key of the entries cannot be used."""
        self.partitions = 0
        """How many partitions of the table the shards follow; 0: unknown."""

    @property
    def row_key(self) -> bytes:
        """Returns the key of the stream's row."""
        return self.state.resource.to_bytes(4, "big")

    def status(self, now_ns: int, transition_ns: int) -> str:
        state = self.state
        if state.ended_ns is not None:
            return "DISABLING" if now_ns < state.ended_ns + transition_ns else "DISABLED"
        return "ENABLING" if now_ns < state.created_ns + transition_ns else "ENABLED"

    def is_gone(self, now_ns: int) -> bool:
        ended_ns = self.state.ended_ns
        return ended_ns is not None and now_ns >= ended_ns + RETENTION_NS

    def due_ns(self, lifetime_ns: int) -> int:
        """Returns when the stream must next be rolled, trimmed or deleted."""
        state = self.state
        due = [self.trim_due_ns]
        for shard in state.shards:
            if shard.ended_ns is not None:
                due.append(shard.ended_ns + RETENTION_NS)
            elif state.ended_ns is None:
                due.append(shard.began_ns + lifetime_ns)
        if state.ended_ns is not None:
            due.append(state.ended_ns + RETENTION_NS)
        return max(min(due), self.denied_until_ns)


def stream_arn(region: str, account: str, table_name: str, label: str) -> str:
    return f"arn:aws:dynamodb:{region}:{account}:table/{table_name}/stream/{label}"


def label_of(now_ns: int) -> str:
    """Returns an ISO timestamp with milliseconds and without a zone."""
    moment = datetime.fromtimestamp(now_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{now_ns // 1_000_000 % 1000:03d}"
