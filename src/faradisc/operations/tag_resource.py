"""TagResource, UntagResource and ListTagsOfResource: the tags of a table.

Only tables have tags: ARNs of indexes are rejected in the words of the service, ARNs of streams like any
other that is not of a table. Source: errors.md section 6.1.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from faradisc.engine.tables.definition import checked_tags
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from faradisc.limits import TAGS_PAGE_MAX
from faradisc.operations.call import Backend, Call


async def tag_resource(backend: Backend, call: Call) -> dict[str, Any]:
    tags = call.request["Tags"]
    if not tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    table = _table(backend, call)

    def change(state: TableState) -> bool:
        state.tags = checked_tags(tags, state.tags)
        return False

    await backend.catalog.update(table, change, while_in_use=True)
    return {}


async def untag_resource(backend: Backend, call: Call) -> dict[str, Any]:
    keys = call.request["TagKeys"]
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    table = _table(backend, call)

    def change(state: TableState) -> bool:
        state.tags = {key: value for key, value in state.tags.items() if key not in keys}
        return False

    await backend.catalog.update(table, change, while_in_use=True)
    return {}


async def list_tags_of_resource(backend: Backend, call: Call) -> dict[str, Any]:
    tags = sorted(_table(backend, call).state.tags.items())
    after = _decode_token(call.request["NextToken"]) if "NextToken" in call.request else None
    rest = [(key, value) for key, value in tags if after is None or key > after]
    page = rest[:TAGS_PAGE_MAX]
    result: dict[str, Any] = {"Tags": [{"Key": key, "Value": value} for key, value in page]}
    if len(rest) > len(page):
        result["NextToken"] = urlsafe_b64encode(page[-1][0].encode()).decode()
    return result


def _decode_token(token: str) -> str:
    try:
        return urlsafe_b64decode(token).decode()
    except ValueError:
        raise ValidationException("Invalid NextToken") from None


def _table(backend: Backend, call: Call) -> Table:
    arn = call.request["ResourceArn"]
    if not arn.startswith("arn:"):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table_arn, separator, rest = arn.partition("/index/")
    if separator and rest:
        raise ValidationException(
            "One or more parameter values were invalid: Invalid resource arn provided, "
            f"only table or stream is accepted. Provided resource arn: {arn}"
        )
    try:
        return backend.catalog.for_control(table_arn, call.region, call.account)
    except ResourceNotFoundException:
        account = table_arn.split(":")[4]
        if account != call.account:
            raise AccessDeniedException(
                f"User: arn:aws:iam::{call.account}:root is not authorized to perform: "
                f"dynamodb:{call.operation} on resource: {arn}"
            ) from None
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourcArn: {arn} not found"
        ) from None
