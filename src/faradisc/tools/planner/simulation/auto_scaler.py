"""Auto scaling of virtual tables: takes the consumption of each minute, calls UpdateTable, records each step.

The decisions are the core's (capacity/autoscaling.py). The delays are modelled here: a minute is evaluated
some time after it has ended, UpdateTable follows some time later and takes a second.

Source: capacity.md section 2.13; vectors V121 to V128 hold through the planner too.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction

from faradisc.capacity.autoscaling import Rescale
from faradisc.capacity.config import SECOND_NS, Direction
from faradisc.capacity.schedules import next_time
from faradisc.capacity.usage import MinuteUsage
from faradisc.tools.planner.plan_file.plan import Scaling, ScheduledLimits
from faradisc.tools.planner.results.outcome import AlarmState, ScalingEvent, ScalingTimeline
from faradisc.tools.planner.results.series import number
from faradisc.tools.planner.simulation.virtual_tables import VirtualResource, VirtualTables

_WHY = {
    "high": "two minutes in a row above the target",
    "low": "fifteen minutes in a row far below the target",
    "minimum": "the capacity lies below the minimum",
    "maximum": "the capacity lies above the maximum",
}


class SimulatedAutoScaler:
    """One scalable target."""

    def __init__(
        self, world: VirtualTables, member: VirtualResource, direction: Direction, settings: Scaling
    ) -> None:
        self.virtual = member
        self.direction: Direction = direction
        self.settings = settings
        self.events: list[ScalingEvent] = []
        self.desired = self.present()
        self._world = world
        self._pending: Rescale | None = None
        """Until its update has taken effect."""
        self._unseen: deque[tuple[int, Fraction]] = deque()
        """Minutes that can be evaluated, and the units consumed in them."""
        self._rejected = False
        """Whether the last decision was not allowed, which is recorded once and not every minute."""
        self.tracking = settings.tracking()
        # Of each sample.
        self._desired: list[int] = []
        self._provisioned: list[int] = []
        self._alarms: list[tuple[AlarmState, AlarmState]] = []
        member.on_minute.append(self._minute_ended)
        self._enforce_limits(world.start_ns)
        for scheduled in settings.scheduled:
            self._await(scheduled, world.start_ns)

    def present(self) -> int:
        resource = self.virtual.resource
        return resource.read_units if self.direction == "R" else resource.write_units

    @property
    def alarms(self) -> tuple[AlarmState, AlarmState]:
        return self.tracking.high_state, self.tracking.low_state

    def sample(self) -> None:
        self._desired.append(self.desired)
        self._provisioned.append(self.present())
        self._alarms.append(self.alarms)

    def timeline(self) -> ScalingTimeline:
        return ScalingTimeline(
            resource=self.virtual.name,
            direction=self.direction,
            minimum=self.tracking.minimum,
            maximum=self.tracking.maximum,
            target_percent=number(self.settings.target_percent),
            desired=tuple(self._desired),
            provisioned=tuple(self._provisioned),
            high_alarm=tuple(high for high, _ in self._alarms),
            low_alarm=tuple(low for _, low in self._alarms),
            decreases_used=len(self.virtual.decreases.accepted_ns),
            events=tuple(self.events),
        )

    def _record(self, now: int, kind: str, words: str, wanted: int | None = None) -> None:
        at_s = number((now - self._world.start_ns) / SECOND_NS)
        event = ScalingEvent(at_s, kind, words, self.present(), wanted)  # type: ignore[arg-type]
        self.events.append(event)

    # --- Alarms and decisions -----------------------------------------------------------------

    def _minute_ended(self, usage: MinuteUsage) -> None:
        if usage.direction != self.direction or self.virtual.resource.on_demand:
            return
        consumed = Fraction(usage.half_units, 2)
        visible = usage.minute_ns + (60 + self.tracking.timing.metric_delay_s) * SECOND_NS

        def evaluate(now: int) -> None:
            self._unseen.append((usage.minute_ns, consumed))
            self._catch_up(now)

        self._world.at(visible, evaluate)

    def _catch_up(self, now: int) -> None:
        """Evaluates minutes until one of them leads to a change. Waits while a change of this capacity, or of
        anything about the table, is under way."""
        while self._unseen and self._pending is None:
            until = self._world.updating_until(self.virtual, now)
            if until > now:
                self._world.at(until, self._catch_up)
                return
            self._evaluate(*self._unseen.popleft(), now)

    def _evaluate(self, minute_ns: int, consumed: Fraction, now: int) -> None:
        if self.virtual.resource.on_demand:
            return
        before = self.alarms
        decision = self.tracking.evaluate(minute_ns, consumed, self.present(), self.virtual.decreases)
        for name, old, new in zip(("high", "low"), before, self.alarms, strict=True):
            if new != old and "ALARM" in (old, new):
                self._record(now, "alarm", f"{name} alarm: {old} to {new}")
        if decision is not None:
            self._decide(decision, now)

    def _decide(self, decision: Rescale, now: int) -> None:
        words = f"{_WHY[decision.why]}: from {decision.present:,} to {decision.wanted:,} {self._unit}"
        if decision.point:
            words += f", of which {float(decision.point):,.1f}/s are {self.settings.target_percent:g} %"
        self.desired = decision.wanted
        if decision.skipped is not None:
            if not self._rejected:
                self._record(now, "skipped", f"{words}; not allowed yet: {decision.skipped}", decision.wanted)
            self._rejected = True
            return
        self._rejected = False
        self._pending = decision
        self._record(now, "decision", words, decision.wanted)
        self._world.at(max(decision.at_ns, now), lambda at: self._call(decision, at))

    @property
    def _unit(self) -> str:
        return "RCU" if self.direction == "R" else "WCU"

    def _call(self, decision: Rescale, now: int) -> None:
        """Calls UpdateTable, later while the table is UPDATING."""
        if self._pending is not decision:
            return  # new limits have moved the capacity meanwhile
        until = self._world.updating_until(self.virtual, now)
        if until > now:
            self._world.at(until, lambda at: self._call(decision, at))
            return
        if self.virtual.resource.on_demand or decision.present != self.present():
            # Another change came first; limits and alarms decide again on the present capacity.
            self._pending = None
            if not self.virtual.resource.on_demand and decision.why in ("minimum", "maximum"):
                self._enforce_limits(now)
            self._catch_up(now)
            return
        if decision.wanted < decision.present:
            if not self.virtual.decreases.allowed(now):
                self._pending = None
                self._record(now, "skipped", "no decrease is left at the moment", decision.wanted)
                self._catch_up(now)
                return
            self.virtual.decreases.accept(now)
        resource, reads = self.virtual.resource, self.direction == "R"
        self.tracking.applied(decision)
        self._world.update(
            self.virtual,
            decision.wanted if reads else resource.read_units,
            resource.write_units if reads else decision.wanted,
            now,
            lambda at: self._settle(decision, at),
        )

    def _settle(self, decision: Rescale, now: int) -> None:
        if self._pending is decision:
            self._pending = None
        words = f"{decision.present:,} to {decision.wanted:,} {self._unit}"
        self._record(now, "update", words, decision.wanted)
        self._catch_up(now)

    # --- Limits -------------------------------------------------------------------------------

    def _enforce_limits(self, now: int) -> None:
        until = self._world.updating_until(self.virtual, now)
        if until > now:
            self._world.at(until, self._enforce_limits)
            return
        decision = self.tracking.enforce_limits(self.present(), now)
        if decision is not None:
            self._decide(decision, now)

    def _await(self, scheduled: ScheduledLimits, after_ns: int) -> None:
        moment = next_time(scheduled.schedule, after_ns, created_ns=self._world.start_ns)
        if moment is not None:
            self._world.at(moment, lambda now: self._run_scheduled(scheduled, now))

    def _run_scheduled(self, scheduled: ScheduledLimits, now: int) -> None:
        tracking = self.tracking
        if scheduled.minimum is not None:
            tracking.minimum = scheduled.minimum
        if scheduled.maximum is not None:
            tracking.maximum = scheduled.maximum
        self._record(
            now, "scheduled", f"limits {tracking.minimum:,} to {tracking.maximum:,} ({scheduled.text})"
        )
        self._enforce_limits(now)
        self._await(scheduled, now)


def auto_scalers(world: VirtualTables) -> list[SimulatedAutoScaler]:
    """Returns the scalers of all tables and indexes with auto scaling."""
    targets: list[tuple[VirtualResource, Direction, Scaling | None]] = []
    for member in world.resources:
        targets += [(member, "R", member.rates.read_scaling), (member, "W", member.rates.write_scaling)]
    return [
        SimulatedAutoScaler(world, member, way, scaling)
        for member, way, scaling in targets
        if scaling is not None
    ]
