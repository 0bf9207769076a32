"""Damaged files of every kind: one sentence with file and line, nothing created, nothing else raised.

What it proves: whatever is cut off, replaced, doubled, nested or encoded otherwise in a file of a public
shape, its reader answers with errors or with tables and items, and what is read with an error creates
nothing. How: files of `test_readers_of_kinds.py`, changed by a seed; `-m slow` runs many more.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from faradisc.engine.formats.compression import InputDamaged, Unavailable
from faradisc.local import LocalDatabase
from faradisc.tools.readers.inputs import NoInput, find_input
from faradisc.tools.readers.items import read_items
from faradisc.tools.readers.seed import Line
from faradisc.tools.seeding import read_seed
from faradisc.tools.traces.cloudwatch import read_export
from faradisc.tools.traces.errors import PlanError
from unit.seeding.seed_files import REQUEST
from unit.seeding.test_definitions import YAML
from unit.seeding.test_readers_of_kinds import BATCH, HCL, LOOPS, MODEL, SCALED, SERVERLESS
from unit.seeding.test_terraform_definitions import SHOWN_VALUES, TERRAFORM, resource, shown

DESCRIBED = {
    "Table": {
        **REQUEST,
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "GlobalSecondaryIndexes": [
            {"IndexName": "i", "KeySchema": REQUEST["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        "TableClassSummary": {"TableClass": "STANDARD"},
    }
}
PLAIN_YAML = "\n".join(each for each in YAML.splitlines() if "!" not in each)
DOCUMENTS: dict[str, Any] = {
    "request.json": REQUEST,
    "requests.json": [REQUEST, {**REQUEST, "TableName": "films"}],
    "described.json": DESCRIBED,
    "model.json": MODEL,
    "batch.json": [BATCH, {"RequestItems": BATCH}],
    "shown.json": json.loads(shown("values", resource("aws_dynamodb_table", "orders", SHOWN_VALUES))),
    "stack.json": {
        "Parameters": {"A": {"Type": "String", "Default": "a"}},
        "Conditions": {
            "C": {"Fn::And": [{"Fn::Equals": [{"Ref": "A"}, "a"]}, {"Fn::Not": [{"Condition": "D"}]}]}
        },
        "Mappings": {"M": {"a": {"b": "STANDARD"}}},
        "Resources": {
            "Fn::ForEach::T": [
                "N",
                ["x", "y"],
                {
                    "T${N}": {
                        "Type": "AWS::DynamoDB::Table",
                        "Condition": "C",
                        "Properties": {
                            **REQUEST,
                            "TableName": {"Fn::Join": ["-", [{"Ref": "N"}, {"Fn::Select": [0, ["a"]]}]]},
                            "TableClass": {"Fn::FindInMap": ["M", {"Ref": "A"}, "b"]},
                            "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": "true"},
                            "Tags": [{"Key": "k", "Value": {"Fn::Sub": ["${x}", {"x": 1}]}}],
                        },
                    }
                },
            ],
            "S": {"Type": "AWS::Serverless::SimpleTable", "Properties": {"PrimaryKey": {"Name": "a"}}},
            "N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "stack.json"}},
        },
    },
    "a.tf.json": {
        "variable": {"v": {"default": "x"}},
        "locals": {"l": "${var.v}"},
        "resource": {
            "aws_dynamodb_table": {
                "t": {
                    "name": "${local.l}-${each.key}",
                    "for_each": "${toset(['a'])}",
                    "hash_key": "p",
                    "billing_mode": "PAY_PER_REQUEST",
                    "attribute": [{"name": "p", "type": "S"}],
                    "ttl": {"enabled": "true", "attribute_name": "t"},
                    "dynamic": {"attribute": {"for_each": ["q"], "content": {"name": "${attribute.value}"}}},
                }
            },
            "aws_cloudwatch_metric_alarm": {
                "a": {"namespace": "AWS/DynamoDB", "dimensions": {"TableName": "x-a"}}
            },
        },
    },
    "items.json": {"Items": [{"artist": {"S": "a"}, "n": {"N": "1"}}, {"artist": "b", "list": [1, None]}]},
    "metrics.json": {
        "MetricDataResults": [
            {
                "Label": "Orders ConsumedReadCapacityUnits",
                "Timestamps": ["2026-11-02T00:00:00+00:00"],
                "Values": [5.0],
            }
        ]
    },
}
TEXTS = {
    "main.tf": TERRAFORM,
    "more.tf": HCL,
    "stack.yaml": YAML,
    "loops.yml": LOOPS,
    "scaled.template": SCALED,
    "serverless.yml": SERVERLESS,
    "items.jsonl": '{"Item": {"artist": {"S": "a"}}}\n{"artist": "b", "n": 1}\n',
    "items.csv": 'artist,year:N,tags:SS\na,1,"[""x""]"\nb,2,\n',
    **{name: json.dumps(document, indent=1) for name, document in DOCUMENTS.items()},
}
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1.5,
        1e308,
        float("inf"),
        10**30,
        10**400,
        "",
        "x",
        [],
        {},
        [[]],
        [None],
        {"": None},
    ),
    *(
        {"Ref": "x"},
        {"Fn::Sub": 1},
        {"S": "a"},
        "\ud83d\ude00",
        "${",
        "${var.v",
        "${self:}",
        "true",
        "9" * 400,
    ),
    *({"Fn::GetAtt": []}, {"Fn::ForEach::x": 1}, {"Fn::If": ["C", 1, 2]}, "${length(", "%{ if }", "a" * 5000),
)

ODD_BYTES = (b"\xff", b"\x00", b"\xed\xa0\x80", b"\r", b"\t", b'"', b"{", b"}")
ODD_NUMBERS = (b"1e999", b"9" * 5000, b"-0", b"0x1")


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, key
        yield from places(node[key])


def changed_document(rng: Random, document: Any) -> Any:
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        found = list(places(document))
        if not found:
            break
        holder, key = rng.choice(found)
        how = rng.randrange(5)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, dict):
            holder[rng.choice(["", "Ref", "x", "Fn::Join", "Type", "Resources", str(key) + "s"])] = (
                holder.pop(key)
            )
        elif how == 2:
            other, place = rng.choice(found)
            holder[key] = copy.deepcopy(other.get(place) if isinstance(other, dict) else ODD[0])
        elif how == 3:
            deep: Any = holder[key]
            for _ in range(rng.choice([3, 200, 3000])):
                deep = [deep] if rng.random() < 0.5 else {"Fn::Not": deep}
            holder[key] = deep
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD))
    return document


def changed_bytes(rng: Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    lines = content.split(b"\n")
    how: list[Callable[[], bytes]] = [
        lambda: content[:at],
        lambda: content[at:],
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode().encode(rng.choice(["utf-16", "utf-32", "utf-16-be"])),
        lambda: content[:at] + rng.choice(ODD_BYTES) + content[at:],
        lambda: b"\n".join([*lines[: at % len(lines)], *lines[at % len(lines) + 1 :]]),
        lambda: b"\n".join([*lines[: at % len(lines)], *lines[at % len(lines) :] * 2]),
        lambda: b"",
        lambda: b"[" * rng.choice([10, 500, 5000]),
        lambda: re.sub(rb"\d+", lambda _: rng.choice(ODD_NUMBERS), content, count=3),
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"{", b"[", 1),
        lambda: content + content,
    ]  # fmt: skip
    return rng.choice(how)()


def changed(rng: Random, name: str) -> bytes:
    if name in DOCUMENTS and rng.random() < 0.6:
        try:
            return json.dumps(changed_document(rng, DOCUMENTS[name]), indent=rng.choice([None, 1])).encode(
                "utf-8", "surrogatepass"
            )
        except (RecursionError, ValueError):
            return b"{" * 3000
    if name in ("stack.yaml", "serverless.yml") and rng.random() < 0.3:
        source = PLAIN_YAML if name == "stack.yaml" else SERVERLESS.replace("!GetAtt ", "")
        try:
            return yaml.safe_dump(changed_document(rng, yaml.safe_load(source)), allow_unicode=True).encode(
                "utf-8", "surrogatepass"
            )
        except (RecursionError, yaml.YAMLError):
            return b"a: [" * 3000
    return changed_bytes(rng, TEXTS[name].encode())


SENTENCE = re.compile(r"[^\n:]+:\d+: [^\n]{3,700}")


def check(directory: Path, name: str, content: bytes) -> int:
    """Reads a file with every reader that could be given it. Returns how many readers have found errors."""
    path = directory / name
    path.write_bytes(content)
    found = read_seed(directory, {"Stage": "a"})
    wrong = bool(found.errors)
    for error in found.errors:
        assert SENTENCE.fullmatch(str(error)), str(error)
    for note in [*found.notes, *(note for table in found.tables for note in table.notes)]:
        assert note and "\n" not in note
    for line in read_items(path, {"artist": "S", "year": "N"}, "music"):
        if not isinstance(line, Line):
            assert SENTENCE.fullmatch(f"{name}:{line.line or 1}: {line.text}"), line.text
            wrong = True
    try:
        find_input(path)
    except (NoInput, InputDamaged, Unavailable) as error:
        assert "\n" not in str(error)
    if name == "metrics.json":
        try:
            read_export(name, content, peak_factor=Fraction(1))
        except PlanError as error:
            assert "\n" not in str(error)
    path.unlink()
    return wrong


def rounds(directory: Path, seed: int, count: int) -> int:
    rng = Random(seed)
    names = sorted(TEXTS)
    wrong = 0
    for number in range(count):
        name = names[number % len(names)]
        content = changed(rng, name)
        try:
            wrong += check(directory, name, content)
        except Exception as error:
            raise AssertionError(f"seed {seed}, number {number}, {name}: {content[:2000]!r}") from error
    return wrong


def test_damaged_files(tmp_path: Path) -> None:
    pytest.importorskip("hcl2")
    assert rounds(tmp_path, 42, 72) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_damaged_files_at_length(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("hcl2")
    assert rounds(tmp_path, 1000 + seed, 1500) > 500


def test_undamaged_files_are_read(tmp_path: Path) -> None:
    """Otherwise the rounds above would only see files that are wrong anyway."""
    pytest.importorskip("hcl2")
    for name in (
        "main.tf",
        "more.tf",
        "stack.yaml",
        "loops.yml",
        "scaled.template",
        "request.json",
        "model.json",
    ):
        assert not any(read_seed_of(tmp_path, name).errors), name


def read_seed_of(directory: Path, name: str) -> Any:
    path = directory / name
    path.write_text(TEXTS[name])
    found = read_seed(directory, {})
    path.unlink()
    return found


def test_a_file_with_an_error_creates_nothing_and_loses_nothing(tmp_path: Path) -> None:
    rng = Random(7)
    database = LocalDatabase()
    client = database.client()
    (tmp_path / "kept.json").write_text(json.dumps({**REQUEST, "TableName": "kept"}))
    database.seed(tmp_path)
    client.put_item(TableName="kept", Item={"artist": {"S": "a"}})
    refused = 0
    for name in ("model.json", "stack.yaml", "requests.json", "described.json") * 5:
        (tmp_path / name).write_bytes(changed(rng, name))
        if read_seed(tmp_path).errors:
            refused += 1
            with pytest.raises(ValueError, match="The seed cannot be used"):
                database.seed(tmp_path)
        (tmp_path / name).unlink()
        assert client.list_tables()["TableNames"] == ["kept"] or not refused
        for table in client.list_tables()["TableNames"]:
            if table != "kept":
                client.delete_table(TableName=table)
    assert refused > 5
    assert client.scan(TableName="kept")["Count"] == 1
