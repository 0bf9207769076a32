"""The service of Application Auto Scaling, with which its operations work."""

from __future__ import annotations

from faradisc.clock import Entropy
from faradisc.engine.tables.catalog import Catalog
from faradisc.errors import ResourceNotFoundException
from faradisc.operations.call import Call
from faradisc.services.autoscaling.dimension import Scaled, scaled_by
from faradisc.services.autoscaling.errors import ObjectNotFoundException, ValidationException
from faradisc.services.autoscaling.target import SERVICE_NAMESPACE, Target
from faradisc.services.autoscaling.targets import TargetStore
from faradisc.services.autoscaling.worker import AutoScaler, Execute
from faradisc.services.cloudwatch.service import CloudWatch
from faradisc.storage.api import Store


class AutoScaling:
    def __init__(
        self, store: Store, catalog: Catalog, cloudwatch: CloudWatch, entropy: Entropy, execute: Execute
    ) -> None:
        """execute: runs an operation of DynamoDB."""
        self.catalog = catalog
        self.clock = cloudwatch.clock
        self.entropy = entropy
        self.alarms = cloudwatch.alarms
        self.sources = cloudwatch.sources
        self.targets = TargetStore(store, self.clock)
        self.autoscaler = AutoScaler(
            self.targets, self.alarms, catalog, self.clock, entropy, self.sources, execute
        )

    def scope(self, call: Call) -> str:
        """Returns the namespace of the caller's tables, in which names of targets are unique."""
        return self.catalog.tables.resolve("-", call.region, call.account)[0]

    def scaled(self, call: Call) -> Scaled:
        """Returns what the request names. Raises ValidationException."""
        self.check_namespace(call)
        return scaled_by(call.request["ResourceId"], call.request["ScalableDimension"])

    def check_namespace(self, call: Call) -> None:
        if call.request["ServiceNamespace"] != SERVICE_NAMESPACE:
            raise ValidationException("Unsupported service namespace, resource type or scalable dimension")

    def check_exists(self, call: Call, scaled: Scaled) -> None:
        """Raises ValidationException for a table or index that does not exist."""
        resource_id = call.request["ResourceId"]
        try:
            table = self.catalog.tables.for_control(scaled.table, call.region, call.account)
        except ResourceNotFoundException:
            raise ValidationException(f"DynamoDB table does not exist: {resource_id}") from None
        if scaled.index is not None and not any(scaled.index == index.name for index in table.global_indexes):
            raise ValidationException(f"DynamoDB index does not exist: {resource_id}")

    def target(self, call: Call) -> Target:
        """Returns the target of a request. Raises ValidationException, ObjectNotFoundException."""
        self.scaled(call)
        request = call.request
        found = self.targets.find(self.scope(call), request["ResourceId"], request["ScalableDimension"])
        if found is None:
            raise ObjectNotFoundException(f"No scalable target registered for {names_of(call)}")
        return found


def names_of(call: Call) -> str:
    """Returns the service's words for what a request names."""
    request = call.request
    return (
        f"service namespace: {request['ServiceNamespace']}, resource ID: {request['ResourceId']}, "
        f"scalable dimension: {request['ScalableDimension']}"
    )
