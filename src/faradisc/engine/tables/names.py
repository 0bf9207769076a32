"""Table names, ARNs, and the namespaces of names.

By default there is one namespace, whatever the region and the access key of a request; with `per_region` each
account and region has its own.
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
        """Returns the namespace of requests of a region and an account."""
        return f"{account}/{region}" if self.per_region else ""

    def resolve(self, name_or_arn: str, region: str, account: str) -> NsName:
        """Returns namespace and name of a table named by name or by ARN. Raises ValidationException."""
        if not name_or_arn.startswith("arn:"):
            return self.namespace(region, account), name_or_arn
        match = _ARN.fullmatch(name_or_arn)
        if match is None:
            raise ValidationException(
                f"Invalid TableArn: Invalid ResourceArn provided as input {name_or_arn}"
            )
        arn_region, arn_account, name = match.groups()
        return self.namespace(arn_region, arn_account), name


def row_key(table: NsName) -> bytes:
    """Returns the key of a table's row in the catalog."""
    namespace, name = table
    return namespace.encode() + b"\x00" + name.encode()
