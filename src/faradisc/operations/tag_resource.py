"""TagResource, UntagResource and ListTagsOfResource: the tags of a table or a stream.

Source: errors.md sections 6.1 and 6.10.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faradisc.engine.streams.stream import Stream
from faradisc.engine.tables.definition import check_tag_key, checked_tags
from faradisc.engine.tables.state import TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from faradisc.limits import TAGS_PAGE_MAX, TAGS_PER_RESOURCE_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.resources import named_resource

Tags = dict[str, str]


async def tag_resource(backend: Backend, call: Call) -> dict[str, Any]:
    tags = call.request["Tags"]
    if not tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    checked_tags(tags, {})
    await _change(backend, _holder(backend, call), lambda present: checked_tags(tags, present))
    return {}


async def untag_resource(backend: Backend, call: Call) -> dict[str, Any]:
    keys = call.request["TagKeys"]
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    for key in keys:
        check_tag_key(key)
    if len(keys) > TAGS_PER_RESOURCE_MAX:
        raise ValidationException("Number of Tags exceed the current limit for the provided ResourceArn")

    def change(present: Tags) -> Tags:
        return {key: value for key, value in present.items() if key not in keys}

    await _change(backend, _holder(backend, call), change)
    return {}


async def list_tags_of_resource(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns tags by key, ten a page. A token that no page has returned is ignored."""
    tags = sorted(_holder(backend, call).state.tags.items())
    after = _decode_token(call.request.get("NextToken", ""))
    rest = [(key, value) for key, value in tags if after is None or key > after]
    page = rest[:TAGS_PAGE_MAX]
    result: dict[str, Any] = {"Tags": [{"Key": key, "Value": value} for key, value in page]}
    if len(rest) > len(page):
        result["NextToken"] = _TOKEN + urlsafe_b64encode(page[-1][0].encode()).decode()
    return result


_TOKEN = "after-"


def _decode_token(token: str) -> str | None:
    try:
        return urlsafe_b64decode(token.removeprefix(_TOKEN)).decode() if token.startswith(_TOKEN) else None
    except ValueError:
        return None


async def _change(backend: Backend, holder: Table | Stream, change: Callable[[Tags], Tags]) -> None:
    if isinstance(holder, Stream):
        await backend.catalog.streams.change(holder, lambda state: replace(state, tags=change(state.tags)))
        return

    def change_state(state: TableState) -> bool:
        state.tags = change(state.tags)
        return False

    await backend.catalog.update(holder, change_state)


def _holder(backend: Backend, call: Call) -> Table | Stream:
    arn = call.request["ResourceArn"]
    try:
        return named_resource(backend, call)
    except ResourceNotFoundException:
        account = arn.split(":")[4]
        if account != call.account:
            raise AccessDeniedException(
                f"User: arn:aws:iam::{call.account}:root is not authorized to perform: "
                f"dynamodb:{call.operation} on resource: {arn}"
            ) from None
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourceArn: {arn} not found"
        ) from None
