"""What tables are called: names, ARNs, and the namespaces that names live in.

By default there is one namespace, whatever region or access key a request is signed with; apart by region,
each account and region has its own.
"""

from __future__ import annotations

import re

from faradisc.errors import ValidationException

_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)")

NsName = tuple[str, str]
"""Namespace and name of a table."""


class Names:
    def __init__(self, *, per_region: bool) -> None:
        self.per_region = per_region

    def namespace(self, region: str, account: str) -> str:
        """The namespace that requests of a region and an account speak of."""
        return f"{account}/{region}" if self.per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """A table named by name or by ARN. Raises ValidationException."""
        if not name_or_arn.startswith("arn:"):
            return self.namespace(region, account), name_or_arn
        match = _ARN.fullmatch(name_or_arn)
        if match is None:
            raise ValidationException(
                f"Invalid TableArn: Invalid ResourceArn provided as input {name_or_arn}"
            )
        arn_region, arn_account, name = match.groups()
        return self.namespace(arn_region, arn_account), name


def row_key(place: NsName) -> bytes:
    """The key of a table's row in the catalog."""
    namespace, name = place
    return namespace.encode() + b"\x00" + name.encode()
