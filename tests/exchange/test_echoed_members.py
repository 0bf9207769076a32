"""Descriptions repeat exactly those members of a request that the service model has."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.model import Shape

from faradisc.operations import echo

MODEL = botocore.session.get_session().get_service_model("dynamodb")


def members_of(shape: Shape) -> Any:
    if shape.type_name == "structure" and shape.name != "AttributeValue":
        return {name: members_of(member) for name, member in shape.members.items()}  # type: ignore[attr-defined]
    return members_of(shape.member) if shape.type_name == "list" else None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("S3BucketSource", echo.S3_SOURCE),
        ("InputFormatOptions", echo.FORMAT_OPTIONS),
        ("TableCreationParameters", echo.TABLE_PARAMETERS),
        ("FilterSpecification", echo.FILTER),
        ("InputS3Configuration", echo.BULK_INPUT),
        ("OutputS3Configuration", echo.BULK_OUTPUT),
    ],
)
def test_members_equal_those_of_the_model(name: str, members: echo.Members) -> None:
    assert members_of(MODEL.shape_for(name)) == members


def test_unknown_members_are_omitted() -> None:
    given = {"S3Bucket": "b", "new": 1, "S3KeyPrefix": "p"}
    assert echo.echoed([given], echo.S3_SOURCE) == [{"S3Bucket": "b", "S3KeyPrefix": "p"}]
