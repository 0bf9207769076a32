"""Scalable dimensions: read or write units of a table or of a global index.

    table/Orders                    dynamodb:table:ReadCapacityUnits, ...:WriteCapacityUnits
    table/Orders/index/by-date      dynamodb:index:ReadCapacityUnits, ...:WriteCapacityUnits

Source: metrics.md ("Auto scaling hooks"); the model's documentation of ResourceId and ScalableDimension.
"""

from __future__ import annotations

import re
from typing import Any, Final

from faradisc.metrics.metric_store import Dimensions, dimensions
from faradisc.records import dataclass
from faradisc.services.autoscaling.errors import ValidationException

_RESOURCE: Final = re.compile(r"table/([A-Za-z0-9_.-]{1,255})(?:/index/([A-Za-z0-9_.-]{1,255}))?")
_DIMENSION: Final = re.compile(r"dynamodb:(table|index):(Read|Write)CapacityUnits")


@dataclass(frozen=True, slots=True)
class Scaled:
    """One direction of one table or global index."""

    table: str
    index: str | None
    direction: str
    """Read or Write."""

    @property
    def dimension(self) -> str:
        return f"dynamodb:{'table' if self.index is None else 'index'}:{self.direction}CapacityUnits"

    @property
    def consumed_metric(self) -> str:
        return f"Consumed{self.direction}CapacityUnits"

    @property
    def provisioned_metric(self) -> str:
        return f"Provisioned{self.direction}CapacityUnits"

    @property
    def predefined_metric(self) -> str:
        """The predefined metric that a policy for it may track."""
        return f"DynamoDB{self.direction}CapacityUtilization"

    @property
    def metric_dimensions(self) -> Dimensions:
        return dimensions(TableName=self.table, GlobalSecondaryIndexName=self.index)

    @property
    def words(self) -> str:
        """The name in texts of activities."""
        return f"{self.direction.lower()} capacity units"

    def update(self, units: int) -> dict[str, Any]:
        """Returns the UpdateTable request for these units. It leaves out the other direction, which a client
        may have changed meanwhile."""
        throughput = {f"{self.direction}CapacityUnits": units}
        if self.index is None:
            return {"TableName": self.table, "ProvisionedThroughput": throughput}
        update = {"IndexName": self.index, "ProvisionedThroughput": throughput}
        return {"TableName": self.table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def scaled_by(resource_id: str, dimension: str) -> Scaled:
    """Returns what a resource id and a dimension name. Raises ValidationException, with the text of the
    service for pairs that do not fit."""
    resource, named = _RESOURCE.fullmatch(resource_id), _DIMENSION.fullmatch(dimension)
    if resource is None or named is None or (named[1] == "index") != (resource[2] is not None):
        raise ValidationException("Unsupported service namespace, resource type or scalable dimension")
    return Scaled(resource[1], resource[2], named[2])
