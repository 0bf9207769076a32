"""The service's shapes, from the official service model.

`models/` has the facts of the model that checks and answers need: names, types, bounds, patterns, enums and
errors, a file a service. `tools/service_models.py` writes them from the newest botocore, and a test holds
them against the installed one. So any botocore that a client needs can be installed beside Faradisc, and the
server needs none.

The files are read at the first request and turned into slotted `Shape` objects. Shapes are the model's. The
service's differences are in `overrides.py`, and `plan.py` combines both.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from faradisc.errors import UnknownOperationException
from faradisc.records import dataclass, field

SERVICES = ("dynamodb", "dynamodbstreams")
OTHER_SERVICES = ("application-autoscaling", "cloudwatch", "iam", "sts")
"""The other AWS services (protocol/other_services). Models are read at the first request."""
_MODELS = Path(__file__).parent / "models"


@dataclass(slots=True, eq=False)
class Shape:
    """One type of the model. AttributeValue contains itself, so shapes are compared by identity.

    `minimum` and `maximum` bound a length (string, blob, list, map) or a value (integer, long), inclusive.
    """

    name: str
    type: str
    """structure, list, map, string, boolean, integer, long, double, float, timestamp or blob."""
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    members: dict[str, Shape] = field(default_factory=dict)
    """Of a structure, in the model's order."""
    key: Shape | None = None
    element: Shape | None = None
    """The member of a list, the value of a map."""


@dataclass(slots=True, eq=False)
class ModelOperation:
    """One action of one service."""

    service: str
    name: str
    target: bytes
    """Its value of X-Amz-Target."""
    input: Shape
    output: Shape
    errors: tuple[Shape, ...]
    """Its exceptions in the model."""
    has_output: bool
    """Whether the model has an output, which may be without members."""


@dataclass(slots=True, eq=False)
class ServiceModel:
    service: str
    operations: dict[str, ModelOperation]
    exceptions: dict[str, Shape]
    """Every exception, by its name on the wire."""


@cache
def load(service: str) -> ServiceModel:
    """Returns one service's model. Takes a few milliseconds the first time."""
    document = read_model(service)
    shapes = {name: _bare_shape(name, raw) for name, raw in document["shapes"].items()}
    for name, raw in document["shapes"].items():
        _link(shapes[name], raw, shapes)
    prefix = document["metadata"].get("targetPrefix", "")  # the query protocol has none
    operations = {
        name: ModelOperation(
            service=service,
            name=name,
            target=f"{prefix}.{name}".encode(),
            input=_io_shape(raw, "input", shapes),
            output=_io_shape(raw, "output", shapes),
            errors=tuple(shapes[error["shape"]] for error in raw.get("errors", ())),
            has_output="output" in raw,
        )
        for name, raw in document["operations"].items()
    }
    exceptions = {name: shapes[name] for name, raw in document["shapes"].items() if raw.get("exception")}
    return ServiceModel(service, operations, exceptions)


@cache
def operations_by_target() -> dict[bytes, ModelOperation]:
    """Returns every operation of both services, by X-Amz-Target."""
    return {
        operation.target: operation for service in SERVICES for operation in load(service).operations.values()
    }


def operation_of(target: bytes | None) -> ModelOperation:
    """Returns the operation of an X-Amz-Target, which is `<prefix of the service>.<Operation>` exactly.

    Raises UnknownOperationException, without text (errors.md section 5), if it is missing or unknown.
    """
    operation = operations_by_target().get(target) if target is not None else None
    if operation is None:
        raise UnknownOperationException
    return operation


def operation_named(name: str) -> ModelOperation | None:
    """Returns the operation of that name; the two services have no name in common."""
    for service in SERVICES:
        operation = load(service).operations.get(name)
        if operation is not None:
            return operation
    return None


def read_model(service: str) -> dict[str, Any]:
    """Returns the facts of one service's model, laid out as botocore's file is."""
    document: dict[str, Any] = orjson.loads((_MODELS / f"{service}.json").read_bytes())
    return document


def _bare_shape(name: str, raw: dict[str, Any]) -> Shape:
    return Shape(
        name=name,
        type=raw["type"],
        minimum=raw.get("min"),
        maximum=raw.get("max"),
        pattern=raw.get("pattern"),
        enum=tuple(raw.get("enum", ())),
        required=tuple(raw.get("required", ())),
    )


def _link(shape: Shape, raw: dict[str, Any], shapes: dict[str, Shape]) -> None:
    if shape.type == "structure":
        shape.members = {name: shapes[member["shape"]] for name, member in raw.get("members", {}).items()}
    elif shape.type == "list":
        shape.element = shapes[raw["member"]["shape"]]
    elif shape.type == "map":
        shape.key = shapes[raw["key"]["shape"]]
        shape.element = shapes[raw["value"]["shape"]]


def _io_shape(raw: dict[str, Any], side: str, shapes: dict[str, Shape]) -> Shape:
    """Returns the input or output of an operation; an empty structure where the model has none."""
    if side in raw:
        return shapes[raw[side]["shape"]]
    return Shape(name=f"{raw['name']}{side.capitalize()}", type="structure")
