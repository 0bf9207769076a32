"""All alarms with their history, in memory and stored. Only this module changes them.

The alarms' part of the store has a row per alarm, key ["alarm", scope, name], and a row per event, key
["event", number]. A change is made in memory first and committed before a request is answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from faradisc.capacity.config import DAY_NS
from faradisc.clock import Clock, epoch_seconds
from faradisc.metrics.alarm_rule import State
from faradisc.model.codec.keyspace import ALARMS_PART
from faradisc.records import asdict, dataclass
from faradisc.services.cloudwatch.alarm import Alarm
from faradisc.services.cloudwatch.documents import DocumentStore, Key, from_document, to_document
from faradisc.services.cloudwatch.notifications import Notifier
from faradisc.storage.api import Store

HISTORY_NS = 30 * DAY_NS
EVENTS_MAX = 10_000
"""Of all alarms together; the oldest are deleted first."""

UNSENT: Final = "Only topics of SNS are notified, and only with --alarm-webhook"

Name = tuple[str, str]
"""Scope and name."""


@dataclass(frozen=True, slots=True)
class HistoryItem:
    number: int
    scope: str
    alarm_name: str
    at_ns: int
    kind: str
    """HistoryItemType of the model."""
    summary: str
    data: str
    alarm_type: str = "MetricAlarm"

    def describe(self) -> dict[str, Any]:
        return {
            "AlarmName": self.alarm_name,
            "AlarmType": self.alarm_type,
            "Timestamp": epoch_seconds(self.at_ns),
            "HistoryItemType": self.kind,
            "HistorySummary": self.summary,
            "HistoryData": self.data,
        }


class Alarms:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._documents = DocumentStore(store, ALARMS_PART)
        self._clock = clock
        self._alarms: dict[Name, Alarm] = {}
        self._events: deque[HistoryItem] = deque()
        self.version = 0
        """Rises when an alarm is added or deleted, or gets new settings."""
        self.changes = 0
        """Rises with `version`, and when an alarm changes its state."""
        self.started_ns = clock.now_ns()
        """There are no metrics from before this."""
        self.notifier: Notifier | None = None
        """Sends actions; None: they are not carried out."""

    async def load(self) -> None:
        self._take_over(await self._documents.load())

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        self._take_over(await self._documents.changed())

    def _take_over(self, documents: Sequence[tuple[Key, dict[str, Any] | None]]) -> None:
        events = {event.number: event for event in self._events}
        for key, document in documents:
            self.version += 1
            self.changes += 1
            if key[0] == "alarm":
                known = self._alarms.pop((str(key[1]), str(key[2])), None)
                if document is not None:
                    alarm = Alarm.from_json(document)
                    if known is not None and known.period_s == alarm.period_s:
                        # The node that changed it does not know which periods this one has evaluated.
                        alarm.looked_ns = max(alarm.looked_ns, known.looked_ns)
                    self._alarms[(alarm.scope, alarm.name)] = alarm
            elif document is None:
                events.pop(int(key[1]), None)
            else:
                events[int(key[1])] = HistoryItem(**from_document(document))
        if documents:
            self._events = deque(sorted(events.values(), key=lambda event: event.number))

    # --- Finding ---

    def find(self, scope: str, name: str) -> Alarm | None:
        return self._alarms.get((scope, name))

    def of(self, scope: str) -> list[Alarm]:
        """Returns the alarms of an account and region, sorted by name."""
        return sorted(
            (alarm for alarm in self._alarms.values() if alarm.scope == scope), key=lambda alarm: alarm.name
        )

    def by_arn(self, scope: str, arn: str) -> Alarm | None:
        return next((alarm for alarm in self.of(scope) if alarm.arn == arn), None)

    def parents(self, scope: str, name: str) -> list[Alarm]:
        """Returns the composite alarms whose rule names the alarm."""
        return [each for each in self.of(scope) if each.is_composite and name in each.composite_rule.names]

    def all(self) -> list[Alarm]:
        return list(self._alarms.values())

    def history(self, scope: str) -> list[HistoryItem]:
        """Returns the events of the last 30 days, oldest first, those of deleted alarms included."""
        since = self._clock.now_ns() - HISTORY_NS
        return [event for event in self._events if event.scope == scope and event.at_ns >= since]

    # --- Changing ---

    async def put(self, alarm: Alarm) -> None:
        """Adds an alarm, or replaces the settings of the alarm of that name, whose state stays."""
        self.version += 1
        self.changes += 1
        name = (alarm.scope, alarm.name)
        present = self._alarms.get(name)
        if present is None:
            self._alarms[name] = alarm
            event = self._configured(alarm, "Create", alarm.configured_ns)
        else:
            if present.period_s != alarm.period_s:
                present.looked_ns = 0
            present.settings, present.configured_ns = alarm.settings, alarm.configured_ns
            present.owner, present.driven = alarm.owner, alarm.driven
            event = self._configured(present, "Update", alarm.configured_ns)
        await self._save([self._alarms[name]], [event])

    async def save(self, alarm: Alarm) -> None:
        """Stores a change of tags."""
        await self._save([alarm], [])

    async def enable_actions(self, alarms: Iterable[Alarm], enabled: bool) -> None:
        changed, events = [], []
        now_ns = self._clock.now_ns()
        for alarm in alarms:
            if alarm.actions_enabled == enabled:
                continue
            alarm.settings = {**alarm.settings, "ActionsEnabled": enabled}
            alarm.configured_ns = now_ns
            changed.append(alarm)
            events.append(self._configured(alarm, "Update", now_ns))
        await self._save(changed, events)

    async def move(
        self, alarm: Alarm, state: State, reason: str, reason_data: str | None, at_ns: int
    ) -> None:
        """Puts an alarm into a state, with its actions if the state changes. An alarm that was deleted
        meanwhile stays deleted."""
        if self._alarms.get((alarm.scope, alarm.name)) is not alarm:
            return
        before = {"stateValue": alarm.state, "stateReason": alarm.reason}
        state_before, changed = alarm.state, state != alarm.state
        alarm.updated_ns = at_ns
        events = []
        if changed:
            summary = f"Alarm updated from {alarm.state} to {state}"
            after = {"stateValue": state, "stateReason": reason}
            data = {"version": "1.0", "oldState": before, "newState": after}
            events.append(self._event(alarm, at_ns, "StateUpdate", summary, data))
            alarm.transitioned_ns = at_ns
        alarm.state, alarm.reason, alarm.reason_data = state, reason, reason_data
        self.changes += 1
        if changed and alarm.owner is None:
            for action in alarm.actions():
                if self.notifier is None or not self.notifier.add(alarm, state_before, action, at_ns):
                    events.append(self._acted(alarm, action, at_ns, UNSENT))
        await self._save([alarm], events)

    async def notify(self) -> bool:
        """Sends what is due to the webhook, and records what has ended. Returns False if nothing has."""
        ended = [] if self.notifier is None else self.notifier.step()
        events = [self._acted(each.alarm, each.action, each.at_ns, error) for each, error in ended]
        if events:
            await self._save([], events)
        return bool(events)

    def _acted(self, alarm: Alarm, action: str, at_ns: int, failure: str) -> HistoryItem:
        """Returns the event of an action that was due. failure: why it was not carried out; "": it was."""
        data = {
            "version": "1.0",
            "actionState": "Failed" if failure else "Succeeded",
            "stateUpdateTimestamp": at_ns // 1_000_000,
            "notificationResource": action,
            **({"error": failure} if failure else {}),
        }
        summary = f"{'Failed to execute' if failure else 'Successfully executed'} action {action}"
        return self._event(alarm, self._clock.now_ns(), "Action", summary, data)

    async def delete(self, alarms: Iterable[Alarm]) -> None:
        self.version += 1
        self.changes += 1
        now_ns = self._clock.now_ns()
        keys: list[Key] = []
        events = []
        for alarm in alarms:
            if self._alarms.pop((alarm.scope, alarm.name), None) is None:
                continue
            keys.append(_key(alarm))
            events.append(self._configured(alarm, "Delete", now_ns))
        await self._save([], events, keys)

    async def drop_all(self) -> None:
        keys = [*map(_key, self._alarms.values()), *map(_event_key, self._events)]
        self._alarms.clear()
        self._events.clear()
        await self._documents.write({}, keys)

    # --- History and storage ---

    def _configured(self, alarm: Alarm, kind: str, at_ns: int) -> HistoryItem:
        """Returns the event of a change of settings; kind: Create, Update or Delete."""
        members = {name[0].lower() + name[1:]: value for name, value in alarm.settings.items()}
        done = f"{kind.lower()}d"
        data = {"version": "1.0", "type": kind, f"{done}Alarm": {"alarmArn": alarm.arn, **members}}
        return self._event(alarm, at_ns, "ConfigurationUpdate", f'Alarm "{alarm.name}" {done}', data)

    def _event(
        self, alarm: Alarm, at_ns: int, kind: str, summary: str, data: Mapping[str, Any]
    ) -> HistoryItem:
        # By time, so that the numbers of several nodes differ.
        number = max(self._events[-1].number + 1 if self._events else 1, self._clock.now_ns())
        text = orjson.dumps(data).decode()
        event = HistoryItem(
            number, alarm.scope, alarm.name, at_ns, kind, summary[:255], text[:4095], alarm.kind
        )
        self._events.append(event)
        return event

    async def _save(
        self, alarms: list[Alarm], events: list[HistoryItem], deletes: list[Key] | None = None
    ) -> None:
        puts: dict[Key, dict[str, Any]] = {_key(alarm): alarm.to_json() for alarm in alarms}
        puts.update({_event_key(event): to_document(asdict(event)) for event in events})
        expired = list(deletes or ())
        since = self._clock.now_ns() - HISTORY_NS
        while self._events and (len(self._events) > EVENTS_MAX or self._events[0].at_ns < since):
            event = self._events.popleft()
            puts.pop(_event_key(event), None)
            expired.append(_event_key(event))
        unchanged = [*map(_key, alarms), *(deletes or ())]
        await self._documents.write(puts, expired, unchanged=unchanged)


def _key(alarm: Alarm) -> Key:
    return ("alarm", alarm.scope, alarm.name)


def _event_key(event: HistoryItem) -> Key:
    return ("event", event.number)
