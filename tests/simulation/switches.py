"""Switches things on and off while the clients work: indexes, streams, expiry, delivery, recovery,
a table.

For each switch it has the allowed states: the last one that was read or set and, while an answer is missing,
the requested one. It reads all switches again after every crash.
"""

from __future__ import annotations

import random
from typing import Any

from simulation.auditor import Auditor
from simulation.consumers import Call
from simulation.drawing import LATE_INDEX, TABLES, TTL_ATTRIBUTE
from simulation.requests import TEMPORARY
from simulation.searches import LATE_NEAR, near_indexes
from simulation.writes import Item

KINESIS_ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
Switch = tuple[str, str]
"""Table and what is switched."""
FEATURES = ("index", "vectors", "stream", "ttl", "kinesis", "recovery")
_MAY_REFUSE = {
    *("ResourceInUseException", "LimitExceededException", "ResourceNotFoundException"),
    "ContinuousBackupsUnavailableException",
}
_PENDING = {"ValidationException"}
"""A switch that is where it is being put, or a destination that is still being emptied."""


def table_request(name: str) -> dict[str, Any]:
    """Returns the CreateTable request of one of the simulation's tables."""
    definitions = {"p": "S", "r": "N", "g": "S", "n": "N"}
    request: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": keys_of("p", "r"),
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in definitions.items()],
        "GlobalSecondaryIndexes": [
            {"IndexName": "by-group", "KeySchema": keys_of("g", "n"), "Projection": {"ProjectionType": "ALL"}}
        ],
        "VectorIndexes": [near_indexes(name)[0].definition()],
    }
    if name == "with-local":
        request["LocalSecondaryIndexes"] = [
            {
                "IndexName": "by-number",
                "KeySchema": keys_of("p", "n"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    return request


def keys_of(hash_: str, range_: str) -> list[dict[str, str]]:
    return [{"AttributeName": hash_, "KeyType": "HASH"}, {"AttributeName": range_, "KeyType": "RANGE"}]


class Operator:
    def __init__(self, auditor: Auditor, chance: random.Random, share_on: float) -> None:
        """share_on: share of the switches that are on at the beginning."""
        self._auditor = auditor
        self._chance = chance
        self._share_on = share_on
        self.may_stand: dict[Switch, set[bool]] = {
            (table, what): {False} for table in TABLES for what in FEATURES
        }
        self.may_stand[TEMPORARY, "table"] = {False}

    async def prepare(self, call: Call) -> None:
        """Creates the permanent tables. Repeated after a crash until it is acknowledged."""
        for name in TABLES:
            code, answer = await call("CreateTable", table_request(name))
            if code not in ("", "ResourceInUseException"):
                self._auditor.fail(f"CreateTable was answered {code} {answer}")

    @property
    def leaves_history_behind(self) -> bool:
        """Returns whether recovery is being switched off: a crash before its history is deleted leaves parts
        without an owner, which `faradisc check --repair` removes."""
        return any(what == "recovery" and len(may) > 1 for (_, what), may in self.may_stand.items())

    async def look(self, call: Call) -> None:
        """Checks that every switch is in an allowed state."""
        for (table, what), allowed in self.may_stand.items():
            stands = await self._where(call, table, what)
            if stands not in allowed:
                self._auditor.fail(f"{what} of {table} is {stands}, may be {allowed}")
            self.may_stand[table, what] = {stands}

    async def begin(self, call: Call) -> None:
        """Switches some of the switches on."""
        for switch in list(self.may_stand):
            if self._chance.random() < self._share_on and self.may_stand[switch] == {False}:
                await self._put(call, switch)

    async def change(self, call: Call) -> None:
        """Changes the state of one switch."""
        await self._put(call, self._chance.choice(list(self.may_stand)))

    async def _put(self, call: Call, switch: Switch) -> None:
        allowed = self.may_stand[switch]
        if len(allowed) > 1:
            return  # the store has failed: this cannot be known before the next life
        (before,) = allowed
        allowed.add(not before)
        table, what = switch
        code, answer = await call(*self._request(table, what, not before))
        if not code:
            self.may_stand[switch] = {not before}
            self._auditor.seen[f"{what} {'off' if before else 'on'}"] += 1
        elif code in _MAY_REFUSE or (what in ("kinesis", "index", "vectors") and code in _PENDING):
            self.may_stand[switch] = {before}
        else:
            self._auditor.fail(f"{what} of {table} was answered {code} {answer}")

    def _request(self, table: str, what: str, on: bool) -> tuple[str, dict[str, Any]]:
        named: dict[str, Any] = {"TableName": table}
        update: dict[str, Any]
        match what:
            case "table":
                return ("CreateTable", table_request(table)) if on else ("DeleteTable", named)
            case "ttl":
                specification = {"Enabled": on, "AttributeName": TTL_ATTRIBUTE}
                return "UpdateTimeToLive", {**named, "TimeToLiveSpecification": specification}
            case "kinesis":
                operation = (
                    "EnableKinesisStreamingDestination" if on else "DisableKinesisStreamingDestination"
                )
                return operation, {**named, "StreamArn": KINESIS_ARN}
            case "recovery":
                specification = {"PointInTimeRecoveryEnabled": on}
                return "UpdateContinuousBackups", {**named, "PointInTimeRecoverySpecification": specification}
            case "stream":
                specification = {"StreamEnabled": on}
                if on:
                    specification["StreamViewType"] = "NEW_AND_OLD_IMAGES"  # type: ignore[assignment]
                return "UpdateTable", {**named, "StreamSpecification": specification}
            case "vectors":
                update = {"Create": near_indexes(table)[-1].definition()}
                if not on:
                    update = {"Delete": {"IndexName": LATE_NEAR}}
                return "UpdateTable", {**named, "VectorIndexUpdates": [update]}
        update = {"Delete": {"IndexName": LATE_INDEX}}
        if on:
            keys = [{"AttributeName": "h", "KeyType": "HASH"}]
            projection = {"ProjectionType": "KEYS_ONLY"}
            update = {"Create": {"IndexName": LATE_INDEX, "KeySchema": keys, "Projection": projection}}
        definitions = [{"AttributeName": "h", "AttributeType": "S"}]
        return "UpdateTable", {
            **named,
            "AttributeDefinitions": definitions,
            "GlobalSecondaryIndexUpdates": [update],
        }

    async def _where(self, call: Call, table: str, what: str) -> bool:
        named = {"TableName": table}
        if what == "ttl":
            _, answer = await call("DescribeTimeToLive", named)
            return answer["TimeToLiveDescription"]["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
        if what == "kinesis":
            _, answer = await call("DescribeKinesisStreamingDestination", named)
            states = [each["DestinationStatus"] for each in answer["KinesisDataStreamDestinations"]]
            return "ACTIVE" in states or "ENABLING" in states
        if what == "recovery":
            _, answer = await call("DescribeContinuousBackups", named)
            recovery = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
            return bool(recovery["PointInTimeRecoveryStatus"] == "ENABLED")
        code, answer = await call("DescribeTable", named)
        if what == "table":
            return not code and answer["Table"]["TableStatus"] != "DELETING"
        if what == "stream":
            return "StreamSpecification" in answer["Table"]
        member, name = (
            ("GlobalSecondaryIndexes", LATE_INDEX) if what == "index" else ("VectorIndexes", LATE_NEAR)
        )
        indexes: list[Item] = answer["Table"][member]
        return any(i["IndexName"] == name and i["IndexStatus"] != "DELETING" for i in indexes)
