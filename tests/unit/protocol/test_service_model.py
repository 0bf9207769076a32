"""The service model, the overrides of it, and the error classes, which must agree with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faradisc import errors
from faradisc.errors import UnknownOperationException
from faradisc.protocol import overrides, service_model
from faradisc.protocol.service_model import operation_of

ROOT = Path(__file__).resolve().parents[3]


def test_counts_and_targets() -> None:
    assert len(service_model.load("dynamodb").operations) >= 62
    assert len(service_model.load("dynamodbstreams").operations) == 4
    assert operation_of(b"DynamoDB_20120810.GetItem").name == "GetItem"
    assert operation_of(b"DynamoDBStreams_20120810.GetRecords").service == "dynamodbstreams"


@pytest.mark.parametrize(
    "target",
    [
        None,
        b"",
        b"GetItem",
        b"DynamoDB_20120810",
        b"DynamoDB_20120810.",
        b"DynamoDB_20120810.getItem",
        b"DynamoDB_20120810.GetItem.x",
        b"DynamoDB_20111205.GetItem",
        b"DynamoDB_20120810.ListStreams",
        b"DynamoDBStreams_20120810.GetItem",
        b"\xff",
    ],
)
def test_unknown_targets_are_rejected_without_text(target: bytes | None) -> None:
    with pytest.raises(UnknownOperationException) as caught:
        operation_of(target)
    assert caught.value.body() == {"__type": "com.amazon.coral.service#UnknownOperationException"}


def test_shapes_are_linked() -> None:
    get_item = service_model.load("dynamodb").operations["GetItem"]
    value = get_item.input.members["Key"].element
    assert value is not None
    assert value.name == "AttributeValue"
    assert value.members["M"].element is value
    assert get_item.input.required == ("TableName", "Key")
    assert "ResourceNotFoundException" in [shape.name for shape in get_item.errors]


def test_reading_it_does_not_import_botocore() -> None:
    """Start-up: botocore costs hundreds of milliseconds. A fresh interpreter, because tests import it."""
    script = (
        "import sys; from faradisc.protocol import service_model as m;"
        "m.operations_by_target(); sys.exit('botocore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_files_have_the_facts_of_the_newest_model() -> None:
    """The environment of the tests has the newest botocore (constraints.txt)."""
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / "service_models.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "\n"), run


def _structures() -> dict[str, service_model.Shape]:
    found: dict[str, service_model.Shape] = {}

    def walk(shape: service_model.Shape) -> None:
        if shape.name in found:
            return
        found[shape.name] = shape
        for inner in (*shape.members.values(), shape.key, shape.element):
            if inner is not None:
                walk(inner)

    for operation in service_model.operations_by_target().values():
        walk(operation.input)
    return found


def test_every_override_names_something_of_the_model() -> None:
    shapes = _structures()
    operations = {operation.name: operation for operation in service_model.operations_by_target().values()}
    for name, rules in overrides.RULES.items():
        staged = {member for stage in rules.stages for member in stage.members}
        members = {*staged, *rules.absent, *rules.texts, rules.older_if_wrong}
        members |= set(rules.lengths)
        assert members - {None} <= set(operations[name].input.members)
        inside = {member for shape in shapes.values() for member in shape.members}
        assert set(rules.order) <= inside
    for structure, member in overrides.MEMBERS:
        shape = shapes[structure]
        assert member in shape.members or (member == "member" and shape.element), (structure, member)
    for name, order in overrides.ENUM_ORDER.items():
        assert set(order) == set(shapes[name].enum), name


def test_every_pattern_of_the_inputs_compiles() -> None:
    patterns = [shape.pattern for shape in _structures().values() if shape.pattern]
    assert len(patterns) >= 10
    for pattern in patterns:
        overrides.compile_pattern(pattern)
    assert overrides.compile_pattern(r"\p{Print}+").fullmatch("a b~")
    assert not overrides.compile_pattern(r"\p{Print}+").fullmatch("é")


def _modelled(base: type[errors.ApiError]) -> list[type[errors.ApiError]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_modelled(child))]


@pytest.mark.parametrize("kind", _modelled(errors.ModelledError), ids=lambda kind: kind.__name__)
def test_error_classes_agree_with_the_model(kind: type[errors.ApiError]) -> None:
    """Name, text member and status; `InternalServerError` is the model's only error of the server."""
    shapes = [
        shape
        for service in service_model.SERVICES
        if (shape := service_model.load(service).exceptions.get(kind.wire_name())) is not None
    ]
    assert shapes, f"{kind.wire_name()} is no exception of the model"
    assert kind.text_member in shapes[0].members
    assert kind.status == (500 if kind.wire_name() == "InternalServerError" else 400)
