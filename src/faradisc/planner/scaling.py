"""Auto scaling at work on a world: a minute's consumption in, UpdateTable out, everything noted.

The decisions are the core's (capacity/autoscaling.py); here are the delays between them: a minute is looked
at a while after it has ended, UpdateTable follows a while later and takes a second.

Source: capacity.md section 2.13; vectors V121 to V128 hold through the planner too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from faradisc.capacity.autoscaling import Decision, Policy, Tracking
from faradisc.capacity.config import SECOND_NS, Direction
from faradisc.capacity.resource import MinuteUsage
from faradisc.capacity.schedules import next_time
from faradisc.planner.outcome import AlarmState, ScalingEvent, number
from faradisc.planner.plan import Scaling, ScheduledLimits
from faradisc.planner.world import DURATIONS, Member, World

_WHY = {
    "high": "two minutes in a row above the target",
    "low": "fifteen minutes in a row far below the target",
    "minimum": "the capacity lies below the minimum",
    "maximum": "the capacity lies above the maximum",
}


class Scaler:
    """One scalable target of a world."""

    def __init__(self, world: World, member: Member, direction: Direction, settings: Scaling) -> None:
        self.member = member
        self.direction: Direction = direction
        self.settings = settings
        self.events: list[ScalingEvent] = []
        self.desired = self.present()
        self._world = world
        self._pending: Decision | None = None
        self._refused = False
        """Whether the last decision was not allowed: that is said once, not every minute."""
        self.tracking = Tracking(
            settings.minimum,
            settings.maximum,
            Policy(
                settings.target_percent,
                settings.scale_out_cooldown_s,
                settings.scale_in_cooldown_s,
                settings.disable_scale_in,
            ),
        )
        member.on_minute.append(self._minute_ended)
        self._enforce_limits(world.start_ns)
        for scheduled in settings.scheduled:
            self._await(scheduled, world.start_ns)

    def present(self) -> int:
        resource = self.member.resource
        return resource.read_units if self.direction == "R" else resource.write_units

    @property
    def alarms(self) -> tuple[AlarmState, AlarmState]:
        return self.tracking.high_state, self.tracking.low_state

    def _note(self, now: int, kind: str, words: str, wanted: int | None = None) -> None:
        at_s = number((now - self._world.start_ns) / SECOND_NS)
        event = ScalingEvent(at_s, kind, words, self.present(), wanted)  # type: ignore[arg-type]
        self.events.append(event)

    # --- Alarms and decisions -----------------------------------------------------------------

    def _minute_ended(self, usage: MinuteUsage) -> None:
        if usage.direction != self.direction or self.member.resource.on_demand:
            return
        consumed = Fraction(usage.half_units, 2)
        look = usage.minute_ns + (60 + self.tracking.timing.metric_delay_s) * SECOND_NS
        self._world.at(look, lambda now: self._look(usage.minute_ns, consumed, now))

    def _look(self, minute_ns: int, consumed: Fraction, now: int) -> None:
        before = self.alarms
        decision = self.tracking.evaluate(minute_ns, consumed, self.present(), self.member.decreases)
        for name, old, new in zip(("high", "low"), before, self.alarms, strict=True):
            if new != old and "ALARM" in (old, new):
                self._note(now, "alarm", f"{name} alarm: {old} to {new}")
        if decision is not None and self._pending is None:
            self._decide(decision, now)

    def _decide(self, decision: Decision, now: int) -> None:
        words = f"{_WHY[decision.why]}: from {decision.present:,} to {decision.wanted:,} {self._unit}"
        if decision.point:
            consumed = float(decision.point)
            words += f", of which {consumed:,.1f}/s are {self.settings.target_percent:g} %"
        self.desired = decision.wanted
        if decision.skipped is not None:
            if not self._refused:
                self._note(now, "skipped", f"{words}; not allowed yet: {decision.skipped}", decision.wanted)
            self._refused = True
            return
        self._refused = False
        self._pending = decision
        self._note(now, "decision", words, decision.wanted)
        settles = decision.at_ns + DURATIONS.update_throughput * SECOND_NS
        self._world.at(settles, lambda at: self._apply(decision, at))

    @property
    def _unit(self) -> str:
        return "RCU" if self.direction == "R" else "WCU"

    def _apply(self, decision: Decision, now: int) -> None:
        self._pending = None
        resource = self.member.resource
        if resource.on_demand:
            return
        present = self.present()
        if decision.wanted < present:
            if not self.member.decreases.allowed(now):
                self._note(now, "skipped", "no decrease is left at the moment", decision.wanted)
                return
            self.member.decreases.accept(now)
        reads = self.direction == "R"
        self._world.set_rates(
            self.member,
            decision.wanted if reads else resource.read_units,
            resource.write_units if reads else decision.wanted,
            now,
        )
        self.tracking.applied(decision)
        self._note(now, "update", f"{present:,} to {decision.wanted:,} {self._unit}", decision.wanted)

    # --- Limits -------------------------------------------------------------------------------

    def _enforce_limits(self, now: int) -> None:
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
        self._note(
            now, "scheduled", f"limits {tracking.minimum:,} to {tracking.maximum:,} ({scheduled.text})"
        )
        self._enforce_limits(now)
        self._await(scheduled, now)


def scalers(world: World) -> list[Scaler]:
    """Auto scaling for everything in the world that has it."""
    made = []
    for member in world.members:
        for direction, settings in (("R", member.rates.read_scaling), ("W", member.rates.write_scaling)):
            if settings is not None:
                make: Callable[..., Scaler] = Scaler
                made.append(make(world, member, direction, settings))
    return made
