"""Names and versions of the other AWS services.

Source: the metadata of botocore's models of these names and versions;
a test holds this table against them.
"""

from __future__ import annotations

from typing import Final

from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    """In botocore."""
    api_version: str
    target_prefix: str | None
    """In X-Amz-Target, and in the path of a CBOR request; None if it accepts only the query protocol."""
    signing_name: str
    """In a signature's credential scope."""
    xml_namespace: str | None = None
    """Of services that accept the query protocol."""
    tests_rights: bool = False
    """Whether its operations ask the caller's policies themselves, because they have resources."""

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
IAM: Final = Service(
    "iam", "2010-05-08", None, "iam", "https://iam.amazonaws.com/doc/2010-05-08/", tests_rights=True
)
STS: Final = Service(
    "sts", "2011-06-15", None, "sts", "https://sts.amazonaws.com/doc/2011-06-15/", tests_rights=True
)

SERVICES: Final = (SCALING, CLOUDWATCH, IAM, STS)
BY_PREFIX: Final = {each.target_prefix: each for each in SERVICES if each.target_prefix is not None}
OF_QUERIES: Final = tuple(each for each in SERVICES if each.xml_namespace is not None)
"""A query request names no prefix, only a version."""
