"""Definitions of tables as code, files of items, generated items, places of errors in statements."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faradisc.tools.console.definition import (
    NewTable,
    boto3_definition,
    cloudformation,
    definition_of,
    terraform,
)
from faradisc.tools.console.entities import entities
from faradisc.tools.console.generate import generated
from faradisc.tools.console.importing import FILE_ITEMS_MAX, FileOfItems, guessed_keys, summary
from faradisc.tools.console.pages.backups import moment_of, moment_text
from faradisc.tools.console.sample import items as sample_items
from faradisc.tools.console.sample import request as sample_request
from faradisc.tools.console.statements import completions, place_of
from faradisc.tools.console.values import ValueMistake
from faradisc.tools.readers import cloudformation as cloudformation_reader
from faradisc.tools.readers import terraform as terraform_reader
from faradisc.tools.readers.seed import Location, Seed

TAGS = [{"Key": "team", "Value": "a=b + c"}]
EXPIRY = 'ex"${p}ires'


def described(**more: Any) -> dict[str, Any]:
    """Returns a description with all that a definition has."""
    request = sample_request()
    del request["BillingMode"]
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 3, "NumberOfDecreasesToday": 0}
    index = {**request["GlobalSecondaryIndexes"][0], "ProvisionedThroughput": units, "IndexStatus": "ACTIVE"}
    index["Projection"] = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}
    return {
        **request,
        "GlobalSecondaryIndexes": [index],
        "ProvisionedThroughput": units,
        "DeletionProtectionEnabled": True,
        "TableStatus": "ACTIVE",
        **more,
    }


def test_a_definition_read_back_by_seeding_is_the_same() -> None:
    wanted = definition_of(described(), EXPIRY, True, TAGS)
    seed = cloudformation_reader.read_template(
        json.loads(cloudformation(wanted)), lambda _: Location("f", 1), {}, lambda *_: Seed()
    )
    assert seed.errors == []
    (table,) = seed.tables
    assert table.request == wanted.create
    pytest.importorskip("hcl2")
    found = terraform_reader.read_configuration(terraform(wanted), "main.tf")
    assert found.errors == []
    (read,) = found.tables
    assert {**read.request, "Tags": TAGS} == {**wanted.create, "Tags": TAGS}
    assert 'ex\\"$${p}ires' in terraform(wanted)


def test_a_definition_makes_the_table_by_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    from faradisc import local  # noqa: PLC0415 - patches botocore

    wanted = definition_of(described(), EXPIRY, True, TAGS, "another")
    with local.patch() as database:
        exec(compile(boto3_definition(wanted, None, "us-east-1"), "made", "exec"), {})
        client = database.client()
        made = client.describe_table(TableName="another")["Table"]
        made["AttributeDefinitions"] = described()["AttributeDefinitions"]
        assert definition_of(made, EXPIRY, True, TAGS).create == wanted.create
        expiry = client.describe_time_to_live(TableName="another")["TimeToLiveDescription"]
        assert expiry["AttributeName"] == EXPIRY


def test_on_demand_tables_have_no_units() -> None:
    on_demand = described(BillingModeSummary={"BillingMode": "PAY_PER_REQUEST"})
    wanted = definition_of(on_demand, "", False, [])
    assert "ProvisionedThroughput" not in json.dumps(wanted.create)
    assert wanted.later == []
    assert "read_capacity" not in terraform(wanted)
    assert isinstance(wanted, NewTable)


# --- Files ----------------------------------------------------------------------------------------


def read(name: str, text: str, **types: str) -> FileOfItems:
    file = FileOfItems(name, text.encode())
    file.read(types)
    return file


def test_all_forms_of_files_give_the_same_items() -> None:
    typed = '{"id": {"S": "1"}, "n": {"N": "2.50"}}'
    plain = '{"id": "1", "n": 2.50}'
    wanted = [{"id": {"S": "1"}, "n": {"N": "2.50"}}]
    assert read("a.json", f"[{typed}]").items == wanted
    assert read("a.json", f"[{plain}]").items == wanted
    assert read("a.jsonl", f"{plain}\n{typed}\n").items == wanted * 2
    table = FileOfItems("a.csv", b"id,n,zip\n1,2.50,007\n")
    table.read({"id": "S"})
    table.guess_types()
    table.read({"id": "S"})
    assert table.items == [{**wanted[0], "zip": {"S": "007"}}]


def test_what_cannot_be_read_has_its_line() -> None:
    file = read("a.jsonl", '{"id": "1"}\n{"id": \n{"": 1}\n')
    assert (len(file.items), file.wrong) == (1, 2)
    assert file.errors[0].startswith("line 2: not valid JSON")
    with pytest.raises(ValueMistake, match="ends in none of"):
        read("a.parquet", "")
    many = "\n".join(["{}"] * (FILE_ITEMS_MAX + 1))
    with pytest.raises(ValueMistake, match="faradisc import"):
        read("a.jsonl", many)


def test_keys_are_guessed_from_what_differs() -> None:
    rows = [{"kind": {"S": "a"}, "at": {"N": str(n % 5)}, "by": {"S": str(n // 5)}} for n in range(25)]
    assert guessed_keys(rows) == ("at", "by")
    assert guessed_keys([{**row, "id": {"S": str(n)}} for n, row in enumerate(rows)]) == ("id", "")
    assert summary(rows)[1] == {"attribute": "at", "type": "N", "items": "25", "first": "0"}


# --- Generated items ------------------------------------------------------------------------------


def test_generated_items_are_like_those_that_are_there() -> None:
    like, keys = sample_items(), ["PK", "SK"]
    made = generated(like, keys, {"PK": "S", "SK": "S"}, 200, 1)
    assert made == generated(like, keys, {"PK": "S", "SK": "S"}, 200, 1)
    known = {(i["PK"]["S"], i["SK"]["S"]) for i in like}
    assert len({(i["PK"]["S"], i["SK"]["S"]) for i in made} - known) == 200
    patterns = {each.name: each.patterns for each in entities(like, keys)}
    for each in entities(made, keys):
        assert patterns[each.name] == each.patterns
    totals = [float(item["total"]["N"]) for item in like if "total" in item]
    assert all(min(totals) <= float(i["total"]["N"]) <= max(totals) for i in made if "total" in i)
    assert {i["status"]["S"] for i in made if "status" in i} <= {"OPEN", "PAID", "SENT"}


def test_items_are_generated_for_an_empty_table_too() -> None:
    made = generated([], ["id", "at"], {"id": "S", "at": "N"}, 10, 1)
    assert len({(i["id"]["S"], i["at"]["N"]) for i in made}) == 10


# --- Statements and moments -----------------------------------------------------------------------


MALFORMED = "Statement wasn't well formed, can't be processed: Unexpected term"


@pytest.mark.parametrize(
    ("message", "statement", "place"),
    [
        ("Unsupported clause at 1:15:5", "SELECT * FROM t WHERE x", (14, 5)),
        ("Unexpected at 2:3:2", "SELECT *\n  FROM t", (11, 2)),
        (MALFORMED, " SELEC * FROM t", (1, 5)),
        (MALFORMED, "SELECT * FRM t", (9, 3)),
        (MALFORMED, 'SELECT * FROM "t" WHERE', (23, 0)),
        (MALFORMED, """SELECT * FROM t WHERE a = 'it''s' AND b = 'x""", (42, 2)),
        (MALFORMED, 'SELECT * FROM "t', (14, 2)),
        (MALFORMED, "SELECT * FROM t", None),
        ("Requested resource not found", "SELECT * FROM t", None),
        ("at 9:1:1", "SELECT", None),
    ],
)
def test_errors_of_statements_have_a_place(
    message: str, statement: str, place: tuple[int, int] | None
) -> None:
    assert place_of(message, statement) == place


def test_completions_know_tables_indexes_and_keys() -> None:
    words = {each["label"]: each["detail"] for each in completions(["Shop"], sample_request(), ["total"])}
    assert (words["Shop"], words["GSI1"], words["GSI1PK"], words["total"]) == (
        "table",
        "index",
        "key (S)",
        "",
    )
    assert "SELECT" in words


def test_moments_are_read_as_they_are_written() -> None:
    assert moment_of(moment_text(1_790_000_000)) == 1_790_000_000
    assert moment_of("2026-11-26T05:00:00+02:00") == moment_of("2026-11-26 03:00:00")
    assert moment_of("soon") is None
