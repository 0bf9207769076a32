"""Application Auto Scaling beside DynamoDB: what its operations work with."""

from __future__ import annotations

from faradisc.clock import Clock, Entropy
from faradisc.engine.tables.catalog import Catalog
from faradisc.errors import ResourceNotFoundException
from faradisc.operations.call import Call
from faradisc.services.autoscaling.dimension import Scaled, scaled_by
from faradisc.services.autoscaling.errors import ObjectNotFoundException, ValidationException
from faradisc.services.autoscaling.target import SERVICE_NAMESPACE, Target
from faradisc.services.autoscaling.targets import TargetStore
from faradisc.services.autoscaling.worker import AutoScaler, Execute
from faradisc.services.cloudwatch.alarms import Alarms
from faradisc.services.cloudwatch.sources import Sources
from faradisc.storage.api import Store


class AutoScaling:
    """The open service."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        alarms: Alarms,
        *,
        clock: Clock,
        entropy: Entropy,
        sources: Sources,
        execute: Execute,
    ) -> None:
        """`execute` runs an operation of DynamoDB; `sources` has the metrics of tables and of clients."""
        self.catalog = catalog
        self.clock = clock
        self.entropy = entropy
        self.alarms = alarms
        self.sources = sources
        self.targets = TargetStore(store, clock)
        self.autoscaler = AutoScaler(
            self.targets,
            alarms,
            catalog,
            clock=clock,
            entropy=entropy,
            sources=sources,
            execute=execute,
        )

    def scope(self, call: Call) -> str:
        """Where the caller's tables are; names of targets are apart by it as those of tables are."""
        return self.catalog.resolve("-", call.region, call.account)[0]

    def scaled(self, call: Call) -> Scaled:
        """What the request is about. Raises: ValidationException."""
        request = call.request
        self.check_namespace(call)
        return scaled_by(request["ResourceId"], request["ScalableDimension"])

    def check_namespace(self, call: Call) -> None:
        if call.request["ServiceNamespace"] != SERVICE_NAMESPACE:
            raise ValidationException("Unsupported service namespace, resource type or scalable dimension")

    def check_exists(self, call: Call, scaled: Scaled) -> None:
        """Raises: ValidationException for a table or index that is not there."""
        resource_id = call.request["ResourceId"]
        try:
            table = self.catalog.for_control(scaled.table, call.region, call.account)
        except ResourceNotFoundException:
            raise ValidationException(f"DynamoDB table does not exist: {resource_id}") from None
        if scaled.index is not None and not any(scaled.index == index.name for index in table.global_indexes):
            raise ValidationException(f"DynamoDB index does not exist: {resource_id}")

    def target(self, call: Call) -> Target:
        """The registered target of a request. Raises: ValidationException, ObjectNotFoundException."""
        self.scaled(call)
        request = call.request
        found = self.targets.find(self.scope(call), request["ResourceId"], request["ScalableDimension"])
        if found is None:
            raise ObjectNotFoundException(f"No scalable target registered for {names_of(call)}")
        return found


def names_of(call: Call) -> str:
    """The service's words for what a request is about."""
    request = call.request
    return (
        f"service namespace: {request['ServiceNamespace']}, resource ID: {request['ResourceId']}, "
        f"scalable dimension: {request['ScalableDimension']}"
    )
