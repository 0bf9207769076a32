"""Leases: which worker reads which shard, and the checkpoints of the group.

The leases of a group are items of one table with the hash key `consumerGroup` (group name, stream ARN), one
per shard, with the attributes of the Kinesis Client Library (streams.md section 6):

    leaseKey        range key: the shard id, or `#group` for the item with the start of the group
    leaseOwner      worker that has the lease; missing without an owner
    leaseCounter    increases with every renewal. Clocks of workers are not compared: a worker takes a lease
                    when the counter was constant for `lease_s` by its own clock
    ownerSwitches   increases with every change of owner, and is a condition of the owner's writes
    checkpoint      sequence number after which reading continues, TRIM_HORIZON, LATEST, or SHARD_END
    parentShardId   of a shard with a parent
    handoffTo       worker that requests the lease for balance. The owner hands it over between two batches,
                    so no record is handled twice

Every change is one conditional update. A worker that has lost a lease detects it with its next update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from botocore.exceptions import ClientError

from faradisc.records import dataclass, replace
from faradisc.tools.consumers.tables import ensure_table, error_code

TRIM_HORIZON = "TRIM_HORIZON"
LATEST = "LATEST"
SHARD_END = "SHARD_END"

GROUP_KEY = "#group"


class ShardLeaseLost(Exception):
    """Another worker has the lease."""


@dataclass(frozen=True, slots=True)
class ShardLease:
    shard_id: str
    parent_id: str | None
    checkpoint: str
    owner: str | None = None
    counter: int = 0
    switches: int = 0
    handoff_to: str | None = None

    @property
    def ended(self) -> bool:
        return self.checkpoint == SHARD_END


@dataclass(frozen=True, slots=True)
class GroupStart:
    """The start of a group: at the oldest record, or at the time of its start."""

    began_ms: int
    latest: bool
    open_shards: frozenset[str] = frozenset()
    """Shards that were open at the start; only if the group started with the latest records."""
    newest_shard: str = ""
    """Ids sort by creation: shards not above this that were not open are older than the start."""

    def first_checkpoint(self, shard_id: str) -> str | None:
        """Returns the first checkpoint of a shard without a lease; None for one older than the start."""
        if not self.latest or shard_id > self.newest_shard:
            return TRIM_HORIZON
        return LATEST if shard_id in self.open_shards else None


class ShardLeases(Protocol):
    """The leases of one group and one stream. All methods except `ensure`, `all` and `begin` raise LeaseLost,
    or return False or None, when the stored lease differs from the caller's."""

    def ensure(self) -> None: ...

    def begin(self, start: GroupStart) -> GroupStart:
        """Stores the start of the group unless one is stored. Returns the stored start."""
        ...

    def all(self) -> dict[str, ShardLease]: ...

    def create(self, lease: ShardLease) -> bool:
        """Returns False when the lease exists."""
        ...

    def take(self, lease: ShardLease, worker: str) -> ShardLease | None: ...

    def request(self, lease: ShardLease, worker: str) -> bool:
        """Requests the lease from its owner."""
        ...

    def renew(self, lease: ShardLease) -> ShardLease: ...

    def checkpoint(self, lease: ShardLease, checkpoint: str) -> ShardLease: ...

    def give(self, lease: ShardLease, worker: str | None) -> None:
        """Hands the lease over to a worker; None: releases it."""
        ...

    def delete(self, lease: ShardLease) -> bool:
        """Deletes the lease of a shard that has ended and is no longer listed."""
        ...


class TableLeases:
    """Leases in a table."""

    def __init__(
        self, client: Any, table: str, group: str, stream_arn: str, *, sleep: Callable[[float], None]
    ) -> None:
        self._client = client
        self._table = table
        self._sleep = sleep
        self._hash = {"S": f"{group} {stream_arn}"}

    def ensure(self) -> None:
        """Raises ClientError, TimeoutError."""
        ensure_table(
            self._client, self._table, hash_key="consumerGroup", range_key="leaseKey", sleep=self._sleep
        )

    def begin(self, start: GroupStart) -> GroupStart:
        item = {
            **self._key(GROUP_KEY),
            "beganMs": {"N": str(start.began_ms)},
            "latest": {"BOOL": start.latest},
            "openShards": {"L": [{"S": shard} for shard in sorted(start.open_shards)]},
            "newestShard": {"S": start.newest_shard},
        }
        if self._put_new(item):
            return start
        found = self._client.get_item(TableName=self._table, Key=self._key(GROUP_KEY), ConsistentRead=True)
        stored = found["Item"]
        return GroupStart(
            int(stored["beganMs"]["N"]),
            stored["latest"]["BOOL"],
            frozenset(shard["S"] for shard in stored["openShards"]["L"]),
            stored["newestShard"]["S"],
        )

    def all(self) -> dict[str, ShardLease]:
        leases: dict[str, ShardLease] = {}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "consumerGroup = :group",
            "ExpressionAttributeValues": {":group": self._hash},
            "ConsistentRead": True,
        }
        while True:
            page = self._client.query(**request)
            for item in page["Items"]:
                if item["leaseKey"]["S"] != GROUP_KEY:
                    lease = _lease_of(item)
                    leases[lease.shard_id] = lease
            if "LastEvaluatedKey" not in page:
                return leases
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def create(self, lease: ShardLease) -> bool:
        item = {
            **self._key(lease.shard_id),
            "checkpoint": {"S": lease.checkpoint},
            "leaseCounter": {"N": "0"},
            "ownerSwitches": {"N": "0"},
        }
        if lease.parent_id is not None:
            item["parentShardId"] = {"S": lease.parent_id}
        return self._put_new(item)

    def take(self, lease: ShardLease, worker: str) -> ShardLease | None:
        try:
            return self._update(
                lease,
                "SET leaseOwner = :new, ownerSwitches = ownerSwitches + :one, "
                "leaseCounter = leaseCounter + :one REMOVE handoffTo",
                "ownerSwitches = :switches AND leaseCounter = :counter",
                {
                    ":new": {"S": worker},
                    ":one": {"N": "1"},
                    ":switches": {"N": str(lease.switches)},
                    ":counter": {"N": str(lease.counter)},
                },
            )
        except ShardLeaseLost:
            return None

    def request(self, lease: ShardLease, worker: str) -> bool:
        try:
            self._update(
                lease,
                "SET handoffTo = :new",
                "ownerSwitches = :switches AND attribute_not_exists(handoffTo)",
                {":new": {"S": worker}, ":switches": {"N": str(lease.switches)}},
            )
        except ShardLeaseLost:
            return False
        return True

    def renew(self, lease: ShardLease) -> ShardLease:
        return self._as_owner(lease, "SET leaseCounter = leaseCounter + :one", {":one": {"N": "1"}})

    def checkpoint(self, lease: ShardLease, checkpoint: str) -> ShardLease:
        return self._as_owner(
            lease,
            "SET leaseCounter = leaseCounter + :one, checkpoint = :checkpoint",
            {":one": {"N": "1"}, ":checkpoint": {"S": checkpoint}},
        )

    def give(self, lease: ShardLease, worker: str | None) -> None:
        update = "SET ownerSwitches = ownerSwitches + :one, leaseCounter = leaseCounter + :one"
        values: dict[str, Any] = {":one": {"N": "1"}}
        if worker is None:
            update += " REMOVE leaseOwner, handoffTo"
        else:
            update += ", leaseOwner = :new REMOVE handoffTo"
            values[":new"] = {"S": worker}
        self._as_owner(lease, update, values)

    def delete(self, lease: ShardLease) -> bool:
        try:
            self._client.delete_item(
                TableName=self._table,
                Key=self._key(lease.shard_id),
                ConditionExpression="checkpoint = :end",
                ExpressionAttributeValues={":end": {"S": SHARD_END}},
            )
        except ClientError as error:
            _check_failed_condition(error)
            return False
        return True

    def _put_new(self, item: dict[str, Any]) -> bool:
        """Returns False when there is an item with this key."""
        condition = "attribute_not_exists(leaseKey)"
        try:
            self._client.put_item(TableName=self._table, Item=item, ConditionExpression=condition)
        except ClientError as error:
            _check_failed_condition(error)
            return False
        return True

    def _as_owner(self, lease: ShardLease, update: str, values: dict[str, Any]) -> ShardLease:
        """Raises LeaseLost."""
        return self._update(
            lease,
            update,
            "leaseOwner = :owner AND ownerSwitches = :switches",
            {**values, ":owner": {"S": lease.owner}, ":switches": {"N": str(lease.switches)}},
        )

    def _update(self, lease: ShardLease, update: str, condition: str, values: dict[str, Any]) -> ShardLease:
        """Raises LeaseLost when the condition is false."""
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=self._key(lease.shard_id),
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
            )
        except ClientError as error:
            _check_failed_condition(error)
            raise ShardLeaseLost(lease.shard_id) from None
        return _lease_of(answer["Attributes"])

    def _key(self, lease_key: str) -> dict[str, Any]:
        return {"consumerGroup": self._hash, "leaseKey": {"S": lease_key}}


def _check_failed_condition(error: ClientError) -> None:
    """Raises the error again unless it is a failed condition."""
    if error_code(error) != "ConditionalCheckFailedException":
        raise error


def _lease_of(item: dict[str, Any]) -> ShardLease:
    return ShardLease(
        shard_id=item["leaseKey"]["S"],
        parent_id=item.get("parentShardId", {}).get("S"),
        checkpoint=item["checkpoint"]["S"],
        owner=item.get("leaseOwner", {}).get("S"),
        counter=int(item["leaseCounter"]["N"]),
        switches=int(item["ownerSwitches"]["N"]),
        handoff_to=item.get("handoffTo", {}).get("S"),
    )


class MemoryLeases:
    """Leases of a single worker in memory, for `tail`."""

    def __init__(self) -> None:
        self._leases: dict[str, ShardLease] = {}

    def ensure(self) -> None:
        pass

    def begin(self, start: GroupStart) -> GroupStart:
        return start

    def all(self) -> dict[str, ShardLease]:
        return dict(self._leases)

    def create(self, lease: ShardLease) -> bool:
        return self._leases.setdefault(lease.shard_id, lease) is lease

    def take(self, lease: ShardLease, worker: str) -> ShardLease | None:
        return self._store(replace(lease, owner=worker, switches=lease.switches + 1))

    def request(self, lease: ShardLease, worker: str) -> bool:
        return False

    def renew(self, lease: ShardLease) -> ShardLease:
        return self._leases[lease.shard_id]

    def checkpoint(self, lease: ShardLease, checkpoint: str) -> ShardLease:
        return self._store(replace(lease, checkpoint=checkpoint))

    def give(self, lease: ShardLease, worker: str | None) -> None:
        self._store(replace(lease, owner=worker))

    def delete(self, lease: ShardLease) -> bool:
        return self._leases.pop(lease.shard_id, None) is not None

    def _store(self, lease: ShardLease) -> ShardLease:
        self._leases[lease.shard_id] = lease
        return lease
