"""SearchVectors: scores, conditions, projections, errors.

Sources: new-features.md section 13, "SearchVectors"; errors.md section 7.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.operations import search_vectors
from fixtures.answer_scripts import Case, Script, cases
from fixtures.in_process import InProcess
from fixtures.schemas import invalid, item, refused, schema

pytest.importorskip("numpy")

DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")


def numbers(*elements: float | str) -> list[dict[str, str]]:
    return [{"N": str(element)} for element in elements]


def row(p: str, *elements: float | str, **more: Any) -> dict[str, Any]:
    return {**item(p=p, **more), "e": {"L": numbers(*elements)}}


def index(name: str, distance: str, projection: Any = "ALL", search: str = "", size: int = 4) -> Any:
    made: dict[str, Any] = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": size,
        "DistanceFunction": distance,
        "Projection": {"ProjectionType": projection},
    }
    if isinstance(projection, list):
        made["Projection"] = {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection}
    if search:
        made["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": kind}
            for name, _, kind in (part.partition(":") for part in search.split())
        ]
    return made


@pytest.fixture
def table(create: Callable[..., str], dynamodb: Any) -> str:
    """Three indexes without search schema, named for their distances, and two with one."""
    definitions = schema("p:S")["AttributeDefinitions"]
    definitions += [
        {"AttributeName": "h", "AttributeType": "S"},
        {"AttributeName": "f", "AttributeType": "N"},
    ]
    indexes = [index(distance, distance) for distance in DISTANCES]
    indexes.append(index("tenants", "COSINE", "KEYS_ONLY", "h:HASH f:INLINE_FILTER"))
    indexes.append(index("filtered", "EUCLIDEAN", ["x"], "f:INLINE_FILTER h:INLINE_FILTER"))
    name = create(
        "p:S",
        AttributeDefinitions=definitions,
        VectorIndexes=indexes,
        GlobalSecondaryIndexes=schema("p:S", gsi={"global": ("h:S", "", "ALL")})["GlobalSecondaryIndexes"],
    )
    for entry in (
        row("along", 10, 0, 0, 0, h="x", f=1, x="1"),
        row("aslant", "0.7071", "0.7071", 0, 0, h="x", f=2, x="2"),
        row("against", -1, 0, 0, 0, h="y", f=1),
    ):
        dynamodb.put_item(TableName=name, Item=entry)
    return name


@pytest.fixture
def search(dynamodb: Any, table: str) -> Callable[..., Any]:
    """search(index, condition, values..., **members) -> the answer for [1, 0, 0, 0]."""

    def search(name: str, condition: str = "", values: Any = None, **members: Any) -> Any:
        request = {
            "TableName": table,
            "IndexName": name,
            "SearchVector": numbers(1, 0, 0, 0),
            "TopK": 10,
            **members,
        }
        if condition:
            request["SearchConditionExpression"] = condition
        if values:
            request["ExpressionAttributeValues"] = item(**{f":{k}": v for k, v in values.items()})
        return dynamodb.search_vectors(**request)

    return search


def scores(answer: Any) -> list[tuple[str, float]]:
    return [(each["Item"]["p"]["S"], round(each["Score"], 2)) for each in answer["SearchResults"]]


def names(answer: Any) -> list[str]:
    return [name for name, _ in scores(answer)]


def test_scores_and_their_order(search: Callable[..., Any]) -> None:
    """The example of new-features.md."""
    assert scores(search("COSINE")) == [("along", 0.0), ("aslant", 0.29), ("against", 2.0)]
    assert scores(search("EUCLIDEAN")) == [("aslant", 0.77), ("against", 2.0), ("along", 9.0)]
    assert scores(search("DOT_PRODUCT")) == [("along", 10.0), ("aslant", 0.71), ("against", -1.0)]


def test_top_k_bounds_the_results(search: Callable[..., Any]) -> None:
    assert names(search("EUCLIDEAN", TopK=2)) == ["aslant", "against"]
    assert len(search("EUCLIDEAN", TopK=100)["SearchResults"]) == 3


def test_a_condition_filters_by_the_search_schema(search: Callable[..., Any]) -> None:
    assert names(search("tenants", "h = :h", {"h": "x"})) == ["along", "aslant"]
    assert names(search("tenants", ":h = h AND (f = :f)", {"h": "x", "f": 2})) == ["aslant"]
    assert names(search("tenants", "h = :h", {"h": "absent"})) == []
    assert names(search("tenants", "h = :h AND h = :i", {"h": "x", "i": "y"})) == []
    assert names(search("filtered", "f = :f", {"f": 1})) == ["against", "along"]
    assert names(search("filtered", "f = :f AND h = :h", {"f": 1, "h": "x"})) == ["along"]
    assert names(search("filtered", "f = :f", {"f": 99})) == []
    assert len(search("filtered")["SearchResults"]) == 3


def test_returned_attributes_follow_the_projection(search: Callable[..., Any]) -> None:
    def shown(name: str, **members: Any) -> Any:
        return search(name, TopK=1, SearchVector=numbers(10, 0, 0, 0), **members)["SearchResults"][0]["Item"]

    assert shown("EUCLIDEAN") == item(p="along", h="x", f=1, x="1")
    assert shown("filtered") == item(p="along", h="x", f=1, x="1")
    keys = search("tenants", "h = :h", {"h": "x"}, TopK=1)["SearchResults"][0]["Item"]
    assert keys == item(p="along", h="x", f=1)
    assert shown("EUCLIDEAN", ProjectionExpression="x, elsewhere") == item(x="1")
    assert shown("EUCLIDEAN", ProjectionExpression="e, p") == row("along", "10.0", "0.0", "0.0", "0.0")
    assert shown("EUCLIDEAN", ProjectionExpression="e[0]") == {"e": {"L": numbers("10.0")}}
    named = shown("EUCLIDEAN", ProjectionExpression="#e[1]", ExpressionAttributeNames={"#e": "e"})
    assert named == {"e": {"L": numbers("0.0")}}


def test_a_vector_is_shown_with_the_digits_of_32_bits(
    dynamodb: Any, table: str, search: Callable[..., Any]
) -> None:
    dynamodb.put_item(TableName=table, Item=row("fine", "0.1", "-0.333333333333333333", "3E-40", "1E38"))
    best = search("DOT_PRODUCT", SearchVector=numbers(0, 0, 0, 1), ProjectionExpression="e")
    elements = [element["N"] for element in best["SearchResults"][0]["Item"]["e"]["L"]]
    assert elements[:2] == ["0.1", "-0.33333334"]
    assert elements[2].startswith("0.000") and float(elements[2]) == pytest.approx(3e-40, rel=1e-4)
    assert elements[3] == "1" + "0" * 38


@pytest.mark.parametrize("detail", ["TOTAL", "INDEXES"])
def test_the_cost_of_a_search_is_reported_in_bytes(search: Callable[..., Any], detail: str) -> None:
    """The service's numbers vary; only the shape and the least are certain."""
    consumed = search("COSINE", ReturnConsumedCapacity=detail)["ConsumedCapacity"]
    assert consumed.keys() == {"VectorSearchRequestBytes"}
    assert consumed["VectorSearchRequestBytes"] >= 1024
    assert "ConsumedCapacity" not in search("COSINE", ReturnConsumedCapacity="NONE")


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_nearest_of_many_are_exact(create: Callable[..., str], dynamodb: Any, distance: str) -> None:
    """Against sorting all distances in double precision, before and after writes."""
    rng = random.Random(distance)
    table = create("p:S", VectorIndexes=[index("many", distance, "KEYS_ONLY", size=8)])
    vectors: dict[str, list[float]] = {}

    def write(count: int) -> None:
        for _ in range(count):
            p = f"{rng.randrange(300)}"
            vectors[p] = [rng.randrange(-999, 999) / 8 for _ in range(8)]
            dynamodb.put_item(TableName=table, Item=row(p, *vectors[p]))
        for p in rng.sample(sorted(vectors), 20):
            del vectors[p]
            dynamodb.delete_item(TableName=table, Key=item(p=p))

    for count in (250, 30, 30):
        write(count)
        query = [rng.randrange(-999, 999) / 8 for _ in range(8)]
        found = dynamodb.search_vectors(
            TableName=table, IndexName="many", SearchVector=numbers(*query), TopK=20
        )["SearchResults"]
        expected = sorted((_score(distance, query, vector), p) for p, vector in vectors.items())[:20]
        sign = -1 if distance == "DOT_PRODUCT" else 1
        assert [each["Item"]["p"]["S"] for each in found] == [p for _, p in expected]
        assert [each["Score"] for each in found] == pytest.approx([sign * s for s, _ in expected])


def _score(distance: str, one: list[float], two: list[float]) -> float:
    """The smaller the better."""
    product = sum(a * b for a, b in zip(one, two, strict=True))
    if distance == "DOT_PRODUCT":
        return -product
    if distance == "EUCLIDEAN":
        return float(sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) ** 0.5)
    return float(1 - product / (sum(a * a for a in one) * sum(b * b for b in two)) ** 0.5)


@pytest.mark.parametrize("scale", ["1E-30", "1E30", "1E38", "1E-44"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_very_large_and_very_small_vectors_are_ranked(
    create: Callable[..., str], dynamodb: Any, distance: str, scale: str
) -> None:
    """Their squares do not fit 32 bits."""
    table = create("p:S", VectorIndexes=[index("many", distance, size=2)])
    for p, digit in (("a", "1"), ("b", "2"), ("c", "3")):
        dynamodb.put_item(TableName=table, Item=row(p, digit + scale[1:], 0))
    dynamodb.put_item(TableName=table, Item=row("zero", 0, 0))
    found = dynamodb.search_vectors(
        TableName=table, IndexName="many", SearchVector=numbers("3" + scale[1:], 0), TopK=4
    )
    ranked = names(found)
    if distance == "COSINE":
        assert ranked[-1] == "zero" and found["SearchResults"][-1]["Score"] == 1.0
    else:
        assert ranked == ["c", "b", "a", "zero"]


# --- Rejections ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases(Path(__file__).parent / "vector_search.script"))
def test_invalid_searches_are_refused(raw: InProcess, case: Case) -> None:
    made = schema("p:S", gsi={"global": ("h:S", "", "ALL")})
    made["AttributeDefinitions"] += [{"AttributeName": "f", "AttributeType": "N"}]
    searched = {"all": "", "tenants": "h:HASH f:INLINE_FILTER", "filtered": "f:INLINE_FILTER h:INLINE_FILTER"}
    indexes = [index(name, "COSINE", search=search, size=2) for name, search in searched.items()]
    raw.call("CreateTable", TableName="table", VectorIndexes=indexes, **made)
    raw.clock.advance(1)  # type: ignore[attr-defined]
    raw.call("PutItem", TableName="table", Item=row("a", 1, 0, h="x", f=1))
    Script(raw).run(case)


def test_a_vector_has_at_most_4096_elements(search: Callable[..., Any]) -> None:
    limit = "failed to satisfy constraint: Member must have length less than or equal to 4096"
    with invalid(f"1 validation error detected: Value at 'SearchVector' {limit}"):
        search("COSINE", SearchVector=numbers(*[1] * 4097))


def test_a_number_below_the_range_is_zero_in_a_query(search: Callable[..., Any]) -> None:
    tiny = [*numbers(1, 0, 0), {"N": "1e-400"}]
    assert scores(search("EUCLIDEAN", SearchVector=tiny)) == scores(search("EUCLIDEAN"))


BODY = {"TableName": "table", "IndexName": "index", "SearchVector": numbers(1), "TopK": 1}


@pytest.mark.parametrize("name", BODY)
def test_an_absent_member_is_reported_at_the_end_of_the_object(raw: InProcess, name: str) -> None:
    body = orjson.dumps({member: value for member, value in BODY.items() if member != name})
    answer = raw.post("SearchVectors", body + b" \n")
    assert orjson.loads(answer.body) == {
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": f"missing field `{name}` at line 1 column {len(body)}",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TableName", "a string"),
        ("IndexName", "a string"),
        ("SearchVector", "a sequence"),
        ("TopK", "i32"),
    ],
)
def test_a_null_is_reported_at_its_end(raw: InProcess, name: str, expected: str) -> None:
    lines = [
        f'"{member}": {"null" if member == name else orjson.dumps(BODY[member]).decode()}' for member in BODY
    ]
    line = list(BODY).index(name) + 2
    body = "{\n" + ",\n".join(lines) + "}"
    answer = raw.post("SearchVectors", body.encode())
    assert orjson.loads(answer.body) == {
        "__type": "com.amazon.coral.service#SerializationException",
        "message": f"invalid type: null, expected {expected} at line {line} column {len(lines[line - 2])}",
    }


def test_search_of_missing_table_raises_resource_not_found(search: Callable[..., Any]) -> None:
    with refused("ResourceNotFoundException", "Requested resource not found"):
        search("COSINE", TableName="none")


def test_without_numpy_a_search_names_the_missing_library(
    in_process_only: None, search: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_vectors, "find_spec", lambda name: None)
    with invalid("SearchVectors needs NumPy, which is not installed: pip install 'faradisc[vectors]'"):
        search("COSINE")


def test_numpy_is_not_loaded_before_the_first_search() -> None:
    program = "import faradisc.local, faradisc.server, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_query_and_scan_do_not_read_vector_indexes(dynamodb: Any, table: str) -> None:
    with invalid("Query operation not supported on this index type."):
        dynamodb.query(
            TableName=table,
            IndexName="tenants",
            KeyConditionExpression="h = :h",
            ExpressionAttributeValues=item(**{":h": "x"}),
        )
    with invalid("Scan operation not supported on this index type."):
        dynamodb.scan(TableName=table, IndexName="tenants")
    with invalid():
        dynamodb.execute_statement(Statement=f'SELECT * FROM "{table}"."tenants" WHERE h = \'x\'')
