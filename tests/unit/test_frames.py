"""Tables as Arrow batches: all types of DynamoDB, exact numbers, columns of several types, files, pages."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from faradisc import frames
from faradisc.cli.main import cli
from faradisc.frames import reading
from faradisc.local import LocalDatabase

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'faradisc[frames]'")

KEY = {"p": {"S": "a"}}
ITEMS: list[dict[str, Any]] = [
    {
        "p": {"S": "a"},
        "n": {"N": "1"},
        "price": {"N": "12.50"},
        "ok": {"BOOL": True},
        "b": {"B": b"\x00\xff"},
        "ss": {"SS": ["x", "y"]},
        "ns": {"NS": ["1", "2.5"]},
        "bs": {"BS": [b"a"]},
        "l": {"L": [{"N": "1"}, {"S": "x"}, {"NS": ["3"]}]},
        "m": {"M": {"x": {"N": "0.10000000000000000000000000000000000001"}, "b": {"B": b"a"}}},
        "mixed": {"N": "1"},
        "none": {"NULL": True},
    },
    {"p": {"S": "b"}, "n": {"N": "-20"}, "mixed": {"S": "x"}, "ok": {"NULL": True}},
    {"p": {"S": "c"}, "late": {"S": "z"}},
]


@pytest.fixture
def database() -> LocalDatabase:
    made = LocalDatabase()
    client = made.client()
    client.create_table(
        TableName="tab",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
    )
    for item in ITEMS:
        client.put_item(TableName="tab", Item=item)
    return made


def rows(table: Any) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["p"])


def test_every_type(database: LocalDatabase) -> None:
    with pytest.warns(frames.FrameWarning, match="mixed has values of N, S: the column is text"):
        table = frames.table("tab", source=database)
    assert table.column_names[0] == "p"
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "p": "string",
        "n": "decimal128(38, 0)",
        "price": "decimal128(38, 1)",
        "ok": "bool",
        "b": "binary",
        "ss": "list<item: string>",
        "ns": "list<item: decimal128(38, 1)>",
        "bs": "list<item: binary>",
        "l": "string",
        "m": "string",
        "mixed": "string",
        "none": "null",
        "late": "string",
    }
    first, second, third = rows(table)
    assert (first["n"], second["n"], third["n"]) == (Decimal(1), Decimal(-20), None)
    assert (first["price"], first["b"], first["ss"]) == (Decimal("12.5"), b"\x00\xff", ["x", "y"])
    assert sorted(first["ns"]) == [Decimal(1), Decimal("2.5")]
    assert first["l"] == '[{"N":"1"},{"S":"x"},{"NS":["3"]}]'
    assert '"0.10000000000000000000000000000000000001"' in first["m"]
    assert (first["mixed"], second["mixed"]) == ('{"N":"1"}', '{"S":"x"}')
    assert (first["late"], third["late"], second["ok"], first["none"]) == (None, "z", None, None)


def test_plain_json_keeps_digits(database: LocalDatabase) -> None:
    with pytest.warns(frames.FrameWarning):
        first, second, _ = rows(frames.table("tab", source=database.client(), nested="plain"))
    assert first["l"] == '[1,"x",[3]]'
    assert '"x":0.10000000000000000000000000000000000001' in first["m"]
    assert (first["mixed"], second["mixed"]) == ("1", '"x"')


@pytest.mark.parametrize(
    ("numbers", "type_"),
    [
        (["1e20", "0.5"], "decimal128(38, 1)"),
        (["1" * 38, "0." + "1" * 38], "decimal256(76, 38)"),
        (["1e100", "1e-100"], "string"),
    ],
)
def test_numbers_are_exact(database: LocalDatabase, numbers: list[str], type_: str) -> None:
    client = database.client()
    for at, number in enumerate(numbers):
        client.put_item(TableName="tab", Item={"p": {"S": "abc"[at]}, "n": {"N": number}})
    client.delete_item(TableName="tab", Key={"p": {"S": "c"}})
    if type_ == "string":
        with pytest.warns(frames.FrameWarning, match="n has numbers of"):
            table = frames.table("tab", source=database)
    else:
        table = frames.table("tab", source=database)
    assert str(table.schema.field("n").type) == type_
    assert [Decimal(row["n"]) for row in rows(table)] == [Decimal(number) for number in numbers]


def test_doubles_say_what_they_lose(database: LocalDatabase) -> None:
    client = database.client()
    for at, number in enumerate(["0.1234567890123456789", "9007199254740993", "4"]):
        client.put_item(TableName="tab", Item={"p": {"S": "abc"[at]}, "n": {"N": number}})
    with pytest.warns(frames.FrameWarning, match="2 numbers of n have more digits than a double"):
        table = frames.table("tab", source=database, numbers="double")
    assert str(table.schema.field("n").type) == "double"
    assert rows(table)[2]["n"] == 4.0


def test_pages_are_batches_of_one_schema(database: LocalDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of more than the memory go to a file, and come back in bounded batches."""
    monkeypatch.setattr(reading, "MEMORY_BYTES", 10_000)
    client = database.client()
    for number in range(60):
        item = {"p": {"S": f"x{number}"}, "text": {"S": "y" * 100_000}}
        client.put_item(TableName="tab", Item=item | ({"n": {"N": "1.25"}} if number % 7 else {}))
    client.delete_item(TableName="tab", Key=KEY)
    client.delete_item(TableName="tab", Key={"p": {"S": "b"}})
    reader = frames.batches("tab", source=database)
    found = list(reader)
    assert len(found) > 3
    assert all(batch.schema == reader.schema and batch.num_rows < 20 for batch in found)
    assert sum(batch.num_rows for batch in found) == 61


def test_an_empty_table_has_its_keys(database: LocalDatabase) -> None:
    for letter in "abc":
        database.client().delete_item(TableName="tab", Key={"p": {"S": letter}})
    table = frames.table("tab", source=database)
    assert (table.num_rows, table.column_names) == (0, ["p"])


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files(tmp_path: Path, form: str) -> None:
    with LocalDatabase(tmp_path / "data") as made:
        made.client().create_table(
            TableName="tab",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        )
        for item in ITEMS[1:]:
            made.client().put_item(TableName="tab", Item=item)
    arguments = ["export", "tab", str(tmp_path), f"--{form}", "--data-dir", str(tmp_path / "data")]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert (result.exit_code, "2 items" in result.output) == (0, True)
    path = tmp_path / f"tab.{form}"
    if form == "parquet":
        import pyarrow.parquet  # noqa: PLC0415

        table = pyarrow.parquet.read_table(path)
    else:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
    assert [row["n"] for row in rows(table)] == [Decimal(-20), None]
    assert not list(tmp_path.glob("*.new"))


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(frames.FramesUnavailable, match=r"pip install 'faradisc\[frames\]'"):
        frames.batches("tab")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_libraries(database: LocalDatabase, library: str) -> None:
    pytest.importorskip(library)
    database.client().delete_item(TableName="tab", Key=KEY)
    made = getattr(frames, library)("tab", source=database)
    if library == "duckdb":
        assert made.filter("n < 0").fetchall()[0][0] == "b"
    else:
        assert sorted(made["p"]) == ["b", "c"]
