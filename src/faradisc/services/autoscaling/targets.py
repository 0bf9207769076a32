"""All scalable targets and scaling activities, in memory and stored.

The part of the store has a row per target, key ["target", scope, resource id, dimension], and a row per
activity, key ["activity", number].
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from faradisc.capacity.config import DAY_NS, MINUTE_NS
from faradisc.clock import Clock, epoch_seconds
from faradisc.model.codec.keyspace import SCALING_PART
from faradisc.records import asdict, dataclass, field
from faradisc.services.autoscaling.target import SERVICE_NAMESPACE, Target
from faradisc.services.cloudwatch.documents import DocumentStore, Key, from_document, to_document
from faradisc.storage.api import Store

ACTIVITIES_NS = 42 * DAY_NS
"""How long activities are returned: six weeks (documentation of DescribeScalingActivities)."""
ACTIVITIES_MAX = 10_000
"""Of all targets together; the oldest are deleted first."""

Name = tuple[str, str, str]
"""Scope, resource id, dimension."""


@dataclass(slots=True)
class Activity:
    """A change, or the reason why there was none."""

    number: int
    id: str
    scope: str
    resource_id: str
    dimension: str
    description: str
    cause: str
    started_ns: int
    status: str
    message: str
    ended_ns: int | None = None
    not_scaled: list[dict[str, Any]] = field(default_factory=list)
    """Reasons why nothing was done; returned only with IncludeNotScaledActivities."""

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {
            "ActivityId": self.id,
            "ServiceNamespace": SERVICE_NAMESPACE,
            "ResourceId": self.resource_id,
            "ScalableDimension": self.dimension,
            "Description": self.description,
            "Cause": self.cause,
            "StartTime": epoch_seconds(self.started_ns),
            "StatusCode": self.status,
            "StatusMessage": self.message,
        }
        if self.ended_ns is not None:
            described["EndTime"] = epoch_seconds(self.ended_ns)
        if self.not_scaled:
            described["NotScaledReasons"] = self.not_scaled
        return described


class TargetStore:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._documents = DocumentStore(store, SCALING_PART)
        self._clock = clock
        self._targets: dict[Name, Target] = {}
        self._activities: deque[Activity] = deque()
        self.version = 0
        """Rises when a target is added or changed."""

    async def load(self) -> None:
        self._take_over(await self._documents.load())
        for target in self._targets.values():
            self._skip_unknown_minutes(target)

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        self._take_over(await self._documents.changed())

    def _take_over(self, documents: Sequence[tuple[Key, dict[str, Any] | None]]) -> None:
        activities = {activity.number: activity for activity in self._activities}
        for key, document in documents:
            self.version += 1
            if key[0] == "target":
                self._targets.pop((str(key[1]), str(key[2]), str(key[3])), None)
                if document is not None:
                    target = Target.from_json(document)
                    self._targets[target.name] = target
            elif document is None:
                activities.pop(int(key[1]), None)
            else:
                activities[int(key[1])] = Activity(**from_document(document))
        if documents:
            self._activities = deque(sorted(activities.values(), key=lambda activity: activity.number))

    def _skip_unknown_minutes(self, target: Target) -> None:
        """Skips minutes before the start: metrics are in memory, so they would look idle."""
        if target.policy is not None:
            now_ns = self._clock.now_ns()
            target.policy.tracking.points = []
            target.policy.tracking.looked_ns = now_ns - now_ns % MINUTE_NS

    # --- Targets ---

    def find(self, scope: str, resource_id: str, dimension: str) -> Target | None:
        return self._targets.get((scope, resource_id, dimension))

    def by_arn(self, arn: str) -> Target | None:
        return next((target for target in self._targets.values() if target.arn == arn), None)

    def of(self, scope: str) -> list[Target]:
        """Returns the targets of an account and region, sorted by name."""
        return sorted(
            (target for target in self._targets.values() if target.scope == scope),
            key=lambda target: target.name,
        )

    def all(self) -> list[Target]:
        return list(self._targets.values())

    def has(self, target: Target) -> bool:
        """Returns whether the target is still registered."""
        return self._targets.get(target.name) is target

    async def save(self, target: Target) -> None:
        """Stores a new or changed target."""
        self.version += 1
        self._targets[target.name] = target
        key = _key(target)
        await self._documents.write({key: target.to_json()}, unchanged=[key])

    async def delete(self, target: Target) -> None:
        if self._targets.pop(target.name, None) is not None:
            await self._documents.write({}, [_key(target)], unchanged=[_key(target)])

    async def drop_all(self) -> None:
        keys = [*map(_key, self._targets.values()), *map(_activity_key, self._activities)]
        self._targets.clear()
        self._activities.clear()
        await self._documents.write({}, keys)

    # --- Activities ---

    def activities(self, scope: str) -> Iterable[Activity]:
        """Returns the activities of the last six weeks, newest first."""
        since = self._clock.now_ns() - ACTIVITIES_NS
        return [
            each for each in reversed(self._activities) if each.scope == scope and each.started_ns >= since
        ]

    def last_activity(self, target: Target) -> Activity | None:
        for activity in reversed(self._activities):
            if (activity.scope, activity.resource_id, activity.dimension) == target.name:
                return activity
        return None

    def activity(self, number: int) -> Activity | None:
        return next((activity for activity in reversed(self._activities) if activity.number == number), None)

    def next_number(self) -> int:
        # By time, so that the numbers of several nodes differ.
        return max(self._activities[-1].number + 1 if self._activities else 1, self._clock.now_ns())

    def add(self, activity: Activity) -> None:
        """Adds an activity. `save_with` stores it."""
        self._activities.append(activity)

    async def save_with(self, target: Target, *activities: Activity) -> None:
        """Stores a target and activities of it in one commit."""
        puts: dict[Key, dict[str, Any]] = {
            _activity_key(each): to_document(asdict(each)) for each in activities
        }
        if self.has(target):
            puts[_key(target)] = target.to_json()
        expired = []
        since = self._clock.now_ns() - ACTIVITIES_NS
        while self._activities and (
            len(self._activities) > ACTIVITIES_MAX or self._activities[0].started_ns < since
        ):
            key = _activity_key(self._activities.popleft())
            puts.pop(key, None)
            expired.append(key)
        unchanged = [_key(target)] if self.has(target) else []
        await self._documents.write(puts, expired, unchanged=unchanged)


def _key(target: Target) -> Key:
    return ("target", *target.name)


def _activity_key(activity: Activity) -> Key:
    return ("activity", activity.number)
