"""Any document for any operation is answered, or rejected with one of the service's errors.

Documents are generated from the operation's plan and altered with arbitrary JSON, or arbitrary. Properties:

1. `check_request` returns, or raises SerializationException or ValidationException.
2. After it returns, the fast walk agrees: only attribute values may still be invalid.
3. The message of a broken constraint has the form of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faradisc.errors import SerializationException, ValidationException
from faradisc.protocol import failures
from faradisc.protocol.executor import Executor
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.protocol.plan import ATTRIBUTE, ShapeNode
from faradisc.protocol.service_model import operations_by_target
from faradisc.protocol.shapes import SHAPE, CheckedShape
from fixtures.searching import examples

NAMES = sorted(operation.name for operation in operations_by_target().values())
MESSAGE = re.compile(
    r"(?s)(?:\d+ validation errors? detected: )?Value .* failed to satisfy constraint: .*"
    r"|The (?:parameter 'TableName'|requestItems parameter) is required .*"
    r"|(?:Table|Index)Name must be at least 3 .*|Invalid table-class parameter provided.*"
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

attributes = st.recursive(
    st.fixed_dictionaries({"S": st.text(max_size=5)})
    | st.fixed_dictionaries({"N": st.sampled_from(["1", "-0", "1e126", "x", ""])})
    | st.fixed_dictionaries({"B": st.sampled_from(["AAAA", "AA==", "AB==", "A", ""])})
    | st.fixed_dictionaries({"SS": st.lists(st.text(max_size=2), max_size=3)})
    | st.fixed_dictionaries({"NS": st.lists(st.sampled_from(["1", "1.0", "2", "x"]), max_size=3)})
    | st.fixed_dictionaries({"BS": st.lists(st.sampled_from(["AAAA", "AA==", "A"]), max_size=3)})
    | st.fixed_dictionaries({"BOOL": st.sampled_from([True, False, "true", None, 1])})
    | st.fixed_dictionaries({"NULL": st.sampled_from([True, False, "no", None])})
    | st.dictionaries(st.sampled_from(["S", "N", "X", "L"]), st.none() | st.just("1"), max_size=3)
    | st.none(),
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=3), inner, max_size=3)})
    ),
    max_leaves=5,
)

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["", "a", "abc", "a;", "arn:aws:x", "x" * 40, "x" * 300]),
    "boolean": st.sampled_from([True, False, "yes", "0"]),
    "integer": st.integers(-2, 2000) | st.floats(-2, 1e30),
    "long": st.integers(-2, 2000) | st.floats(-1e30, 1e30),
    "double": st.floats(allow_nan=False) | st.integers(0, 9),
    "timestamp": st.floats(0, 2e9) | st.integers(0, 9),
    "blob": st.sampled_from(["AAAA", "A"]),
}


def documents(node: ShapeNode) -> st.SearchStrategy[Any]:
    """Generates mostly values that fit the node, sometimes a null or anything else."""
    return st.one_of(*[_fitting(node)] * 12, st.none(), json_values)


def _fitting(node: ShapeNode) -> st.SearchStrategy[Any]:
    if node.kind == ATTRIBUTE:
        return attributes
    if node.kind == "structure":
        required = {name: documents(node.members[name]) for name in node.required}
        optional = {name: documents(node.members[name]) for name in node.members if name not in required}
        return st.fixed_dictionaries(required, optional={**optional, "Unheard": json_values})
    if node.element is not None and node.kind == "list":
        return st.lists(documents(node.element), max_size=3)
    if node.element is not None:
        return st.dictionaries(st.sampled_from(["a", "abc", "a;", ""]), documents(node.element), max_size=3)
    if node.enum:
        return st.sampled_from([*node.enum, "x"])
    return SCALARS[node.kind]


@pytest.mark.parametrize("name", NAMES)
def test_any_document_is_accepted_or_rejected_without_a_bug(
    shape_of: Callable[[str], CheckedShape], name: str
) -> None:
    shape = shape_of(name)

    @examples(25, derandomize=True, database=None)
    @given(document=st.deferred(lambda: _fitting(shape.plan.root)))
    def judge(document: dict[str, Any]) -> None:
        text = orjson.dumps(document)
        request = orjson.loads(text)
        try:
            values_ok = shape.check_request(request, len(text)).values_ok
        except SerializationException as error:
            assert error.message
        except ValidationException as error:
            assert error.message is not None
            assert MESSAGE.fullmatch(error.message), error.message
        else:
            assert shape.fits(request, len(text), {}) != SHAPE
            assert values_ok is (shape.fits(request, len(text), {}) == 0)
            orjson.dumps(request)

    judge()


@examples(150, derandomize=True, database=None)
@given(
    name=st.sampled_from(NAMES),
    body=st.one_of(json_values.map(orjson.dumps), st.binary(max_size=50)),
    headers=st.dictionaries(
        st.sampled_from(
            [b"content-type", b"content-encoding", b"accept-encoding", b"authorization", b"origin", b"host"]
        ),
        st.sampled_from([b"gzip", b"application/json", b"AWS4-x", b"Credential=a/b/c/d/e"])
        | st.binary(max_size=30),
    ),
    target=st.sampled_from([b"/", b"/?X-Amz-Algorithm=1&X-Amz-Date", b"/?\xff&&=%"]) | st.binary(max_size=9),
)
def test_any_request_is_answered_without_a_bug(
    executor_for_any: Any, name: str, body: bytes, headers: dict[bytes, bytes], target: bytes
) -> None:
    executor, drive = executor_for_any
    whole = {
        b"content-type": b"application/x-amz-json-1.0",
        b"x-amz-target": b"DynamoDB_20120810." + name.encode(),
        b"x-amz-date": b"20261120T000000Z",
        b"authorization": b"AWS4-HMAC-SHA256 Credential=A/1/r/d/aws4_request, SignedHeaders=h, Signature=0",
        **headers,
    }
    response: HttpResponse = drive(executor, HttpRequest("POST", target, whole, body))
    assert response.status in (200, 400, 404)


@pytest.fixture(scope="module")
def executor_for_any(drive_front: Callable[..., HttpResponse], make_executor: Callable[[], Executor]) -> Any:
    return make_executor(), drive_front


@pytest.fixture(autouse=True)
def bugs_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "RAISE_UNEXPECTED", True)


@pytest.mark.parametrize("levels", [31, 32, 33, 500, 511, 100_000])
def test_nested_values_of_any_depth_are_answered(
    drive_front: Callable[..., HttpResponse], executor: Any, send: Callable[..., HttpResponse], levels: int
) -> None:
    """An item may have 31 levels; the operation rejects up to 510; beyond, the JSON is not read."""
    value = b'{"L":[' * levels + b'{"S":"x"}' + b"]}" * levels
    response = send("PutItem", b'{"TableName":"tbl","Item":{"a":' + value + b"}}")
    if levels > 510:
        assert orjson.loads(response.body)["message"].startswith("Nesting Levels have exceeded")
    else:
        assert response.status == 200
        assert executor.calls[0].values_ok is (levels <= 31)


def test_deep_documents_elsewhere_are_ignored(send: Callable[..., HttpResponse]) -> None:
    deep = b"[" * 1000 + b"]" * 1000
    assert send("DescribeTable", b'{"TableName":"tbl","Unheard":' + deep + b"}").status == 200
