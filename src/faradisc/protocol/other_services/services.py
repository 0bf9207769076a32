"""Names and versions of the other AWS services.

Source: the metadata of botocore's models (`application-autoscaling` 2016-02-06, `cloudwatch` 2010-08-01);
a test holds this table against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    """In botocore."""
    api_version: str
    target_prefix: str
    """In X-Amz-Target, and in the path of a CBOR request."""
    signing_name: str
    """In a signature's credential scope."""
    xml_namespace: str | None = None
    """Of services that accept the query protocol."""

    @property
    def has_query_codes(self) -> bool:
        """Whether errors have a second name in the query protocol."""
        return self.xml_namespace is not None


SCALING: Final = Service(
    "application-autoscaling", "2016-02-06", "AnyScaleFrontendService", "application-autoscaling"
)
CLOUDWATCH: Final = Service(
    "cloudwatch",
    "2010-08-01",
    "GraniteServiceVersion20100801",
    "monitoring",
    "http://monitoring.amazonaws.com/doc/2010-08-01/",
)

SERVICES: Final = (SCALING, CLOUDWATCH)
BY_PREFIX: Final = {service.target_prefix: service for service in SERVICES}
"""Query requests name no prefix, only a version; only CloudWatch accepts them."""
