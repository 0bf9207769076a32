"""Table names, ARNs, and the namespaces of names.

By default there is one namespace, whatever the region and the access key of a request; with `per_region` each
account and region has its own.
"""

from __future__ import annotations

import re

from faradisc.errors import ResourceNotFoundException, TableNotFoundException, ValidationException

_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)")

NsName = tuple[str, str]
"""Namespace and name of a table."""


def no_table(name: str) -> ResourceNotFoundException:
    """Returns the error of requests for a table that does not exist."""
    return ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")


def table_not_found(name_or_arn: str) -> TableNotFoundException:
    """Returns the error of backups, exports and recovery for a table that does not exist."""
    return TableNotFoundException(f"Table not found: {name_or_arn}")


def parse_table_arn(arn: str) -> tuple[str, str, str]:
    """Returns region, account and name of the table with an ARN. Raises ValidationException."""
    match = _ARN.fullmatch(arn)
    if match is None:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    region, account, name = match.groups()
    return region, account, name


def name_of_row(key: bytes) -> NsName:
    """Returns the table of a row of the catalog."""
    namespace, _, name = key.decode().partition("\x00")
    return namespace, name


def row_key(table: NsName) -> bytes:
    """Returns the key of a table's row in the catalog."""
    namespace, name = table
    return namespace.encode() + b"\x00" + name.encode()
