"""Leases: which worker reads which shard, and how far the group has come.

A group's leases are items of one table, all under the hash key `consumerGroup` (group name, stream ARN),
one per shard, with the attributes that the Kinesis Client Library gave them (streams.md section 6):

    leaseKey        range key: the shard id, or `#group` for the item that says where the group began
    leaseOwner      worker that holds the lease; absent: nobody does
    leaseCounter    rises with every sign of life. No clock is compared with another one: a worker takes a
                    lease when it has seen the counter stand still for `lease_s` on its own clock
    ownerSwitches   rises with every change of owner; what an owner writes is fenced by it
    checkpoint      sequence number behind which reading goes on, TRIM_HORIZON, LATEST, or SHARD_END
    parentShardId   of the shard, where it has a parent
    handoffTo       worker that wants the lease for balance. The owner gives it up between two batches, so
                    that no record is handled twice because of it

Every change is one conditional update. A worker whose lease was taken finds out with its next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from botocore.exceptions import ClientError

from faradisc.tools.consumers.tables import ensure_table, error_code

TRIM_HORIZON = "TRIM_HORIZON"
LATEST = "LATEST"
SHARD_END = "SHARD_END"

_GROUP_KEY = "#group"


class LeaseLost(Exception):
    """Somebody else holds the lease by now."""


@dataclass(frozen=True, slots=True)
class Lease:
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
    """Where a group began: from all records there were, or from those that came afterwards."""

    began_ms: int
    latest: bool
    open_shards: frozenset[str] = frozenset()
    """Shards that were open then; only where the group began with the latest records."""
    newest_shard: str = ""
    """Ids sort in order of creation: what is not above this, and was not open, is history."""

    def first_checkpoint(self, shard_id: str) -> str | None:
        """Where reading of a shard that has no lease yet begins; None: it is history."""
        if not self.latest or shard_id > self.newest_shard:
            return TRIM_HORIZON
        return LATEST if shard_id in self.open_shards else None


class Leases(Protocol):
    """The leases of one group and one stream. All but `ensure`, `all` and `begin` raise LeaseLost, or answer
    False or None, when the lease is not what the caller thinks it is."""

    def ensure(self) -> None: ...

    def begin(self, start: GroupStart) -> GroupStart:
        """Store where the group begins, unless it has begun; where it did."""
        ...

    def all(self) -> dict[str, Lease]: ...

    def create(self, lease: Lease) -> bool:
        """False when it is there already."""
        ...

    def take(self, lease: Lease, worker: str) -> Lease | None: ...

    def ask(self, lease: Lease, worker: str) -> bool:
        """Ask the owner to hand the lease over."""
        ...

    def renew(self, lease: Lease) -> Lease: ...

    def checkpoint(self, lease: Lease, checkpoint: str) -> Lease: ...

    def give(self, lease: Lease, worker: str | None) -> None:
        """Hand the lease over, or let go of it."""
        ...

    def delete(self, lease: Lease) -> bool:
        """Forget the lease of a shard that has ended and is gone."""
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
        """Raises: ClientError, TimeoutError."""
        ensure_table(
            self._client, self._table, hash_key="consumerGroup", range_key="leaseKey", sleep=self._sleep
        )

    def begin(self, start: GroupStart) -> GroupStart:
        item = {
            **self._key(_GROUP_KEY),
            "beganMs": {"N": str(start.began_ms)},
            "latest": {"BOOL": start.latest},
            "openShards": {"L": [{"S": shard} for shard in sorted(start.open_shards)]},
            "newestShard": {"S": start.newest_shard},
        }
        try:
            self._client.put_item(
                TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(leaseKey)"
            )
            return start
        except ClientError as error:
            _check_failed_condition(error)
        found = self._client.get_item(TableName=self._table, Key=self._key(_GROUP_KEY), ConsistentRead=True)
        stored = found["Item"]
        return GroupStart(
            int(stored["beganMs"]["N"]),
            stored["latest"]["BOOL"],
            frozenset(shard["S"] for shard in stored["openShards"]["L"]),
            stored["newestShard"]["S"],
        )

    def all(self) -> dict[str, Lease]:
        leases: dict[str, Lease] = {}
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "consumerGroup = :group",
            "ExpressionAttributeValues": {":group": self._hash},
            "ConsistentRead": True,
        }
        while True:
            page = self._client.query(**request)
            for item in page["Items"]:
                if item["leaseKey"]["S"] != _GROUP_KEY:
                    lease = _lease_of(item)
                    leases[lease.shard_id] = lease
            if "LastEvaluatedKey" not in page:
                return leases
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def create(self, lease: Lease) -> bool:
        item = {
            **self._key(lease.shard_id),
            "checkpoint": {"S": lease.checkpoint},
            "leaseCounter": {"N": "0"},
            "ownerSwitches": {"N": "0"},
        }
        if lease.parent_id is not None:
            item["parentShardId"] = {"S": lease.parent_id}
        try:
            self._client.put_item(
                TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(leaseKey)"
            )
        except ClientError as error:
            _check_failed_condition(error)
            return False
        return True

    def take(self, lease: Lease, worker: str) -> Lease | None:
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
        except LeaseLost:
            return None

    def ask(self, lease: Lease, worker: str) -> bool:
        try:
            self._update(
                lease,
                "SET handoffTo = :new",
                "ownerSwitches = :switches AND attribute_not_exists(handoffTo)",
                {":new": {"S": worker}, ":switches": {"N": str(lease.switches)}},
            )
        except LeaseLost:
            return False
        return True

    def renew(self, lease: Lease) -> Lease:
        return self._as_owner(lease, "SET leaseCounter = leaseCounter + :one", {":one": {"N": "1"}})

    def checkpoint(self, lease: Lease, checkpoint: str) -> Lease:
        return self._as_owner(
            lease,
            "SET leaseCounter = leaseCounter + :one, checkpoint = :checkpoint",
            {":one": {"N": "1"}, ":checkpoint": {"S": checkpoint}},
        )

    def give(self, lease: Lease, worker: str | None) -> None:
        changed = (
            "SET ownerSwitches = ownerSwitches + :one, leaseCounter = leaseCounter + :one, leaseOwner = :new "
            "REMOVE handoffTo"
            if worker is not None
            else "SET ownerSwitches = ownerSwitches + :one, leaseCounter = leaseCounter + :one "
            "REMOVE leaseOwner, handoffTo"
        )
        values: dict[str, Any] = {":one": {"N": "1"}}
        if worker is not None:
            values[":new"] = {"S": worker}
        self._as_owner(lease, changed, values)

    def delete(self, lease: Lease) -> bool:
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

    def _as_owner(self, lease: Lease, update: str, values: dict[str, Any]) -> Lease:
        """Raises: LeaseLost."""
        return self._update(
            lease,
            update,
            "leaseOwner = :owner AND ownerSwitches = :switches",
            {**values, ":owner": {"S": lease.owner}, ":switches": {"N": str(lease.switches)}},
        )

    def _update(self, lease: Lease, update: str, condition: str, values: dict[str, Any]) -> Lease:
        """Raises: LeaseLost when the condition does not hold."""
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
            raise LeaseLost(lease.shard_id) from None
        return _lease_of(answer["Attributes"])

    def _key(self, lease_key: str) -> dict[str, Any]:
        return {"consumerGroup": self._hash, "leaseKey": {"S": lease_key}}


def _check_failed_condition(error: ClientError) -> None:
    """Raises the error again unless it says that the condition was false."""
    if error_code(error) != "ConditionalCheckFailedException":
        raise error


def _lease_of(item: dict[str, Any]) -> Lease:
    return Lease(
        shard_id=item["leaseKey"]["S"],
        parent_id=item.get("parentShardId", {}).get("S"),
        checkpoint=item["checkpoint"]["S"],
        owner=item.get("leaseOwner", {}).get("S"),
        counter=int(item["leaseCounter"]["N"]),
        switches=int(item["ownerSwitches"]["N"]),
        handoff_to=item.get("handoffTo", {}).get("S"),
    )


class OwnLeases:
    """Leases of a single worker that keeps nothing: for whoever only looks at a stream."""

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}

    def ensure(self) -> None:
        pass

    def begin(self, start: GroupStart) -> GroupStart:
        return start

    def all(self) -> dict[str, Lease]:
        return dict(self._leases)

    def create(self, lease: Lease) -> bool:
        return self._leases.setdefault(lease.shard_id, lease) is lease

    def take(self, lease: Lease, worker: str) -> Lease | None:
        return self._keep(replace(lease, owner=worker, switches=lease.switches + 1))

    def ask(self, lease: Lease, worker: str) -> bool:
        return False

    def renew(self, lease: Lease) -> Lease:
        return self._leases[lease.shard_id]

    def checkpoint(self, lease: Lease, checkpoint: str) -> Lease:
        return self._keep(replace(lease, checkpoint=checkpoint))

    def give(self, lease: Lease, worker: str | None) -> None:
        self._keep(replace(lease, owner=worker))

    def delete(self, lease: Lease) -> bool:
        return self._leases.pop(lease.shard_id, None) is not None

    def _keep(self, lease: Lease) -> Lease:
        self._leases[lease.shard_id] = lease
        return lease
