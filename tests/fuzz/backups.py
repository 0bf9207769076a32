"""Requests for backups: of standing backups, restored tables, and a table's past.

Worlds are equal, with the same time and random numbers, so the ARNs of one world's backups are valid in every
other.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from fixtures.in_process import InProcess

from .tables import TABLES
from .world import BACKUP_NAME, TRANSITION_MS, found

Request = dict[str, Any]

_NAMES = (BACKUP_NAME, "Nightly", "a.b")
_TARGETS = ("Extra", "Restored", "Restored-2")
_UNITS = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
_UNKNOWN = "arn:aws:dynamodb:us-east-1:000000000000:table/Hash/backup/01489602797149-73d8d5bc"


@cache
def standing_backups() -> list[str]:
    process = InProcess(transition_ms=TRANSITION_MS)
    found(process)
    backups = process.call("ListBackups")["BackupSummaries"]
    process.close()
    return [backup["BackupArn"] for backup in backups]


def _table(rng: Random) -> str:
    return rng.choice((*(table.name for table in TABLES), *_TARGETS))


def _arn(rng: Random) -> str:
    return _UNKNOWN if rng.random() < 0.1 else rng.choice(standing_backups())


def _target(rng: Random) -> str:
    return rng.choice((*_TARGETS, f"Restored-{rng.randrange(40)}"))


def _moment(rng: Random) -> float:
    """About the time at which the worlds begin."""
    return 1_700_000_000 + rng.choice((-86_400, 0, 1, 1.5, 2, 10, 3600, 1e9, -1e12))


def create_backup(rng: Random) -> Request:
    return {"TableName": _table(rng), "BackupName": rng.choice(_NAMES)}


def describe_backup(rng: Random) -> Request:
    return {"BackupArn": _arn(rng)}


def list_backups(rng: Random) -> Request:
    request: Request = {}
    if rng.random() < 0.5:
        request["TableName"] = _table(rng)
    if rng.random() < 0.5:
        request["BackupType"] = rng.choice(("USER", "SYSTEM", "AWS_BACKUP", "ALL"))
    if rng.random() < 0.3:
        request["Limit"] = rng.choice((1, 2, 100))
    if rng.random() < 0.3:
        request["ExclusiveStartBackupArn"] = _arn(rng)
    if rng.random() < 0.3:
        request["TimeRangeLowerBound"] = _moment(rng)
    if rng.random() < 0.3:
        request["TimeRangeUpperBound"] = _moment(rng)
    return request


def _overrides(rng: Random) -> Request:
    overrides: Request = {}
    if rng.random() < 0.6:
        return overrides
    if rng.random() < 0.3:
        overrides["BillingModeOverride"] = rng.choice(("PROVISIONED", "PAY_PER_REQUEST"))
    if rng.random() < 0.3:
        overrides["ProvisionedThroughputOverride"] = _UNITS
    table = rng.choice(TABLES).definition()
    if rng.random() < 0.3:
        overrides["GlobalSecondaryIndexOverride"] = table.get("GlobalSecondaryIndexes", [])
    if rng.random() < 0.2:
        overrides["LocalSecondaryIndexOverride"] = table.get("LocalSecondaryIndexes", [])
    if rng.random() < 0.1:
        overrides["SSESpecificationOverride"] = {"Enabled": rng.random() < 0.5}
    return overrides


def restore_table_from_backup(rng: Random) -> Request:
    return {"TargetTableName": _target(rng), "BackupArn": _arn(rng), **_overrides(rng)}


def restore_table_to_point_in_time(rng: Random) -> Request:
    request: Request = {"TargetTableName": _target(rng), **_overrides(rng)}
    request["SourceTableName"] = _table(rng)
    if rng.random() < 0.7:
        request["UseLatestRestorableTime"] = True
    else:
        request["RestoreDateTime"] = _moment(rng)
    return request


def update_continuous_backups(rng: Random) -> Request:
    specification: Request = {"PointInTimeRecoveryEnabled": rng.random() < 0.7}
    if rng.random() < 0.3:
        specification["RecoveryPeriodInDays"] = rng.choice((1, 7, 35))
    return {"TableName": _table(rng), "PointInTimeRecoverySpecification": specification}


def describe_continuous_backups(rng: Random) -> Request:
    return {"TableName": _table(rng)}


MAKERS = {
    "CreateBackup": create_backup,
    "DescribeBackup": describe_backup,
    "ListBackups": list_backups,
    "DeleteBackup": describe_backup,
    "RestoreTableFromBackup": restore_table_from_backup,
    "RestoreTableToPointInTime": restore_table_to_point_in_time,
    "UpdateContinuousBackups": update_continuous_backups,
    "DescribeContinuousBackups": describe_continuous_backups,
}
