"""TagResource, UntagResource, ListTagsOfResource, and tags given at creation.

Sources: errors.md section 6.1; limits.md sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.schemas import invalid, item, refused


def arn_of(dynamodb: Any, name: str) -> str:
    return dynamodb.describe_table(TableName=name)["Table"]["TableArn"]


@pytest.fixture
def arn(dynamodb: Any, create: Callable[..., str]) -> str:
    return arn_of(dynamodb, create("p:S"))


def tags(**pairs: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def listed(dynamodb: Any, arn: str) -> dict[str, str]:
    found: dict[str, str] = {}
    parameters = {"ResourceArn": arn}
    while True:
        page = dynamodb.list_tags_of_resource(**parameters)
        found.update({tag["Key"]: tag["Value"] for tag in page["Tags"]})
        if "NextToken" not in page:
            return found
        parameters["NextToken"] = page["NextToken"]


def test_tags_are_added_replaced_and_removed(dynamodb: Any, arn: str) -> None:
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(a="1", b="2"))
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(b="3", c=""))
    assert listed(dynamodb, arn) == {"a": "1", "b": "3", "c": ""}
    dynamodb.untag_resource(ResourceArn=arn, TagKeys=["a", "missing"])
    assert listed(dynamodb, arn) == {"b": "3", "c": ""}


def test_a_new_table_has_no_tags(dynamodb: Any, arn: str) -> None:
    assert dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"] == []


def test_tags_can_be_given_at_creation(dynamodb: Any, create: Callable[..., str]) -> None:
    arn = arn_of(dynamodb, create("p:S", Tags=tags(owner="me")))
    assert listed(dynamodb, arn) == {"owner": "me"}


def test_tags_are_listed_ten_a_page(dynamodb: Any, arn: str) -> None:
    """Source: limits.md section 4."""
    many = {f"key{number:02}": str(number) for number in range(25)}
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(**many))
    first = dynamodb.list_tags_of_resource(ResourceArn=arn)
    assert len(first["Tags"]) == 10
    assert listed(dynamodb, arn) == many


def test_fifty_tags_fit_and_no_more(dynamodb: Any, arn: str) -> None:
    """Source: limits.md section 1."""
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(**{f"key{n}": "" for n in range(50)}))
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(key0="again"))
    with refused("ValidationException"):
        dynamodb.tag_resource(ResourceArn=arn, Tags=tags(one_more=""))


def test_lengths_of_tags_count_characters(dynamodb: Any, arn: str) -> None:
    """Characters, not bytes (limits.md section 1, captured)."""
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(**{"é" * 128: "ü" * 256}))
    assert listed(dynamodb, arn) == {"é" * 128: "ü" * 256}
    with invalid():
        dynamodb.tag_resource(ResourceArn=arn, Tags=tags(**{"é" * 129: ""}))
    with invalid():
        dynamodb.tag_resource(ResourceArn=arn, Tags=tags(key="ü" * 257))


def test_allowed_characters_of_tags(dynamodb: Any, arn: str) -> None:
    """Source: limits.md section 1."""
    odd = {"Größe 7 +-=._:/@": "大 小 +-=._:/@"}
    dynamodb.tag_resource(ResourceArn=arn, Tags=tags(**odd))
    assert listed(dynamodb, arn) == odd


@pytest.mark.parametrize(
    "bad",
    [
        tags(**{"aws:owner": "x"}),
        tags(a="1") + tags(a="2"),
        tags(**{"a!": "x"}),
        tags(a="x\ty"),
    ],
    ids=["aws:", "twice", "character of a key", "character of a value"],
)
def test_invalid_tag_keys_are_rejected(dynamodb: Any, arn: str, bad: list[dict[str, str]]) -> None:
    with invalid():
        dynamodb.tag_resource(ResourceArn=arn, Tags=bad)
    assert listed(dynamodb, arn) == {}


def test_an_empty_list_of_tags_is_rejected(dynamodb: Any, arn: str) -> None:
    with invalid("Atleast one Tag needs to be provided as Input."):
        dynamodb.tag_resource(ResourceArn=arn, Tags=[])
    with invalid("Atleast one Tag Key needs to be provided as Input."):
        dynamodb.untag_resource(ResourceArn=arn, TagKeys=[])


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tag_resource", {"Tags": tags(a="1")}),
    ("untag_resource", {"TagKeys": ["a"]}),
    ("list_tags_of_resource", {}),
]


@pytest.mark.parametrize(("operation", "parameters"), CALLS, ids=[name for name, _ in CALLS])
def test_tagging_a_missing_table_raises_resource_not_found(
    dynamodb: Any, operation: str, parameters: dict[str, Any]
) -> None:
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/no-such-table"
    with refused("ResourceNotFoundException", f"Requested resource not found: ResourceArn: {arn} not found"):
        getattr(dynamodb, operation)(ResourceArn=arn, **parameters)


@pytest.mark.parametrize(("operation", "parameters"), CALLS, ids=[name for name, _ in CALLS])
def test_a_malformed_arn_is_rejected(dynamodb: Any, operation: str, parameters: dict[str, Any]) -> None:
    with invalid("One or more parameter values were invalid: ARNs must start with 'arn:': some-table"):
        getattr(dynamodb, operation)(ResourceArn="some-table", **parameters)


def test_indexes_have_no_tags(dynamodb: Any, create: Callable[..., str]) -> None:
    arn = arn_of(dynamodb, create("p:S", gsi={"index": ("g:S", "", "ALL")})) + "/index/index"
    with invalid(
        "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is "
        f"accepted. Provided resource arn: {arn}"
    ):
        dynamodb.tag_resource(ResourceArn=arn, Tags=tags(a="1"))


def test_tags_do_not_change_items(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("p:S")
    dynamodb.put_item(TableName=name, Item=item(p="1"))
    dynamodb.tag_resource(ResourceArn=arn_of(dynamodb, name), Tags=tags(a="1"))
    assert dynamodb.get_item(TableName=name, Key=item(p="1"))["Item"] == item(p="1")


def test_streams_have_tags_of_their_own(dynamodb: Any, create: Callable[..., str]) -> None:
    """Source: errors.md section 6.10."""
    name = create("p:S", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    table = dynamodb.describe_table(TableName=name)["Table"]
    dynamodb.tag_resource(ResourceArn=table["TableArn"], Tags=tags(a="1"))
    assert listed(dynamodb, table["LatestStreamArn"]) == {}
    dynamodb.tag_resource(ResourceArn=table["LatestStreamArn"], Tags=tags(b="2"))
    assert listed(dynamodb, table["LatestStreamArn"]) == {"b": "2"}
    assert listed(dynamodb, table["TableArn"]) == {"a": "1"}
    dynamodb.untag_resource(ResourceArn=table["LatestStreamArn"], TagKeys=["b"])
    assert listed(dynamodb, table["LatestStreamArn"]) == {}
