"""Requests to the other AWS services: recognition, reading and rejection in each wire format."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import botocore.session
import cbor2
import orjson
import pytest

from faradisc.errors import SerializationException, ValidationException
from faradisc.protocol.http import HttpRequest
from faradisc.protocol.other_services.cbor_wire import CborWire
from faradisc.protocol.other_services.query_wire import QueryWire
from faradisc.protocol.other_services.recognise import service_request_of
from faradisc.protocol.other_services.services import CLOUDWATCH, SCALING, SERVICES
from faradisc.protocol.other_services.wire import ServiceError
from faradisc.protocol.service_model import Shape, load
from faradisc.protocol.shapes import CheckedShape
from faradisc.services.autoscaling import errors as scaling_errors
from faradisc.services.autoscaling.registry import OPERATIONS as SCALING_OPERATIONS
from faradisc.services.cloudwatch import errors as cloudwatch_errors
from faradisc.services.cloudwatch.registry import OPERATIONS as CLOUDWATCH_OPERATIONS

STRING = Shape("S", "string")
LONG = Shape("L", "long")
PAIR = Shape("P", "structure", members={"Name": STRING, "Value": LONG})
ANY = Shape(
    "A",
    "structure",
    members={
        "Text": STRING,
        "Number": LONG,
        "Double": Shape("D", "double"),
        "Flag": Shape("B", "boolean"),
        "At": Shape("T", "timestamp"),
        "List": Shape("LL", "list", element=PAIR),
        "Map": Shape("M", "map", key=STRING, element=STRING),
        "Inner": PAIR,
    },
)


# --- The table of services ------------------------------------------------------------------------


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_services_agree_with_the_models(service: Any) -> None:
    metadata = botocore.session.Session().get_service_model(service.name).metadata
    assert service.api_version == metadata["apiVersion"]
    assert service.target_prefix == metadata.get("targetPrefix")
    assert service.signing_name == metadata.get("signingName", metadata["endpointPrefix"])
    assert service.xml_namespace == metadata.get("xmlNamespace")


@pytest.mark.parametrize(
    ("service", "offered"), [(SCALING, SCALING_OPERATIONS), (CLOUDWATCH, CLOUDWATCH_OPERATIONS)]
)
def test_every_offered_operation_has_a_shape_that_compiles(service: Any, offered: dict[str, Any]) -> None:
    operations = load(service.name).operations
    for name in offered:
        CheckedShape(operations[name])


def _kinds(module: Any) -> Iterator[type[ServiceError]]:
    for kind in vars(module).values():
        if isinstance(kind, type) and issubclass(kind, ServiceError) and kind.__module__ == module.__name__:
            yield kind


def test_error_classes_agree_with_the_models() -> None:
    for module, service in ((cloudwatch_errors, CLOUDWATCH), (scaling_errors, SCALING)):
        model = botocore.session.Session().get_service_model(service.name)
        exceptions = {shape.name: shape for shape in model.error_shapes}
        for kind in _kinds(module):
            if kind is scaling_errors.ScalingError:
                continue
            shape = exceptions[kind.__name__]
            error = shape.metadata.get("error", {})
            assert kind.status == error.get("httpStatusCode", 400), kind
            assert (kind.query_code or kind.__name__) == error.get("code", kind.__name__), kind
            assert not shape.members or kind.text_member in shape.members or "ResourceId" in shape.members


def test_dynamodb_alone_reads_no_other_model() -> None:
    """Start-up and the first requests of DynamoDB: neither their models nor CBOR nor XML."""
    script = (
        "import sys; from faradisc.protocol import front, service_model as m; m.operations_by_target();"
        "names = ('cbor2', 'xml.etree', 'faradisc.protocol.other_services.answering');"
        "sys.exit(any(name in sys.modules for name in names) or m.load.cache_info().currsize != 2)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# --- Recognising ----------------------------------------------------------------------------------

FORM = {b"content-type": b"application/x-www-form-urlencoded; charset=utf-8"}
CBOR_PATH = b"/service/GraniteServiceVersion20100801/operation/ListMetrics"


def _json(target: bytes, version: bytes = b"1.0") -> dict[bytes, bytes]:
    return {b"content-type": b"application/x-amz-json-" + version, b"x-amz-target": target}


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        (
            HttpRequest("POST", b"/", _json(b"AnyScaleFrontendService.TagResource", b"1.1"), b"{}"),
            ("application-autoscaling", "TagResource", "json"),
        ),
        (
            HttpRequest("POST", b"/", _json(b"GraniteServiceVersion20100801.Nonsense"), b"{}"),
            ("cloudwatch", "Nonsense", "json"),
        ),
        (
            HttpRequest("POST", CBOR_PATH, {b"content-type": b"application/cbor"}, b"\xa0"),
            ("cloudwatch", "ListMetrics", "cbor"),
        ),
        (HttpRequest("POST", CBOR_PATH, {}, b""), ("cloudwatch", "ListMetrics", "cbor")),
        (
            HttpRequest("POST", b"/", FORM, b"Action=ListMetrics&Version=2010-08-01"),
            ("cloudwatch", "", "query"),
        ),
        (HttpRequest("POST", b"/", FORM, b"Action=ListQueues&Version=2012-11-05"), None),
        (HttpRequest("POST", b"/", _json(b"DynamoDB_20120810.GetItem"), b"{}"), None),
        (HttpRequest("POST", b"/", {}, b"{}"), None),
        (HttpRequest("GET", CBOR_PATH, {}, b""), None),
        (HttpRequest("POST", b"/service/Other/operation/ListMetrics", {}, b""), None),
        (HttpRequest("POST", CBOR_PATH, {b"content-type": b"text/html"}, b""), None),
    ],
)
def test_requests_are_recognised_by_target_path_or_form(
    request_: HttpRequest, found: tuple[str, str, str] | None
) -> None:
    asked = service_request_of(request_)
    assert (None if asked is None else (asked.service.name, asked.operation, asked.wire)) == found


# --- CBOR -----------------------------------------------------------------------------------------


def test_cbor_members_have_their_json_form() -> None:
    sent = {
        "Text": "x",
        "Number": -5,
        "Double": 1.5,
        "Flag": True,
        "At": cbor2.CBORTag(1, 1_700_000_000.25),
        "Blob": b"\x01\x02",
        "Nothing": None,
        "List": [{"Name": "a"}],
    }
    read = CborWire().read(cbor2.dumps(sent), ANY)
    assert read == {**sent, "At": 1_700_000_000.25, "Blob": "AQI="}
    assert orjson.loads(orjson.dumps(read)) == read
    assert CborWire().read(b"", ANY) == {}
    indefinite = b"\xbf\x64Text\x7f\x61a\x61b\xff\xff"
    assert CborWire().read(indefinite, ANY) == {"Text": "ab"}


@pytest.mark.parametrize(
    "body",
    [
        b"\xa1",
        b"\xff",
        b"\x80",
        b"\x01",
        b"\xa1\x01\x02",
        b"\xa1\x61k\x9b" + b"\xff" * 8,
        b"\xa1\x61k\x5b" + b"\xff" * 8,
        b"\xa1\x61k\x61\xff",
        b"\xa1\x61k" + b"\x81" * 5000 + b"\x01",
        b"\xa1\x61k\xfb\x7f\xf0" + b"\0" * 6,
        b"\xa1\x61k\xf9\x7e\x00",
        b"\xa1\x61k\x1b" + b"\xff" * 8,
        b"\xa1\x61k\xc2\x58\x20" + b"\xff" * 32,
        b"\xa1\x61k\xc4\x82\x1b" + b"\x7f" + b"\xff" * 7 + b"\x01",
        b"\xa1\x61k\xd8\x1c\x81\xd8\x1d\x00",
        b"\xa1\x61k\xf7",
        b"\xa1\x61k\xf8\x20",
    ],
)
def test_invalid_cbor_is_rejected(body: bytes) -> None:
    with pytest.raises(SerializationException):
        CborWire().read(body, ANY)


def test_cbor_tags_other_than_timestamps_are_rejected() -> None:
    """With shared references a small body decodes to an endless one; no member uses the others."""
    payloads = (b"\x80", b"\x61a", b"\x01", b"\x41a", b"\x82\x01\x02", b"\xa0", b"\x83\x01\x02\x03")
    for tag in (*range(400), 1004, 1040, 43000, 55799, 65535):
        head = cbor2.dumps(cbor2.CBORTag(tag, 0))[:-1]
        for payload in payloads:
            if tag != 1:
                with pytest.raises(SerializationException):
                    CborWire().read(b"\xa1\x61k" + head + payload, ANY)


def test_cbor_answers_have_the_types_of_the_model() -> None:
    operation = load("cloudwatch").operations["GetMetricStatistics"]
    members = {"Label": "m", "Datapoints": [{"Timestamp": 5, "Sum": 3, "ExtendedStatistics": {"p50": 1}}]}
    written = CborWire().write(operation, members, "id")
    point = cbor2.loads(written, semantic_decoders={1: lambda seconds, _: ("at", seconds)})["Datapoints"][0]
    assert point["Timestamp"] == ("at", 5.0)
    assert [type(value) for value in (point["Sum"], point["ExtendedStatistics"]["p50"])] == [float, float]


# --- Forms and XML --------------------------------------------------------------------------------

QUERY = QueryWire("urn:n", "2010-08-01")


@pytest.mark.parametrize(
    ("form", "members"),
    [
        ("", {}),
        (
            "Text=a+b%26c&Number=-5&Double=1.5&Flag=TRUE",
            {"Text": "a b&c", "Number": -5, "Double": 1.5, "Flag": True},
        ),
        ("At=2023-11-15T00%3A00%3A00Z", {"At": 1_700_006_400.0}),
        ("At=2023-11-15T00%3A00%3A00", {"At": 1_700_006_400.0}),
        ("At=1700006400.5", {"At": 1_700_006_400.5}),
        ("Inner.Name=x", {"Inner": {"Name": "x"}}),
        ("List=", {"List": []}),
        (
            "List.member.2.Name=b&List.member.10.Name=c&List.member.1.Name=a",
            {"List": [{"Name": n} for n in "abc"]},
        ),
        ("List=&List.member.1.Value=5", {"List": [{"Value": 5}]}),
        ("Map.entry.1.key=k&Map.entry.1.value=v", {"Map": {"k": "v"}}),
        ("Unknown.member.1=x&Text=y", {"Text": "y"}),
    ],
)
def test_forms_become_members(form: str, members: dict[str, Any]) -> None:
    body = f"Action=X&Version=2010-08-01&{form}".encode()
    assert QUERY.operation_in(body) == "X"
    assert QUERY.read(body, ANY) == members


@pytest.mark.parametrize(
    "form",
    [
        b"\xff",
        b"Number=five",
        b"Number=99999999999999999999",
        b"Number=" + b"9" * 5000,
        b"Double=nan",
        b"Double=1e999",
        b"Flag=perhaps",
        b"At=yesterday",
        b"Text.member.1=x",
        b"Inner=x",
        b"List.member.x.Name=a",
        b"List.member.1=a",
        b"List.member.9999999.Name=a",
        b"List.entry.1.Name=a",
        b"Map.entry.1.key=k",
        b"Inner=x&Inner.Name=y",
        b"Inner.Name=y&Inner=x",
        b".".join([b"a"] * 100) + b"=x",
        b"&".join(b"a%d=" % number for number in range(100_001)),
    ],
)
def test_invalid_forms_are_rejected(form: bytes) -> None:
    with pytest.raises(SerializationException):
        QUERY.read(form, ANY)


def test_xml_answers() -> None:
    operation = load("cloudwatch").operations["GetMetricStatistics"]
    point = {"Timestamp": 1_700_006_400, "Sum": 3, "Unit": "Count", "ExtendedStatistics": {"p50": 1.5}}
    written = QUERY.write(operation, {"Label": "a<b\x01", "Datapoints": [point]}, "id-1")
    root = ElementTree.fromstring(written)
    inside = "{urn:n}GetMetricStatisticsResult/{urn:n}Datapoints/{urn:n}member/{urn:n}"
    assert root.findtext("{urn:n}GetMetricStatisticsResult/{urn:n}Label") == "a<b\ufffd"
    assert root.findtext(inside + "Timestamp") == "2023-11-15T00:00:00.000Z"
    assert root.findtext(inside + "Sum") == "3.0"
    assert root.findtext(inside + "ExtendedStatistics/{urn:n}entry/{urn:n}key") == "p50"
    assert root.findtext("{urn:n}ResponseMetadata/{urn:n}RequestId") == "id-1"


def test_xml_errors() -> None:
    root = ElementTree.fromstring(QUERY.write_error(ValidationException("no <such> thing"), "id-2"))
    error = root.find("{urn:n}Error")
    assert error is not None
    assert [child.text for child in error] == ["Sender", "ValidationError", "no <such> thing"]
    assert root.findtext("{urn:n}RequestId") == "id-2"
