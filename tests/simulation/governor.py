"""Changes the throughput of the throttled table: by UpdateTable, and by targets of auto scaling.

The auditor checks each change of throughput when it is committed: one by a client is the requested one; one
by the service changes a registered direction, into its limits.
"""

from __future__ import annotations

import random
from itertools import count
from typing import Any

from simulation.auditor import Auditor
from simulation.consumers import Call
from simulation.requests import THROTTLED
from simulation.switches import keys_of
from simulation.throughput import may_show

DIMENSIONS = {direction: f"dynamodb:table:{direction}CapacityUnits" for direction in ("Read", "Write")}
SCALING_OPERATIONS = {
    *("RegisterScalableTarget", "DeregisterScalableTarget", "DescribeScalableTargets"),
    *("PutScalingPolicy", "PutScheduledAction"),
}
INDEX = "by-group"
_MAY_REFUSE = {
    *("ResourceInUseException", "LimitExceededException", "ObjectNotFoundException"),
    "ValidationException",  # nothing would change, or the table is in the other mode
}


def throttled_request(*, indexed: bool) -> dict[str, Any]:
    """Returns the CreateTable request of the throttled table."""
    definitions = {"p": "S", "r": "N", **({"g": "S", "n": "N"} if indexed else {})}
    units = _units((3, 3))
    request: dict[str, Any] = {
        "TableName": THROTTLED,
        "KeySchema": keys_of("p", "r"),
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in definitions.items()],
        "ProvisionedThroughput": units,
    }
    if indexed:
        keys, projection = keys_of("g", "n"), {"ProjectionType": "ALL"}
        request["GlobalSecondaryIndexes"] = [
            {"IndexName": INDEX, "KeySchema": keys, "Projection": projection, "ProvisionedThroughput": units}
        ]
    return request


def _units(units: tuple[int, int]) -> dict[str, int]:
    return {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}


class Governor:
    def __init__(self, auditor: Auditor, chance: random.Random, *, indexed: bool) -> None:
        self._auditor = auditor
        self._audit = auditor.throughput
        self._chance = chance
        self._indexed = indexed
        self._numbers = count(1)
        self._may_stand: dict[str, set[bool]] = {direction: {False} for direction in DIMENSIONS}
        """Whether a direction has a target."""

    async def prepare(self, call: Call) -> None:
        """Creates the table. Repeated after a crash until it is acknowledged."""
        code, answer = await call("CreateTable", throttled_request(indexed=self._indexed))
        if code not in ("", "ResourceInUseException"):
            self._auditor.fail(f"CreateTable was answered {code} {answer}")

    async def look(self, call: Call) -> None:
        """Checks that the table has the throughput committed last, and that the targets are those on disk."""
        _, answer = await call("DescribeTable", {"TableName": THROTTLED})
        shown = answer["Table"]["ProvisionedThroughput"]
        units = (shown["ReadCapacityUnits"], shown["WriteCapacityUnits"])
        known = may_show(self._auditor.model.tables[THROTTLED])
        if units not in known:
            self._auditor.fail(f"{THROTTLED} is reported to have {units}, {known} was committed")
        _, answer = await call("DescribeScalableTargets", {"ServiceNamespace": "dynamodb"})
        limits = {
            each["ScalableDimension"]: (each["MinCapacity"], each["MaxCapacity"])
            for each in answer["ScalableTargets"]
        }
        if limits != self._audit.limits:
            self._auditor.fail(f"the targets are {limits}, on disk {self._audit.limits}")
        for direction, allowed in self._may_stand.items():
            stands = DIMENSIONS[direction] in limits
            if stands not in allowed:
                self._auditor.fail(f"the target of {direction} stands: {stands}, may: {allowed}")
            self._may_stand[direction] = {stands}

    async def judge(self, call: Call) -> None:
        """The background work is done: what has limits is within them, unless it was changed by hand since
        they were set, or lowered too often today."""
        _, answer = await call("DescribeTable", {"TableName": THROTTLED})
        shown = answer["Table"]["ProvisionedThroughput"]
        for direction, dimension in DIMENSIONS.items():
            units = shown[f"{direction}CapacityUnits"]
            low, high = self._audit.limits.get(dimension, (units, units))
            is_stuck = units > high and shown["NumberOfDecreasesToday"] >= 4
            if units and not low <= units <= high and not is_stuck and self._audit.is_held(dimension):
                self._auditor.fail(f"{direction} has {units} units in the end, out of {low} to {high}")

    async def act(self, call: Call) -> None:
        """Makes one random change."""
        acts = (self._set_units, self._set_mode, self._register, self._register, self._deregister)
        await self._chance.choice((*acts, self._track, self._schedule))(call)

    async def _ask(self, call: Call, operation: str, request: dict[str, Any]) -> bool:
        code, answer = await call(operation, request)
        if code and code not in _MAY_REFUSE:
            self._auditor.fail(f"{operation} was answered {code} {answer}")
        self._auditor.seen[f"{operation} {'refused' if code else 'done'}"] += 1
        return not code

    def _draw_units(self) -> tuple[int, int]:
        return self._chance.choice((1, 2, 5, 8)), self._chance.choice((1, 2, 5, 8))

    # --- By hand ---------------------------------------------------------------------------------

    async def _set_units(self, call: Call) -> None:
        units = self._draw_units()
        self._audit.wanted = units
        await self._ask(call, "UpdateTable", {"TableName": THROTTLED, "ProvisionedThroughput": _units(units)})

    async def _set_mode(self, call: Call) -> None:
        """Switches to on-demand mode, sometimes with a maximum, or back."""
        request: dict[str, Any] = {"TableName": THROTTLED, "BillingMode": "PAY_PER_REQUEST"}
        if self._chance.random() < 0.4:
            units = self._draw_units()
            request |= {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _units(units)}
            if self._indexed:
                update = {"IndexName": INDEX, "ProvisionedThroughput": _units(units)}
                request["GlobalSecondaryIndexUpdates"] = [{"Update": update}]
        else:
            units = (0, 0)
            if self._chance.random() < 0.6:
                reads, writes = self._draw_units()
                request["OnDemandThroughput"] = {"MaxReadRequestUnits": reads, "MaxWriteRequestUnits": writes}
        self._audit.wanted = units
        await self._ask(call, "UpdateTable", request)

    # --- By auto scaling -------------------------------------------------------------------------

    def _target(self, direction: str) -> dict[str, Any]:
        return {
            "ServiceNamespace": "dynamodb",
            "ResourceId": f"table/{THROTTLED}",
            "ScalableDimension": DIMENSIONS[direction],
        }

    def _draw_limits(self) -> dict[str, int]:
        low = self._chance.choice((1, 2, 4))
        return {"MinCapacity": low, "MaxCapacity": low + self._chance.choice((0, 1, 4))}

    async def _register(self, call: Call) -> None:
        await self._put(call, self._chance.choice(list(DIMENSIONS)), stands=True)

    async def _deregister(self, call: Call) -> None:
        if self._chance.random() < 0.3:
            await self._put(call, self._chance.choice(list(DIMENSIONS)), stands=False)

    async def _put(self, call: Call, direction: str, *, stands: bool) -> None:
        before = self._may_stand[direction]
        self._may_stand[direction] = before | {stands}
        if stands:
            request = {**self._target(direction), **self._draw_limits()}
            done = await self._ask(call, "RegisterScalableTarget", request)
        else:
            done = await self._ask(call, "DeregisterScalableTarget", self._target(direction))
        self._may_stand[direction] = {stands} if done else before

    async def _track(self, call: Call) -> None:
        direction = self._chance.choice(list(DIMENSIONS))
        metric = f"DynamoDB{direction}CapacityUtilization"
        policy = {
            "TargetValue": self._chance.choice((20, 50, 90)),
            "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
        }
        request = {
            **self._target(direction),
            "PolicyName": "track",
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": policy,
        }
        await self._ask(call, "PutScalingPolicy", request)

    async def _schedule(self, call: Call) -> None:
        request = {
            **self._target(self._chance.choice(list(DIMENSIONS))),
            "ScheduledActionName": f"action-{next(self._numbers) % 2}",
            "Schedule": self._chance.choice(("rate(1 minute)", "rate(10 minutes)")),
            "ScalableTargetAction": self._draw_limits(),
        }
        await self._ask(call, "PutScheduledAction", request)
