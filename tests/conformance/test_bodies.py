"""Bodies that no SDK sends: raw, signed or not.

Sources: errors.md sections 1, 4 and 5; capacity.md section 2.0.
"""

from __future__ import annotations

import orjson
import pytest

from fixtures.in_process import InProcess, Refused
from fixtures.schemas import item, schema


@pytest.fixture
def table(raw: InProcess) -> str:
    raw.call("CreateTable", TableName="table", **schema("p:S"))
    return "table"


def test_a_body_of_more_than_16_megabytes_gets_an_empty_413(raw: InProcess, table: str) -> None:
    """Exactly 16 MiB is read, one byte more is not (capacity.md section 2.0, measured)."""
    body = b'{"RequestItems": {"table": [{"DeleteRequest": {"Key": {"p": {"S": "1"}}}}]}}'
    full = body + b" " * (16 * 1024 * 1024 - len(body))
    assert raw.post("BatchWriteItem", full).status == 200
    answer = raw.post("BatchWriteItem", full + b" ")
    assert (answer.status, answer.body) == (413, b"")


def test_of_duplicate_members_the_last_counts(raw: InProcess, table: str) -> None:
    raw.post("PutItem", b'{"TableName":"table","Item":{"p":{"S":"1"},"p":{"S":"2"}}}')
    assert len(raw.call("Scan", TableName=table)["Items"]) <= 1
    with pytest.raises(Refused, match="ValidationException"):
        raw.call("PutItem", TableName=table, Item={"p": {"S": "1", "N": "1"}})


def test_null_members_count_as_absent(raw: InProcess, table: str) -> None:
    """Source: errors.md section 5."""
    raw.call("PutItem", TableName=table, Item=item(p="1"), ConditionExpression=None, Expected=None)
    assert raw.call("Scan", TableName=table, Limit=None, FilterExpression=None)["Count"] == 1


def test_other_spellings_of_json_give_the_same_item(raw: InProcess, table: str) -> None:
    """Escapes, spaces and the order of members are the client's affair; what is stored is canonical."""
    raw.post("PutItem", b' {\n"Item" : {"v":{"S":"\\u00e9\\/"}, "p":{"S":"1"}} ,"TableName":"table"}')
    body = raw.post("GetItem", b'{"TableName":"table","Key":{"p":{"S":"1"}}}').body
    assert body == '{"Item":{"p":{"S":"1"},"v":{"S":"é/"}}}'.encode()


UNSIGNED = {
    "operation": ("DescribeTable", b'{"TableName":"table"}', "MissingAuthenticationTokenException"),
    "bad parameters": ("DescribeTable", b"{}", "MissingAuthenticationTokenException"),
    "bad json": ("DescribeTable", b"{", "SerializationException"),
    "unknown operation": ("Nonsense", b"{}", "UnknownOperationException"),
}


@pytest.mark.parametrize(("operation", "body", "code"), UNSIGNED.values(), ids=UNSIGNED)
def test_authentication_comes_after_json_and_target(
    raw: InProcess, operation: str, body: bytes, code: str
) -> None:
    """Source: errors.md section 4."""
    known = {} if operation != "Nonsense" else {"x-amz-target": "DynamoDB_20120810.Nonsense"}
    answer = raw.post("DescribeTable", body, known, signed=False)
    assert (answer.status, orjson.loads(answer.body)["__type"].rpartition("#")[2]) == (400, code)
