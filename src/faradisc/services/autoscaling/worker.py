"""The background job of auto scaling.

A step does one thing for each target, in this order: the end of a change under way, a scheduled action, new
limits, a decided change, the evaluation of minutes. A change is an UpdateTable like that of a client; while
the table is not ACTIVE, nothing else is done for the target.

Minutes are evaluated in order, each once. After a jump of the clock, all minutes are evaluated for which
there are metrics; changes that follow are made at the present time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from faradisc.capacity.autoscaling import Rescale
from faradisc.capacity.config import MINUTE_NS
from faradisc.capacity.controlplane import DecreaseLog
from faradisc.clock import Clock, Entropy
from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.state import UnitsState
from faradisc.engine.tables.table import Table
from faradisc.errors import ApiError, ResourceInUseException, ResourceNotFoundException
from faradisc.metrics.alarm_rule import Value
from faradisc.metrics.metric_catalog import NAMESPACE
from faradisc.metrics.metric_store import RETENTION_MINUTES
from faradisc.operations.call import Call
from faradisc.records import dataclass
from faradisc.services.autoscaling import tracking_alarms
from faradisc.services.autoscaling.target import ScalingPolicy, Target
from faradisc.services.autoscaling.targets import Activity, TargetStore
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.sources import MetricName, Sources

MINUTES_PER_STEP: Final = 60
_NEVER_NS: Final = 1 << 63

Execute = Callable[[Call], Awaitable[dict[str, Any]]]

_WAITING: Final = "Waiting for change to be fulfilled by dynamodb."
_FULFILLED: Final = "Change successfully fulfilled by dynamodb."


@dataclass(frozen=True, slots=True)
class Present:
    """The present settings of a target's table or index."""

    throughput: UnitsState
    capacity: int
    """In the target's direction."""


@dataclass
class AutoScaler:
    targets: TargetStore
    alarms: Alarms
    catalog: Catalog
    clock: Clock
    entropy: Entropy
    sources: Sources
    execute: Execute
    """Runs an operation of DynamoDB."""
    _due_ns: int = 0
    """Nothing is due before this, while the targets are those of `_seen_version`."""
    _seen_version: int = -1

    async def step(self) -> bool:
        """Does one thing for every target. Returns whether anything was done."""
        if self.clock.now_ns() < self._due_ns and self._seen_version == self.targets.version:
            return False
        self._seen_version = self.targets.version
        busy = False
        for target in self.targets.all():
            # It may have been deregistered while the step of an earlier target waited.
            busy = (self.targets.has(target) and await self._process(target)) or busy
        self._due_ns = min(map(_due_ns, self.targets.all()), default=_NEVER_NS)
        return busy

    def present(self, target: Target) -> Present | None:
        """Returns the present capacity; None while there is nothing to scale or the table is not ACTIVE."""
        found = self._provided(target)
        if found is None or found[0].state.status != "ACTIVE":
            return None
        throughput = found[1]
        units = throughput.read_units if target.scaled.direction == "Read" else throughput.write_units
        return Present(throughput, units)

    def _provided(self, target: Target) -> tuple[Table, UnitsState] | None:
        """Returns the table and the throughput of the target's resource. None if there is nothing to scale:
        no table or index, one that is created or deleted, or on-demand mode."""
        scaled = target.scaled
        try:
            table = self.catalog.tables.for_control(scaled.table, target.region, target.account)
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
        now_ns = self.clock.now_ns()
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
            # While a table is UPDATING its minutes count.
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
        """Drops the minutes in which there was nothing to scale."""
        if target.policy is not None:
            target.policy.decided = None
            target.policy.tracking.points = []
            target.policy.tracking.looked_ns = now_ns - now_ns % MINUTE_NS

    # --- Schedules and limits ---

    async def _act_on_schedule(self, target: Target, now_ns: int) -> bool:
        """Runs the scheduled action that was due first, if one is due. Times missed count once."""
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
            await self.targets.save(target)
            return True
        target.set_limits(action.minimum, action.maximum)
        words = " and ".join(
            f"{which} capacity to {value}"
            for which, value in (("min", action.minimum), ("max", action.maximum))
            if value is not None
        )
        cause = f"scheduled action name {action.name} was triggered"
        activity = self._add(
            target, f"Setting {words}", cause, status="Successful", message=f"Successfully set {words}"
        )
        await self.targets.save_with(target, activity)
        return True

    async def _enforce_limits(self, target: Target, present: Present, now_ns: int) -> bool:
        """Moves a capacity outside new limits into them (V126)."""
        minimum, maximum = target.minimum, target.maximum
        wanted = max(minimum, min(maximum, present.capacity))
        if wanted == present.capacity:
            target.limits_new = False
            await self.targets.save_with(target)
            return True
        which = "minimum" if wanted == minimum else "maximum"
        target.limits_new = False  # before the change: limits may be set again while it waits
        changed = await self._change(target, wanted, f"{which} capacity was set to {wanted}")
        if changed is None:
            target.limits_new = True
            return False
        if changed and target.policy is not None:
            target.policy.tracking.draw(wanted)
            await tracking_alarms.sync(self.alarms, target, now_ns)
        await self.targets.save_with(target)
        return True

    # --- Minutes ---

    async def _evaluate_minutes(
        self, target: Target, policy: ScalingPolicy, present: Present, now_ns: int
    ) -> bool:
        """Evaluates ended minutes until one of them decides a change."""
        tracking = policy.tracking
        oldest = now_ns - now_ns % MINUTE_NS - RETENTION_MINUTES * MINUTE_NS
        tracking.looked_ns = max(tracking.looked_ns, oldest)
        before = (tracking.high_state, tracking.low_state, tracking.drawn_for)
        for _ in range(MINUTES_PER_STEP):
            if tracking.next_look_ns() > now_ns:
                break
            minute_ns = tracking.looked_ns
            consumed = self._consumed(target, minute_ns)
            decreases = DecreaseLog(list(present.throughput.decreases_ns))
            states = (tracking.high_state, tracking.low_state)
            decision = tracking.evaluate(minute_ns, consumed, present.capacity, decreases)
            await tracking_alarms.sync(self.alarms, target, now_ns)
            if decision is not None and not self._suspended(target, decision):
                policy.decided = decision
                break
            if decision is None:
                await self._note_limits_reached(target, policy, present, states)
        if before != (tracking.high_state, tracking.low_state, tracking.drawn_for):
            await self.targets.save_with(target)
        return True

    def _consumed(self, target: Target, minute_ns: int) -> Value:
        """Returns the units that were consumed in a minute."""
        scaled = target.scaled
        consumed = MetricName(target.scope, NAMESPACE, scaled.consumed_metric, scaled.metric_dimensions)
        points = self.sources.points(consumed, minute_ns, minute_ns + MINUTE_NS, 60)
        return sum(statistic.sum for _, statistic in points)

    def _suspended(self, target: Target, decision: Rescale) -> bool:
        which = "Out" if decision.wanted > decision.present else "In"
        return target.suspended.get(f"DynamicScaling{which}Suspended", False)

    async def _note_limits_reached(
        self, target: Target, policy: ScalingPolicy, present: Present, before: tuple[str, str]
    ) -> None:
        """Records, for each alarm that began while the capacity is at its limit, why nothing was scaled."""
        tracking = policy.tracking
        for kind, was, state, limit, code in (
            (tracking_alarms.HIGH, before[0], tracking.high_state, target.maximum, "AlreadyAtMaxCapacity"),
            (tracking_alarms.LOW, before[1], tracking.low_state, target.minimum, "AlreadyAtMinCapacity"),
        ):
            if state != "ALARM" or was == "ALARM" or present.capacity != limit:
                continue
            member = "MaxCapacity" if code == "AlreadyAtMaxCapacity" else "MinCapacity"
            reason = {"Code": code, member: limit, "CurrentCapacity": present.capacity}
            activity = self._add(
                target,
                "Attempting to scale due to alarm triggered",
                self._cause(target, policy, kind),
                status="Unfulfilled",
                message="Unable to scale due to alarm triggered",
                not_scaled=[reason],
            )
            await self.targets.save_with(target, activity)

    # --- Changes ---

    async def _carry_out(self, target: Target, policy: ScalingPolicy, present: Present, now_ns: int) -> bool:
        decision = policy.decided
        assert decision is not None
        if decision.present != present.capacity or self._suspended(target, decision):
            # A client has changed it meanwhile; the alarm decides again.
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
            await tracking_alarms.sync(self.alarms, target, now_ns)
        await self.targets.save_with(target)
        return True

    def _cause(self, target: Target, policy: ScalingPolicy, kind: str) -> str:
        name = tracking_alarms.alarm_name(target, policy, kind)
        return f"monitor alarm {name} in state ALARM triggered policy {policy.name}"

    async def _change(self, target: Target, wanted: int, cause: str) -> bool | None:
        """Runs UpdateTable. Returns whether it was accepted; None if it must be tried again later."""
        scaled = target.scaled
        call = Call("UpdateTable", scaled.update(wanted), True, target.region, target.account)
        try:
            await self.execute(call)
        except (ResourceInUseException, ResourceNotFoundException):
            return None
        except ApiError as error:
            now = self.present(target)
            if now is None or now.capacity != wanted:
                await self._note_failure(target, wanted, cause, error.message or error.wire_name())
            return False
        message = f"Successfully set {scaled.words} to {wanted}. {_WAITING}"
        activity = self._add(
            target, f"Setting {scaled.words} to {wanted}.", cause, status="InProgress", message=message
        )
        target.changing = activity.number
        await self.targets.save_with(target, activity)
        return True

    async def _note_failure(self, target: Target, wanted: int, cause: str, why: str) -> None:
        """Records a failed change, once for all attempts."""
        description = f"Setting {target.scaled.words} to {wanted}."
        last = self.targets.last_activity(target)
        if last is not None and (last.status, last.description) == ("Failed", description):
            return
        message = f"Failed to set {target.scaled.words} to {wanted}. Reason: {why}"
        activity = self._add(target, description, cause, status="Failed", message=message)
        await self.targets.save_with(target, activity)

    def _add(
        self,
        target: Target,
        description: str,
        cause: str,
        *,
        status: str,
        message: str,
        not_scaled: Sequence[dict[str, Any]] = (),
    ) -> Activity:
        """Returns a new activity, which is not stored yet. It has ended, unless it is in progress."""
        now_ns = self.clock.now_ns()
        activity = Activity(
            self.targets.next_number(),
            self.entropy.uuid(),
            *target.name,
            description,
            cause,
            now_ns,
            status,
            message,
            None if status == "InProgress" else now_ns,
            list(not_scaled),
        )
        self.targets.add(activity)
        return activity

    async def _finish(self, target: Target) -> None:
        """Ends the activity of a change whose table is ACTIVE again."""
        assert target.changing is not None
        activity = self.targets.activity(target.changing)
        target.changing = None
        if activity is None:
            await self.targets.save_with(target)
            return
        activity.status = "Successful"
        activity.message = activity.message.replace(_WAITING, _FULFILLED)
        activity.ended_ns = self.clock.now_ns()
        await self.targets.save_with(target, activity)


def _due_ns(target: Target) -> int:
    """Returns when there may be something to do next, without a look at the table."""
    if target.limits_new or target.changing is not None:
        return 0
    due = [action.next_ns for action in target.actions.values() if action.next_ns is not None]
    policy = target.policy
    if policy is not None:
        waiting = policy.decided
        due.append(policy.tracking.next_look_ns() if waiting is None else waiting.at_ns)
    return min(due, default=_NEVER_NS)
