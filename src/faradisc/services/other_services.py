"""The other AWS services over one database: Application Auto Scaling, CloudWatch, IAM and STS.

Most databases use none of them. The first two are imported and created at the first request for one, or when
a database opens that has stored alarms or scalable targets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from faradisc.clock import Clock, Entropy
from faradisc.engine.jobs.runner import Job
from faradisc.engine.tables.catalog import Catalog
from faradisc.errors import ValidationException
from faradisc.metrics.metric_store import MetricStore
from faradisc.model.codec.keyspace import ALARMS_PART, SCALING_PART
from faradisc.operations.call import Call
from faradisc.protocol.executor import OperationExecutor
from faradisc.protocol.other_services.services import CLOUDWATCH, IAM, SCALING, STS
from faradisc.storage.api import Store

if TYPE_CHECKING:
    from faradisc.engine.cluster.broadcast import Broadcast
    from faradisc.services.autoscaling.replicas import ReplicaAutoScaling
    from faradisc.services.autoscaling.service import AutoScaling
    from faradisc.services.cloudwatch.service import CloudWatch

Execute = Callable[[Call], Awaitable[dict[str, Any]]]


S = TypeVar("S")


class _Executor(Generic[S]):
    """Executes the operations of one service."""

    def __init__(
        self,
        service: S,
        handlers: Mapping[str, Callable[[S, Call], Awaitable[dict[str, Any]]]],
        before: Callable[[], Awaitable[None]] | None,
    ) -> None:
        """before: called before each operation."""
        self._service = service
        self._handlers = handlers
        self._before = before

    def knows(self, operation: str) -> bool:
        return operation in self._handlers

    async def execute(self, call: Call) -> dict[str, Any]:
        if self._before is not None:
            await self._before()
        return await self._handlers[call.operation](self._service, call)


class OtherServices:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        *,
        clock: Clock,
        entropy: Entropy,
        metrics_of: Callable[[str], MetricStore],
        execute: Execute,
        alarm_webhook: str = "",
    ) -> None:
        """metrics_of: returns the metrics of a namespace's tables. execute: runs an operation of DynamoDB.
        alarm_webhook: URL that actions of alarms are posted to; "": none."""
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._entropy = entropy
        self._metrics_of = metrics_of
        self._execute = execute
        self._alarm_webhook = alarm_webhook
        self.identities: Callable[[str], OperationExecutor] | None = None
        """Returns IAM's executor or STS's; None where signatures are not verified."""
        self._before: Callable[[], Awaitable[None]] | None = None
        self._cloudwatch: CloudWatch | None = None
        self._autoscaling: AutoScaling | None = None
        self.jobs = (Job("auto scaling", self._scale), Job("alarms", self._evaluate))
        """Run after the job that advances the metrics."""
        self.own_jobs = (Job("notifications of alarms", self._notify),)
        """Run on every node: what an alarm sends waits at the node that has changed its state."""

    def _services(self) -> tuple[CloudWatch, AutoScaling]:
        """Returns both, created if they are not."""
        if self._cloudwatch is None or self._autoscaling is None:
            from faradisc.services.autoscaling.service import AutoScaling  # noqa: PLC0415
            from faradisc.services.cloudwatch.service import CloudWatch  # noqa: PLC0415 - see the top

            self._cloudwatch = CloudWatch(self._store, self._catalog, self._clock, self._metrics_of)
            if self._alarm_webhook:
                from faradisc.services.cloudwatch.notifications import (  # noqa: PLC0415 - few have one
                    Notifier,
                    webhook,
                )

                post = webhook(self._alarm_webhook)
                self._cloudwatch.alarms.notifier = Notifier(post, self._clock, self._entropy)
            self._autoscaling = AutoScaling(
                self._store, self._catalog, self._cloudwatch, self._entropy, self._execute
            )
        return self._cloudwatch, self._autoscaling

    def of(self, service: str) -> OperationExecutor:
        """Returns the executor of a service, by botocore's name of it. Raises ValidationException."""
        if service in (IAM.name, STS.name):
            if self.identities is None:
                raise ValidationException(
                    "IAM and STS need a server that verifies signatures (--auth strict)."
                )
            return self.identities(service)
        cloudwatch, autoscaling = self._services()
        if service == CLOUDWATCH.name:
            from faradisc.services.cloudwatch import registry as of_cloudwatch  # noqa: PLC0415

            return _Executor(cloudwatch, of_cloudwatch.OPERATIONS, self._before)
        from faradisc.services.autoscaling import registry as of_autoscaling  # noqa: PLC0415

        assert service == SCALING.name, service
        return _Executor(autoscaling, of_autoscaling.OPERATIONS, self._before)

    def replica_scaling(self) -> ReplicaAutoScaling:
        from faradisc.services.autoscaling.replicas import ReplicaAutoScaling  # noqa: PLC0415 - see the top

        return ReplicaAutoScaling(self._services()[1])

    async def _scale(self) -> bool:
        return False if self._autoscaling is None else await self._autoscaling.autoscaler.step()

    async def _evaluate(self) -> bool:
        return False if self._cloudwatch is None else await self._cloudwatch.evaluator.step()

    async def _notify(self) -> bool:
        return False if self._cloudwatch is None else await self._cloudwatch.alarms.notify()

    def close(self) -> None:
        if self._cloudwatch is not None and self._cloudwatch.alarms.notifier is not None:
            self._cloudwatch.alarms.notifier.close()

    async def load(self) -> None:
        """Loads stored alarms and scalable targets."""
        left = [await self._store.range(part, None, None, limit=1) for part in (ALARMS_PART, SCALING_PART)]
        if any(left) or self._store.shared:
            cloudwatch, autoscaling = self._services()
            await cloudwatch.alarms.load()
            await autoscaling.targets.load()

    def share(self, broadcast: Broadcast, follow: Callable[[], Awaitable[None]]) -> None:
        """Sends metrics that clients put here to the other nodes. Requires: `load` was called.

        follow: takes over what other nodes have changed; called before every request.
        """
        self._before = follow
        if self._cloudwatch is not None:
            custom = self._cloudwatch.sources.custom
            custom.send = partial(broadcast.send, "custom metrics")
            broadcast.on("custom metrics", custom.receive)

    async def follow(self) -> None:
        """Takes over what other nodes have changed."""
        if self._cloudwatch is not None and self._autoscaling is not None:
            await self._cloudwatch.alarms.follow()
            await self._autoscaling.targets.follow()

    async def drop_all(self) -> None:
        """Deletes every alarm, metric, target and activity."""
        if self._autoscaling is not None and self._cloudwatch is not None:
            await self._autoscaling.targets.drop_all()
            await self._cloudwatch.drop_all()
