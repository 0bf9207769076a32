"""Items read from files: their types, and the lines of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faradisc.tools.readers.items import read_items
from faradisc.tools.readers.seed import Line

KEYS = {"p": "S", "n": "N", "b": "B"}


def read(directory: Path, name: str, text: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Returns (line, item) of the valid items, and errors with their lines."""
    (directory / name).write_text(text)
    found = list(read_items(directory / name, KEYS))
    good = [(each.number, each.item) for each in found if isinstance(each, Line)]
    return good, [f"{each.line}: {each.text}" for each in found if not isinstance(each, Line)]


@pytest.mark.parametrize(
    ("plain", "typed"),
    [
        ('"x"', {"S": "x"}),
        ("12345678901234567890123456789.12345678", {"N": "12345678901234567890123456789.12345678"}),
        ("1e3", {"N": "1e3"}),
        ("true", {"BOOL": True}),
        ("null", {"NULL": True}),
        ('[1, "a", []]', {"L": [{"N": "1"}, {"S": "a"}, {"L": []}]}),
        ('{"S": 1, "x": {"S": "y"}}', {"M": {"S": {"N": "1"}, "x": {"M": {"S": {"S": "y"}}}}}),
    ],
)
def test_plain_values(tmp_path: Path, plain: str, typed: dict[str, Any]) -> None:
    assert read(tmp_path, "t.json", f'[{{"p": "k", "v": {plain}}}]') == (
        [(1, {"p": {"S": "k"}, "v": typed})],
        [],
    )


def test_dynamodb_json_stays_as_it_is(tmp_path: Path) -> None:
    text = '[{"p": {"S": "k"}, "v": {"M": {"x": {"N": "1"}}}, "bare": {"N": 1.50}}]'
    assert read(tmp_path, "t.json", text) == (
        [(1, {"p": {"S": "k"}, "v": {"M": {"x": {"N": "1"}}}, "bare": {"N": "1.50"}})],
        [],
    )


def test_key_attributes_are_what_the_table_says(tmp_path: Path) -> None:
    good, _ = read(tmp_path, "t.json", '[{"p": "1", "n": "12", "b": "AAE="}, {"p": "2", "n": 3.5}]')
    assert [item for _, item in good] == [
        {"p": {"S": "1"}, "n": {"N": "12"}, "b": {"B": "AAE="}},
        {"p": {"S": "2"}, "n": {"N": "3.5"}},
    ]


def test_lines_of_a_list(tmp_path: Path) -> None:
    text = '[\n\n{"p": "a",\n "v": 1},\n  5, {"p": 7},\n{"p": "b"}\n]\n'
    assert read(tmp_path, "t.json", text) == (
        [(3, {"p": {"S": "a"}, "v": {"N": "1"}}), (6, {"p": {"S": "b"}})],
        ["5: an item must be an object.", "5: p is a key attribute of type S, not a number."],
    )


def test_what_scan_answers(tmp_path: Path) -> None:
    good, wrong = read(tmp_path, "t.json", '{\n"Count": 1,\n"Items": [\n{"p": {"S": "a"}}\n]}')
    assert (good, wrong) == ([(4, {"p": {"S": "a"}})], [])


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("t.json", "", "1: the file has no list of items."),
        ("t.json", '{"p": 1}', "1: the file has no list of items."),
        (
            "t.json",
            '[{"p": "a"}\n{"p": "b"}]',
            "2: not valid JSON: a comma or the end of the list is missing",
        ),
        ("t.json", '[\n{"p": }]', "2: not valid JSON: Expecting value"),
        ("t.json", '[{"p": "a"},\n', "2: not valid JSON: Expecting value"),
        ("t.json", '[{"p": "a", "v": NaN}]', "1: NaN and Infinity are not valid numbers."),
        ("t.json", '[{"p": ["a"]}]', "1: p is a key attribute and must have the type S."),
        ("t.jsonl", '{"p": "a"}\n\n{"p": \n', "3: not valid JSON: Expecting value"),
        ("t.jsonl", "[]\n", "1: an item must be an object."),
        ("t.csv", "", "1: the header with the attribute names is missing."),
        ("t.csv", "p,p\n", "1: the header has an empty name, or one twice."),
        ("t.csv", 'p,v\n"a\n', "2: not valid CSV: unexpected end of data"),
        ("t.csv", 'p,v\n"a\nb",1\nc\n', "4: the row has 1 fields, the header 2."),
        ("t.csv", "p,v:BOOL\na,yes\n", "2: v must be true or false."),
        ("t.csv", "p,v:L\na,{}\n", "2: v must be a list."),
        ("t.csv", "p,v:M\na,{\n", "2: v must be JSON: "),
        ("t.csv", 'p,v:SS\na,"[[]]"\n', "2: v must be a list of strings or numbers."),
    ],
)
def test_invalid_item_is_an_error_with_its_line(tmp_path: Path, name: str, text: str, error: str) -> None:
    _, wrong = read(tmp_path, name, text)
    assert [each[: len(error)] for each in wrong] == [error]


def test_json_lines_continue_after_an_error(tmp_path: Path) -> None:
    good, wrong = read(tmp_path, "t.jsonl", '{"p": "a"}\n{\n{"Item": {"p": {"S": "b"}}}\n')
    assert good == [(1, {"p": {"S": "a"}}), (3, {"p": {"S": "b"}})]
    assert [each.partition(":")[0] for each in wrong] == ["2"]


def test_csv(tmp_path: Path) -> None:
    text = (
        "﻿p,n,text,flag:BOOL,list:L,set:NS,map:M,odd:name\r\n"
        'a,1,"x, ""y""\nz",TRUE,"[1,""b""]","[1,2]","{""k"":null}",o\r\n'
        "\r\nb,,,,,,,\r\n"
    )
    good, wrong = read(tmp_path, "t.csv", text)
    assert wrong == []
    assert good == [
        (
            2,
            {
                "p": {"S": "a"},
                "n": {"N": "1"},
                "text": {"S": 'x, "y"\nz'},
                "flag": {"BOOL": True},
                "list": {"L": [{"N": "1"}, {"S": "b"}]},
                "set": {"NS": ["1", "2"]},
                "map": {"M": {"k": {"NULL": True}}},
                "odd:name": {"S": "o"},
            },
        ),
        (5, {"p": {"S": "b"}}),
    ]


def test_a_file_that_is_no_utf_8_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"\xff")
    for name, text in (("t.json", "the file is not UTF-8"), ("none.csv", "the file cannot be read")):
        (error,) = read_items(tmp_path / name, KEYS)
        assert not isinstance(error, Line)
        assert error.text.startswith(text)
