"""The background job of auto scaling: for each target, whatever its clock says is due.

In this order, one thing per step: the end of a change under way, a scheduled action, limits that were set, a
change that was decided, minutes to look at. A change is an UpdateTable like any client's; while the table is
not ACTIVE, nothing else is done for the target.

Minutes are looked at in order, each once. After a jump of the clock they are caught up with, as long as
metrics reach back; what follows from them is done at the time it then is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from faradisc.capacity.autoscaling import Decision
from faradisc.capacity.config import MINUTE_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.clock import Clock, Entropy
from faradisc.engine.metrics.alarm_rule import Value
from faradisc.engine.metrics.metric_catalog import NAMESPACE
from faradisc.engine.metrics.metric_store import RETENTION_MINUTES
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import Throughput
from faradisc.engine.tables.table import Table
from faradisc.errors import ApiError, ResourceInUseException, ResourceNotFoundException
from faradisc.operations.call import Call
from faradisc.services.autoscaling import customized, tracking_alarms
from faradisc.services.autoscaling.target import CUSTOMIZED, ScalingPolicy, Target
from faradisc.services.autoscaling.targets import TargetStore
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.sources import MetricName, Sources

MINUTES_PER_STEP: Final = 60
_NEVER_NS: Final = 1 << 63

Execute = Callable[[Call], Awaitable[dict[str, Any]]]

_CAUSES: Final = {
    "minimum": "minimum capacity was set to {}",
    "maximum": "maximum capacity was set to {}",
}


_WAITING: Final = "Waiting for change to be fulfilled by dynamodb."
_FULFILLED: Final = "Change successfully fulfilled by dynamodb."


@dataclass(frozen=True, slots=True)
class Present:
    """What a target's table or index is set to now."""

    throughput: Throughput
    capacity: int
    """In the target's direction."""


class AutoScaler:
    def __init__(
        self,
        targets: TargetStore,
        alarms: Alarms,
        catalog: Catalog,
        *,
        clock: Clock,
        entropy: Entropy,
        sources: Sources,
        execute: Execute,
    ) -> None:
        self._targets = targets
        self._alarms = alarms
        self._catalog = catalog
        self._clock = clock
        self._entropy = entropy
        self._sources = sources
        self._execute = execute
        self._due_ns = 0
        """Nothing is due before this..."""
        self._seen_version = -1
        """...as long as the targets are those of this version."""

    async def step(self) -> bool:
        """One thing for every target. False when nothing was due, or all that is due has to wait."""
        if self._clock.now_ns() < self._due_ns and self._seen_version == self._targets.version:
            return False
        self._seen_version = self._targets.version
        busy = False
        for target in self._targets.all():
            # One before it took its time; meanwhile this one may have been deregistered.
            busy = (self._targets.has(target) and await self._process(target)) or busy
        self._due_ns = min(map(_due_ns, self._targets.all()), default=_NEVER_NS)
        return busy

    def present(self, target: Target) -> Present | None:
        """None while nothing can be scaled, or the table is not ACTIVE."""
        found = self._provided(target)
        if found is None or found[0].state.status != "ACTIVE":
            return None
        throughput = found[1]
        units = throughput.read_units if target.scaled.direction == "Read" else throughput.write_units
        return Present(throughput, units)

    def _provided(self, target: Target) -> tuple[Table, Throughput] | None:
        """The table, and what is provisioned for the target's resource. None while there is nothing to
        scale: no such table or index, one that is being made or deleted, or on demand."""
        scaled = target.scaled
        try:
            table = self._catalog.for_control(scaled.table, target.region, target.account)
        except ResourceNotFoundException:
            return None
        if table.state.status not in ("ACTIVE", "UPDATING") or table.state.on_demand:
            return None
        if scaled.index is None:
            return table, table.state.throughput
        index = table.index(scaled.index)
        if index is None or index.status != "ACTIVE" or index.throughput is None:
            return None
        return table, index.throughput

    async def _process(self, target: Target) -> bool:
        now_ns = self._clock.now_ns()
        if _due_ns(target) > now_ns:
            return False
        present = self.present(target)
        if target.changing is not None:
            if present is None:
                return False
            await self._finish(target)
            return True
        if await self._act_on_schedule(target, now_ns):
            return True
        if present is None:
            # A table that is but UPDATING is waited for: it is busy, and its minutes count.
            if self._provided(target) is None:
                self._skip_minutes(target, now_ns)
            return False
        if target.limits_new:
            return await self._enforce_limits(target, present, now_ns)
        policy = target.policy
        if policy is None:
            return False
        if policy.decided is not None:
            return await self._carry_out(target, policy, present, now_ns)
        return await self._evaluate_minutes(target, policy, present, now_ns)

    def _skip_minutes(self, target: Target, now_ns: int) -> None:
        """Nothing can be scaled: no minute of this time counts later."""
        if target.policy is not None:
            target.policy.decided = None
            target.policy.tracking.points = []
            target.policy.tracking.looked_ns = now_ns - now_ns % MINUTE_NS

    # --- Schedules and limits ---

    async def _act_on_schedule(self, target: Target, now_ns: int) -> bool:
        """Carry out the scheduled action that was due first, if one is. Moments missed count once."""
        due = [
            action
            for action in target.actions.values()
            if action.next_ns is not None and action.next_ns <= now_ns
        ]
        if not due:
            return False
        action = min(due, key=lambda action: action.next_ns or 0)
        action.plan(now_ns)
        if target.suspended.get("ScheduledScalingSuspended", False):
            await self._targets.save(target)
            return True
        target.set_limits(action.minimum, action.maximum)
        words = " and ".join(
            f"{which} capacity to {value}"
            for which, value in (("min", action.minimum), ("max", action.maximum))
            if value is not None
        )
        activity = self._targets.add_activity(
            target,
            self._entropy.uuid(),
            description=f"Setting {words}",
            cause=f"scheduled action name {action.name} was triggered",
            status="Successful",
            message=f"Successfully set {words}",
            ended_ns=now_ns,
        )
        await self._targets.save_with(target, activity)
        return True

    async def _enforce_limits(self, target: Target, present: Present, now_ns: int) -> bool:
        """Move a capacity outside new limits into them, at once (V126)."""
        minimum, maximum = target.minimum, target.maximum
        wanted = max(minimum, min(maximum, present.capacity))
        if wanted == present.capacity:
            target.limits_new = False
            await self._targets.save_with(target)
            return True
        which = "minimum" if wanted == minimum else "maximum"
        target.limits_new = False  # now: limits that are set while this waits are to be held against it again
        changed = await self._change(target, wanted, _CAUSES[which].format(wanted))
        if changed is None:
            target.limits_new = True
            return False
        if changed and target.policy is not None:
            target.policy.tracking.draw(wanted)
            await tracking_alarms.sync(self._alarms, target, now_ns)
        await self._targets.save_with(target)
        return True

    # --- Minutes ---

    async def _evaluate_minutes(
        self, target: Target, policy: ScalingPolicy, present: Present, now_ns: int
    ) -> bool:
        """Look at the minutes that can be looked at, until one of them asks for a change."""
        tracking = policy.tracking
        oldest = now_ns - now_ns % MINUTE_NS - RETENTION_MINUTES * MINUTE_NS
        tracking.looked_ns = max(tracking.looked_ns, oldest)
        before = (tracking.high_state, tracking.low_state, tracking.drawn_for)
        for _ in range(MINUTES_PER_STEP):
            if tracking.next_look_ns() > now_ns:
                break
            minute_ns = tracking.looked_ns
            consumed = self._value(target, policy, minute_ns)
            decreases = DecreaseLog(list(present.throughput.decreases_ns))
            states = (tracking.high_state, tracking.low_state)
            decision = tracking.evaluate(minute_ns, consumed, present.capacity, decreases)
            await tracking_alarms.sync(self._alarms, target, now_ns)
            if decision is not None and not self._suspended(target, decision):
                policy.decided = decision
                break
            if decision is None:
                await self._note_limits_reached(target, policy, present, states)
        if before != (tracking.high_state, tracking.low_state, tracking.drawn_for):
            await self._targets.save_with(target)
        return True

    def _value(self, target: Target, policy: ScalingPolicy, minute_ns: int) -> Value | None:
        """What the policy tracks, of one minute: consumed units, or the value of its own metric."""
        specification = policy.configuration.get(CUSTOMIZED)
        if specification is not None:
            return customized.value_of(specification, self._sources, target.scope, minute_ns)
        scaled = target.scaled
        consumed = MetricName(target.scope, NAMESPACE, scaled.consumed_metric, scaled.metric_dimensions)
        points = self._sources.points(consumed, minute_ns, minute_ns + MINUTE_NS, 60)
        return sum(statistic.sum for _, statistic in points)

    def _suspended(self, target: Target, decision: Decision) -> bool:
        which = "Out" if decision.wanted > decision.present else "In"
        return target.suspended.get(f"DynamicScaling{which}Suspended", False)

    async def _note_limits_reached(
        self, target: Target, policy: ScalingPolicy, present: Present, before: tuple[str, str]
    ) -> None:
        """An alarm that began and found the capacity at its limit: an activity for who asks for such."""
        tracking = policy.tracking
        for kind, was, state, limit, code in (
            (tracking_alarms.HIGH, before[0], tracking.high_state, target.maximum, "AlreadyAtMaxCapacity"),
            (tracking_alarms.LOW, before[1], tracking.low_state, target.minimum, "AlreadyAtMinCapacity"),
        ):
            if state != "ALARM" or was == "ALARM" or present.capacity != limit:
                continue
            member = "MaxCapacity" if code == "AlreadyAtMaxCapacity" else "MinCapacity"
            reason = {"Code": code, member: limit, "CurrentCapacity": present.capacity}
            activity = self._targets.add_activity(
                target,
                self._entropy.uuid(),
                description="Attempting to scale due to alarm triggered",
                cause=self._cause(target, policy, kind),
                status="Unfulfilled",
                message="Unable to scale due to alarm triggered",
                ended_ns=self._clock.now_ns(),
                not_scaled=[reason],
            )
            await self._targets.save_with(target, activity)

    # --- Changes ---

    async def _carry_out(self, target: Target, policy: ScalingPolicy, present: Present, now_ns: int) -> bool:
        decision = policy.decided
        assert decision is not None
        if decision.present != present.capacity or self._suspended(target, decision):
            # A client was faster; the alarm decides again on what there is now.
            policy.decided = None
            return True
        kind = tracking_alarms.HIGH if decision.why == "high" else tracking_alarms.LOW
        cause = self._cause(target, policy, kind)
        if decision.skipped is not None:
            await self._note_failure(target, decision.wanted, cause, decision.skipped)
            policy.decided = None
            return True
        changed = await self._change(target, decision.wanted, cause)
        if changed is None:
            return False
        policy.decided = None
        if changed:
            policy.tracking.applied(decision)
            await tracking_alarms.sync(self._alarms, target, now_ns)
        await self._targets.save_with(target)
        return True

    def _cause(self, target: Target, policy: ScalingPolicy, kind: str) -> str:
        name = tracking_alarms.alarm_name(target, policy, kind)
        return f"monitor alarm {name} in state ALARM triggered policy {policy.name}"

    async def _change(self, target: Target, wanted: int, cause: str) -> bool | None:
        """UpdateTable. True when it was accepted, False when it was refused or a client has made the
        change, None to ask again later."""
        scaled = target.scaled
        call = Call("UpdateTable", scaled.update(wanted), True, target.region, target.account)
        try:
            await self._execute(call)
        except (ResourceInUseException, ResourceNotFoundException):
            return None
        except ApiError as error:
            now = self.present(target)
            if now is None or now.capacity != wanted:
                await self._note_failure(target, wanted, cause, error.message or error.wire_name())
            return False
        activity = self._targets.add_activity(
            target,
            self._entropy.uuid(),
            description=f"Setting {scaled.words} to {wanted}.",
            cause=cause,
            status="InProgress",
            message=f"Successfully set {scaled.words} to {wanted}. {_WAITING}",
        )
        target.changing = activity.number
        await self._targets.save_with(target, activity)
        return True

    async def _note_failure(self, target: Target, wanted: int, cause: str, why: str) -> None:
        """Records a rejected change once, however often it is tried again."""
        description = f"Setting {target.scaled.words} to {wanted}."
        last = self._targets.last_activity(target)
        if last is not None and (last.status, last.description) == ("Failed", description):
            return
        message = f"Failed to set {target.scaled.words} to {wanted}. Reason: {why}"
        activity = self._targets.add_activity(
            target,
            self._entropy.uuid(),
            description=description,
            cause=cause,
            status="Failed",
            message=message,
            ended_ns=self._clock.now_ns(),
        )
        await self._targets.save_with(target, activity)

    async def _finish(self, target: Target) -> None:
        """The table is ACTIVE again: the change is fulfilled."""
        assert target.changing is not None
        activity = self._targets.activity(target.changing)
        target.changing = None
        if activity is None:
            await self._targets.save_with(target)
            return
        activity.status = "Successful"
        activity.message = activity.message.replace(_WAITING, _FULFILLED)
        activity.ended_ns = self._clock.now_ns()
        await self._targets.save_with(target, activity)


def _due_ns(target: Target) -> int:
    """When there can be something to do next; costs no look at the table."""
    if target.limits_new or target.changing is not None:
        return 0
    due = [action.next_ns for action in target.actions.values() if action.next_ns is not None]
    policy = target.policy
    if policy is not None:
        waiting = policy.decided
        due.append(policy.tracking.next_look_ns() if waiting is None else waiting.at_ns)
    return min(due, default=_NEVER_NS)


def looking_from(now_ns: int) -> int:
    """Where a new policy begins to look: the minute that has begun."""
    return now_ns - now_ns % MINUTE_NS
