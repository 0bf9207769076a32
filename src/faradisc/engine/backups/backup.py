"""One backup: its stored state, its ARN, and its description in the API.

Source of the shapes: the service model. Source of a system backup's name and lifetime of 35 days: the
service's documentation on deleting a table with point-in-time recovery, and limits.md section 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from faradisc.clock import epoch_seconds
from faradisc.engine.tables.description import describe_sealing, described_key
from faradisc.engine.tables.state import IndexState, TableState, VectorIndexState
from faradisc.engine.tables.throughput_members import Maximum, describe_maximum
from faradisc.errors import ValidationException
from faradisc.model.codec.keyspace import parts_of
from faradisc.records import asdict, dataclass, replace
from faradisc.storage.api import Part

SYSTEM_SUFFIX = "$DeletedTableBackup"

_ARN = re.compile(
    r"arn:([a-z-]+):dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)/backup/([0-9]{14,20}-[0-9a-f]{8})"
)

_REGION = re.compile(r"(?:us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]+")
"""A Region of the partition `aws` (botocore's endpoints)."""


@dataclass(frozen=True, slots=True)
class Backup:
    """The stored state of a backup, JSON under its id. Immutable."""

    id: str
    """Milliseconds since the epoch in 14 digits, a hyphen, 8 random hexadecimal digits; sorts by time."""
    name: str
    kind: str
    """USER or SYSTEM."""
    created_ns: int
    """The time of the request."""
    table: dict[str, Any]
    """The state of the table at that time, as the catalog stores it."""
    status: str = "CREATING"
    """CREATING; AVAILABLE once its files are complete."""
    items: int = 0
    size_bytes: int = 0
    """Of the items and 100 bytes for each, like TableSizeBytes. Before the files are complete: the table's
    size at the request."""
    file_bytes: int = 0
    taken_ns: int = 0
    """The time whose state it holds; 0 before it is complete."""
    expires_ns: int | None = None
    holds_rows: bool = False
    """The store still has the rows of the deleted table, for this backup."""

    @property
    def key(self) -> bytes:
        return self.id.encode()

    @property
    def namespace(self) -> str:
        namespace: str = self.table["namespace"]
        return namespace

    @property
    def table_name(self) -> str:
        name: str = self.table["name"]
        return name

    @property
    def table_arn(self) -> str:
        return f"arn:aws:dynamodb:{self.table['region']}:{self.table['account']}:table/{self.table_name}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/backup/{self.id}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of its table's rows, while the table exists."""
        return parts_of(self.table["resource"], self.table["slots"])

    @property
    def state(self) -> TableState:
        return TableState.from_json(self.table)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Backup:
        return cls(**stored)


def backup_id(now_ns: int, random: bytes) -> str:
    """Returns an id; random: 4 bytes."""
    return f"{now_ns // 1_000_000:014d}-{random.hex()}"


def id_of_arn(arn: str) -> str:
    """Returns the id in a backup's ARN. Raises ValidationException."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException("Invalid Backup ARN")
    if match[1] != "aws" or not _REGION.fullmatch(match[2]):
        raise ValidationException("Invalid Request: BackupArn is not valid")
    return match[5]


# --- Descriptions in the API ---------------------------------------------------------------------


def details(backup: Backup, status: str, *, done_bytes: int | None = None) -> dict[str, Any]:
    """Returns BackupDetails. done_bytes: progress of a backup that is being made."""
    described: dict[str, Any] = {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes if done_bytes is None else done_bytes,
        "BackupStatus": status,
        "BackupType": backup.kind,
        "BackupCreationDateTime": epoch_seconds(backup.created_ns),
    }
    if backup.expires_ns is not None:
        described["BackupExpiryDateTime"] = epoch_seconds(backup.expires_ns)
    return described


def summary(backup: Backup, status: str, *, done_bytes: int | None = None) -> dict[str, Any]:
    """Returns BackupSummary: the details and the table."""
    return {
        "TableName": backup.table_name,
        "TableId": backup.table["table_id"],
        "TableArn": backup.table_arn,
        **details(backup, status, done_bytes=done_bytes),
    }


def description(backup: Backup, status: str, *, done_bytes: int | None = None) -> dict[str, Any]:
    """Returns BackupDescription."""
    described: dict[str, Any] = {
        "BackupDetails": details(backup, status, done_bytes=done_bytes),
        "SourceTableDetails": _source(backup),
    }
    features = _features(backup.state)
    if backup.kind == "SYSTEM":
        described["SourceTableFeatureDetails"] = {}
    elif features:
        described["SourceTableFeatureDetails"] = features
    return described


def _source(backup: Backup) -> dict[str, Any]:
    state = backup.state
    source: dict[str, Any] = {
        "TableName": state.name,
        "TableId": state.table_id,
        "TableArn": backup.table_arn,
        "TableSizeBytes": backup.size_bytes,
        "KeySchema": described_key(state.key_schema),
        "TableCreationDateTime": epoch_seconds(state.created_ns),
        "ProvisionedThroughput": {
            "ReadCapacityUnits": state.throughput.read_units,
            "WriteCapacityUnits": state.throughput.write_units,
        },
        "ItemCount": backup.items,
        "BillingMode": state.billing_mode,
    }
    return source | _maximum(state.on_demand_maximum)


def _maximum(maximum: Maximum) -> dict[str, Any]:
    described = describe_maximum(maximum)
    return {"OnDemandThroughput": described} if described is not None else {}


def _features(state: TableState) -> dict[str, Any]:
    features: dict[str, Any] = {}
    if state.local_indexes:
        features["LocalSecondaryIndexes"] = [_index(each) for each in state.local_indexes]
    if state.global_indexes:
        features["GlobalSecondaryIndexes"] = [
            {
                **_index(each),
                "ProvisionedThroughput": {
                    "ReadCapacityUnits": each.throughput.read_units,
                    "WriteCapacityUnits": each.throughput.write_units,
                },
                **_maximum(each.on_demand_maximum),
            }
            for each in state.global_indexes
        ]
    if state.vector_indexes:
        features["VectorIndexes"] = [_vector_index(each) for each in state.vector_indexes]
    if state.stream is not None:
        features["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": state.stream.view_type}
    if state.ttl is not None and state.ttl.enabled:
        features["TimeToLiveDescription"] = {
            "TimeToLiveStatus": "ENABLED",
            "AttributeName": state.ttl.attribute,
        }
    if state.sealing is not None and state.sealing.enabled:
        settled = replace(state.sealing, switching=False, converting=False)
        features["SSEDescription"] = describe_sealing(settled)
    return features


def _index(stored: IndexState) -> dict[str, Any]:
    return {
        "IndexName": stored.name,
        "KeySchema": described_key(stored.key_schema),
        "Projection": _projection(stored),
    }


def _projection(stored: IndexState | VectorIndexState) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": stored.projection}
    if stored.projection == "INCLUDE":
        projection["NonKeyAttributes"] = list(stored.non_key_attributes)
    return projection


def _vector_index(stored: VectorIndexState) -> dict[str, Any]:
    described: dict[str, Any] = {
        "IndexName": stored.name,
        "VectorAttribute": {"AttributeName": stored.vector_attribute},
        "Projection": _projection(stored),
        "Dimensions": stored.dimensions,
        "DistanceFunction": stored.distance_function,
    }
    if stored.search_schema:
        described["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": kind} for name, kind in stored.search_schema
        ]
    return described
