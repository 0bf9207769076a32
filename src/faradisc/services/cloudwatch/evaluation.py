"""The background job of alarms: evaluates each period once, a minute after its end, then composite alarms.

After a jump of the clock all periods are evaluated for which there are metrics, each state with the time at
which the period would have been evaluated. A composite alarm sees the states after the jump only.

Metrics are in memory. So after a start, an older alarm keeps its state until all periods that it needs lie
after the start.
"""

from __future__ import annotations

from typing import Final

from faradisc.capacity.config import SECOND_NS
from faradisc.clock import Clock
from faradisc.errors import ValidationException
from faradisc.metrics.alarm_rule import Value
from faradisc.services.cloudwatch.alarm import METRIC_DELAY_NS, Alarm
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.reasons import composite_reason, reason, reason_data
from faradisc.services.cloudwatch.sources import MetricName, Sources, dimensions_of
from faradisc.services.cloudwatch.statistics import value_of

PERIODS_PER_STEP: Final = 60
CATCH_UP_NS: Final = 86_400 * SECOND_NS
"""Metrics reach no further back (metrics/metric_store.py)."""


class Evaluator:
    def __init__(self, alarms: Alarms, sources: Sources, clock: Clock) -> None:
        self._alarms = alarms
        self._sources = sources
        self._clock = clock
        self._due_ns = 0
        """No period ends before this, while the alarms are those of `_seen_version`."""
        self._seen_version = -1
        self._seen_states = -1
        """State of `Alarms.changes` that the composite alarms follow from."""

    async def step(self) -> bool:
        """Evaluates a bounded number of periods of every alarm. Returns whether there were any."""
        composite = await self._follow_composites()
        now_ns = self._clock.now_ns()
        if now_ns < self._due_ns and self._seen_version == self._alarms.version:
            return composite
        self._seen_version = self._alarms.version
        busy = False
        due_ns = now_ns + CATCH_UP_NS
        for alarm in self._alarms.all():
            if alarm.driven or alarm.is_composite:
                continue
            if _due_ns(alarm) <= now_ns:
                await self._catch_up(alarm, now_ns)
                busy = True
            due_ns = min(due_ns, _due_ns(alarm))
        self._due_ns = due_ns
        return await self._follow_composites() or busy

    async def _follow_composites(self) -> bool:
        """Moves composite alarms whose rule has become true or false. Returns whether there were any.

        They may build on each other, so this goes on until nothing changes; alarms that contradict each other
        in a circle change once each.
        """
        if self._seen_states == self._alarms.changes:
            return False
        composites = [alarm for alarm in self._alarms.all() if alarm.is_composite]
        moved = False
        for _ in composites:
            changed = [alarm for alarm in composites if await self._follow(alarm)]
            moved = moved or bool(changed)
            if not changed:
                break
        self._seen_states = self._alarms.changes
        return moved

    async def _follow(self, alarm: Alarm) -> bool:
        """Moves a composite alarm if its rule has another value than its state. Returns whether it has."""
        rule = alarm.composite_rule
        found = {name: self._alarms.find(alarm.scope, name) for name in rule.names}
        children = [child for child in found.values() if child is not None]
        state = rule.state(lambda name: None if (child := found[name]) is None else child.state)
        if state == alarm.state:
            return False
        newest = max(children, key=lambda child: child.transitioned_ns, default=None)
        at_ns = max(alarm.configured_ns, 0 if newest is None else newest.transitioned_ns)
        is_new = alarm.updated_ns == alarm.configured_ns and alarm.state == "INSUFFICIENT_DATA"
        why, data = composite_reason(alarm, state, newest if not is_new else None, children)
        await self._alarms.move(alarm, state, why, data, at_ns)
        return True

    async def _catch_up(self, alarm: Alarm, now_ns: int) -> None:
        period_ns = alarm.period_s * SECOND_NS
        if not alarm.looked_ns:
            # A new alarm, or one with new settings, begins with the last complete period.
            newest = now_ns - METRIC_DELAY_NS
            alarm.looked_ns = newest - newest % period_ns - period_ns
        oldest = now_ns - CATCH_UP_NS
        alarm.looked_ns = max(alarm.looked_ns, oldest - oldest % period_ns)
        for _ in range(PERIODS_PER_STEP):
            end_ns = alarm.looked_ns + period_ns
            if end_ns + METRIC_DELAY_NS > now_ns:
                return
            alarm.looked_ns = end_ns
            window_ns = alarm.rule.periods * period_ns
            restarted = alarm.configured_ns < self._alarms.started_ns
            if not (restarted and end_ns - window_ns < self._alarms.started_ns):
                await self._look(alarm, end_ns)

    async def _look(self, alarm: Alarm, end_ns: int) -> None:
        rule = alarm.rule
        period_ns = alarm.period_s * SECOND_NS
        begins = [end_ns - count * period_ns for count in range(rule.range, 0, -1)]
        values = self._values(alarm, begins[0], end_ns)
        points = [(at, values.get(at)) for at in begins]
        state = rule.state([value for _, value in points], alarm.state)
        if state != alarm.state:
            why = reason(rule, points, alarm.state, state)
            looked_ns = end_ns + METRIC_DELAY_NS
            settings = alarm.settings
            statistic = settings.get("Statistic", settings.get("ExtendedStatistic"))
            data = reason_data(rule, points, looked_ns, statistic, settings.get("Unit"))
            await self._alarms.move(alarm, state, why, data, looked_ns)

    def _values(self, alarm: Alarm, start_ns: int, end_ns: int) -> dict[int, Value]:
        settings = alarm.settings
        if "Metrics" in settings:
            from faradisc.services.cloudwatch.queries import (  # noqa: PLC0415 - few alarms have any
                queries_of,
                watched_series,
            )

            try:
                queries = queries_of(settings["Metrics"], alarm.scope)
                return dict(watched_series(self._sources, queries, start_ns, end_ns))
            except ValidationException:
                return {}  # no series for the values of this time, or a function that is offered no more
        metric = MetricName(
            alarm.scope,
            settings["Namespace"],
            settings["MetricName"],
            dimensions_of(settings.get("Dimensions", ())),
        )
        statistic = settings.get("Statistic") or settings["ExtendedStatistic"]
        if settings.get("Unit", self._sources.unit(metric)) != self._sources.unit(metric):
            return {}
        points = self._sources.points(metric, start_ns, end_ns, alarm.period_s)
        values = ((at, value_of(point, statistic)) for at, point in points)
        return {at: value for at, value in values if value is not None}


def _due_ns(alarm: Alarm) -> int:
    """Returns when the alarm's next period can be evaluated."""
    return alarm.looked_ns + alarm.period_s * SECOND_NS + METRIC_DELAY_NS
