"""The short way of an import against the careful one.

What it proves: whatever a stencil makes of a line, the careful way makes too, to the byte: key, record, size
and index entries; for lines like the one it was cut from with any values, and for lines that somebody has
damaged on purpose. And that ordinary lines do go the short way, whatever their types.
"""

from __future__ import annotations

import gc
import random
import weakref
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faradisc.engine.exchange import json_lines, row_stencils, stencils
from faradisc.engine.exchange.importing import pages_of
from faradisc.engine.exchange.reading import Record
from faradisc.engine.exchange.row_stencils import RowShortcut, shortcut_into
from faradisc.engine.tables.loading import LoadedRow, Rows
from faradisc.engine.tables.table import Table
from faradisc.model.values.checks import canonicalise
from fixtures.in_process import InProcess
from fixtures.schemas import schema

TABLES = {
    "plain": schema("p:S"),
    "sorted": schema("p:S", "r:S", gsi={"all": ("g:S", "n:N", "ALL"), "keys": ("r:S", "", "KEYS_ONLY")}),
    "local": schema("p:S", "r:S", lsi={"all": ("n:N", "ALL")}),
    "numbers": schema("n:N", "b:B", gsi={"some": ("g:S", "b:B", ["s", "m", "l"]), "all": ("b:B", "", "ALL")}),
    "several": schema("p:S", gsi={"wide": ("g:S n:N", "r:S b:B", "ALL")}),
}
KEYS = {"p": "S", "r": "S", "g": "S", "n": "N", "b": "B"}


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    process = InProcess()
    for name, definition in TABLES.items():
        process.call("CreateTable", TableName=name, **definition)
    catalog = process.local._open()._backend.catalog
    yield {name: catalog.for_data(name, "us-east-1", "000000000000") for name in TABLES}
    process.close()


def rows_of(
    records: Iterable[Record | Rows], table: Table, refused: Callable[[int, str], None]
) -> list[LoadedRow]:
    return [row for page in pages_of(records, table, refused) for row in page]


def careful(line: bytes, table: Table) -> LoadedRow | None:
    refused: list[str] = []
    rows = rows_of(
        (each for each in json_lines.records([line + b"\n"]) if each is not None),
        table,
        lambda _, reason: refused.append(reason),
    )
    assert len(rows) + len(refused) <= 1
    return rows[0] if rows else None


def normal(row: LoadedRow) -> LoadedRow:
    return *row[:3], tuple(row[3])


def short_way(shortcut: RowShortcut, line: bytes) -> LoadedRow | None:
    """The row that a line becomes by itself; None when it is left for the careful way."""
    made = [each for run in shortcut(line + b"\n") for each in run]
    if isinstance(made[0], bytes):
        assert made == [line]
        return None
    (row,) = made
    return row


def assert_same(shortcut: RowShortcut, table: Table, line: bytes) -> bool:
    """Whether the line went the short way; if so to where the careful way leads."""
    short = short_way(shortcut, line)
    if short is None:
        return False
    long = careful(line, table)
    assert long is not None
    assert normal(short) == normal(long)
    return True


def line_of(item: dict[str, Any]) -> bytes:
    return orjson.dumps({"Item": item})


# --- Lines of one form with any values -------------------------------------------------------------

TEXTS = (
    *(
        "",
        "x",
        "\x00",
        "\x1f",
        "\x7f",
        "\\",
        '"',
        "/",
        "\n",
        "\t",
        "\b",
        "\f",
        "\\\\n",
        '\\"',
        "\u2028",
        "é",
        "\U0001d11e",
    ),
    *("%", "%b", "{}", "[]", ",", '","', '"},"', "a" * 1024, "a" * 1025, "a" * 2048, "a" * 2049, "ü" * 512),
    *("ü" * 513, "ü" * 1024, "ü" * 1025, "a" * 409_600),
)
NUMBERS = (
    *(
        "0",
        "-0",
        "1",
        "-1",
        "00",
        "01",
        "-01",
        "0.5",
        "0.50",
        "-0.05",
        "-0.0",
        "0.0",
        "1e3",
        "10",
        "100",
        "1.0",
    ),
    *(
        "1.5",
        "1.50",
        "123456789012345678",
        "1234567890123456789",
        "1" * 38,
        "1" * 39,
        "9" * 18 + "." + "1" * 15,
    ),
    *(
        "9" * 18 + "." + "1" * 16,
        "0." + "0" * 15 + "1",
        "0." + "0" * 16 + "1",
        "1E-130",
        "1e126",
        "",
        "x",
        "+1",
    ),
    *(".5", "5.", "1_0", " 1", "1 ", "--1", "-", "1.2.3", "\N{ARABIC-INDIC DIGIT ONE}"),
)
BLOBS = (
    *(
        "",
        "AA==",
        "AQ==",
        "AB==",
        "AAA=",
        "AAB=",
        "AAAA",
        "A",
        "AA",
        "AAA",
        "!!!!",
        "=AAA",
        "AA=A",
        "A===",
        "AA= ",
    ),
    *("AAAA====", "AAAA=", "AA==AA==", "AAAAA==", "+/+/", "-_-_"),
    *(b64encode(bytes(size)).decode() for size in (1022, 1023, 1024, 1025, 2046, 2047, 2048, 2049)),
)
ODD: dict[str, tuple[Any, ...]] = {
    "S": (*TEXTS, 1, None),
    "N": (*NUMBERS, 1, None),
    "B": (*BLOBS, 1),
    "BOOL": (True, False, None, "true", 1),
    "NULL": (True, False, None),
    "SS": (
        [],
        ["a"],
        ["b", "a"],
        ["a", "a"],
        [""],
        ["", "a"],
        *([text] for text in TEXTS),
        ["é", "z"],
        "a",
        [1],
    ),
    "NS": ([], ["1"], ["2", "1"], ["10", "9"], ["1", "1"], ["1", "1.0"], *([text] for text in NUMBERS), [1]),
    "BS": ([], ["AQ==", "AA=="], ["AA==", "AA=="], ["AAAA", "AA=="], *([text] for text in BLOBS), [None]),
    "L": (
        [],
        [{"S": ""}],
        [{"S": "a"}, {"S": '"'}],
        [{"S": '{"S"'}],
        [{"N": "1"}],
        [{"S": 1}],
        ["S"],
        {},
        [{}],
    ),
    "M": ({}, {"x": {"S": "1"}}, {"": {"S": "1"}}, {"x": {}}, []),
}
PLAIN: dict[str, Any] = {
    "S": "text",
    "N": "12",
    "B": "aGVsbG8=",
    "BOOL": True,
    "NULL": True,
    "SS": ["a", "b"],
    "NS": ["1", "2"],
    "BS": ["AA==", "AQ=="],
}
NESTED = {**PLAIN, "L": [{"S": "a"}], "M": {}}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_odd_value_by_itself(tables: dict[str, Table], name: str) -> None:
    """As an attribute, as a key, in a map and in a list: alone, for another would hide what becomes of it."""
    table = tables[name]
    shortcut = RowShortcut(table)

    def item(kind: str, content: Any, place: str) -> dict[str, Any]:
        values: dict[str, Any] = {f"x{each}": {each: NESTED[each]} for each in NESTED}
        made = {**values, **{key: {each: PLAIN[each]} for key, each in KEYS.items()}}
        made["list"] = {"L": [{"N": "1"}, *({each: NESTED[each]} for each in NESTED)]}
        made["map"] = {"M": {each: {each: NESTED[each]} for each in NESTED}}
        if place == "map":
            made["map"]["M"][kind] = {kind: content}
        elif place == "list":
            made["list"]["L"][1 + list(NESTED).index(kind)] = {kind: content}
        else:
            made[place] = {kind: content}
        return made

    assert assert_same(shortcut, table, line_of(item("S", "x", "xS")))  # is cut
    short = 0
    for kind, contents in ODD.items():
        for place in (f"x{kind}", "map", "list", *(key for key, each in KEYS.items() if each == kind)):
            for content in contents:
                short += assert_same(shortcut, table, line_of(item(kind, content, place)))
    assert short > 300


texts = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(TEXTS[:-1])
numbers = st.sampled_from(NUMBERS) | st.decimals(
    allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9
).map(str)
blobs = st.sampled_from(BLOBS) | st.binary(max_size=40).map(lambda data: b64encode(data).decode())
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "S": texts,
    "N": numbers,
    "B": blobs,
    "BOOL": st.booleans() | st.none(),
    "NULL": st.just(True) | st.booleans(),
    "SS": st.lists(texts, max_size=3) | st.just(["a", "b", "ü"]),
    "NS": st.lists(numbers, max_size=3) | st.just(["1", "2.5"]),
    "BS": st.lists(blobs, max_size=3) | st.just(["AA==", "AQ=="]),
}
leaves = st.sampled_from([{kind: content} for kind, content in PLAIN.items()])
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.lists(st.just({"S": "x"}), max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(st.sampled_from(["z", "a", "%b", "é", 'q"', "in side"]), inner, max_size=3).map(
            lambda members: {"M": members}
        ),
    ),
    max_leaves=6,
)
others = st.dictionaries(st.sampled_from(["s", "m", "l", "%", 'a"b', "\\", "é", "Z"]), values, max_size=5)


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Any]:
    """An item with plain values and, mostly, keys of all tables, in any order."""
    item = {
        **draw(others),
        **{name: {kind: PLAIN[kind]} for name, kind in KEYS.items() if draw(st.integers(0, 5))},
    }
    return {name: item[name] for name in draw(st.permutations(sorted(item)))}


def refilled(draw: st.DrawFn, value: Any) -> Any:
    """The same form with other values, and lists of strings with other lengths."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {"M": {name: refilled(draw, member) for name, member in content.items()}}
    if kind == "L" and all("S" in member for member in content):
        return {"L": [{"S": text} for text in draw(st.lists(texts, max_size=3))]}
    if kind == "L":
        return {"L": [refilled(draw, member) for member in content]}
    return {kind: draw(LEAVES[kind] | st.just(content))}


@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), st.sampled_from(sorted(TABLES)))
def test_lines_of_one_form(tables: dict[str, Table], data: st.DataObject, name: str) -> None:
    table = tables[name]
    form = data.draw(forms())
    shortcut = RowShortcut(table)
    short_way(shortcut, line_of(form))  # is cut, where it is an item
    assert_same(shortcut, table, line_of(form))
    for _ in range(6):
        # Few at a time: one odd value sends the line the careful way and hides what becomes of another.
        for key in data.draw(st.sets(st.sampled_from([*form, "p"]), min_size=1, max_size=2)) & form.keys():
            item = {**form, key: refilled(data.draw, form[key])}  # type: ignore[arg-type]
            assert_same(shortcut, table, line_of(item))


@pytest.mark.parametrize(
    "inside",
    [b"\\/", b"\\u0041", b"\\u001f", b"\\ud834", b"\\ud834\\udd1e", b"\\x", b"\\", b"\t", b"\xff", b"\\\\\\"],
)
def test_what_no_json_of_ours_has_inside_a_string(tables: dict[str, Table], inside: bytes) -> None:
    table = tables["plain"]
    shortcut = RowShortcut(table)
    template = line_of(
        {"p": {"S": "a"}, "x": {"S": "HERE"}, "y": {"L": [{"S": "HERE"}]}, "z": {"SS": ["HERE"]}}
    )
    assert assert_same(shortcut, table, template)  # is cut
    assert assert_same(shortcut, table, template)
    for count in (1, 2, 3):
        assert not assert_same(shortcut, table, template.replace(b"HERE", inside, count))


# --- Lines that somebody has damaged ---------------------------------------------------------------

FRAGMENTS = (
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\x00", b"\x1f", b"\x7f", b"\xff", b"\xc3"),
    *(b"0", b"-", b".", b"e9", b"=", b"true", b"null", b'"S"', b'{"S":"x"}', b'","', b'"},"', b'"}}', b"%b"),
    *(b"\\u0000", b"\\/", b"\\\\", b'\\"', b"\r", b"\t", b'"p":{"S":"q"},', b'"p":', b"\xc3\xa9"),
    *(b"\xed\xa0\x80", b"\xf0\x9d\x84\x9e"),
)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), st.sampled_from(sorted(TABLES)))
def test_damaged_lines(tables: dict[str, Table], data: st.DataObject, name: str) -> None:
    table = tables[name]
    form = {**data.draw(others), **{key: {kind: PLAIN[kind]} for key, kind in KEYS.items()}}
    shortcut = RowShortcut(table)
    line = line_of(form)
    assert assert_same(shortcut, table, line) or short_way(shortcut, line) is not None or b"\\" in line
    for _ in range(5):
        at = data.draw(st.integers(0, len(line)))
        until = data.draw(st.integers(at, min(len(line), at + 12)) | st.just(at))
        damaged = (
            line[:at] + b"".join(data.draw(st.lists(st.sampled_from(FRAGMENTS), max_size=3))) + line[until:]
        )
        assert_same(shortcut, table, damaged)


# --- Blocks of lines ---------------------------------------------------------------------------------


def both_ways(
    table: Table, pieces: list[bytes], shortcut: RowShortcut
) -> tuple[list[LoadedRow], list[tuple[int, str]]]:
    """The rows of a content and what is refused of it, with a shortcut as without."""
    ways = []
    for way in (shortcut, None):
        refused: list[tuple[int, str]] = []
        found = (each for each in json_lines.records(pieces, way) if each is not None)
        rows = rows_of(found, table, lambda place, reason, to=refused: to.append((place, reason)))  # type: ignore[misc]
        ways.append(([normal(row) for row in rows], refused))
    assert ways[0] == ways[1]
    return ways[0]


OTHER_LINES = (
    *(b"", b"", b" ", b"{}", b"no record", b'{"Item":{}}', b'{"Item":{"p":{"S":"\xff"}}}', b"\xff", b"\r"),
    line_of({"p": {"S": "a"}, "s": {"S": "x" * 409_600}}),
    line_of({"p": {"S": "a"}, "s": {"SS": ["b", "a"]}}),
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), st.sampled_from(sorted(TABLES)))
def test_blocks_of_lines_of_several_forms(tables: dict[str, Table], data: st.DataObject, name: str) -> None:
    """Attributes come and go and change types, lines that are none stand between, pieces end anywhere."""
    bases = data.draw(st.lists(forms(), min_size=1, max_size=2))
    lines: list[bytes] = []
    for _ in range(data.draw(st.integers(1, 12))):
        base = data.draw(st.sampled_from(bases))
        lacking = data.draw(st.sets(st.sampled_from([*base, "p"]), max_size=3))
        item = {key: value for key, value in base.items() if key not in lacking}
        for key in data.draw(st.sets(st.sampled_from([*item, "p"]), max_size=2)) & item.keys():
            other = st.just(base[key]).map(lambda value: refilled(data.draw, value))
            item[key] = data.draw(other if key in KEYS else other | values)
        lines.append(data.draw(st.just(line_of(item)) | st.sampled_from(OTHER_LINES)))
    content = b"\n".join(lines) + data.draw(st.sampled_from([b"", b"\n"]))
    size = data.draw(st.sampled_from([1 << 20, 1 << 20, 1000, 100]))
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stencils, "CUT_EVERY", 1)
        patched.setattr(row_stencils, "CUTS_PER_BLOCK", 20)
        shortcut = RowShortcut(tables[name])
        for _ in range(2):  # the second time with all that was learned
            both_ways(tables[name], pieces, shortcut)


def test_an_item_too_large_with_its_local_entry_is_left(tables: dict[str, Table]) -> None:
    keys = {"p": {"S": "a"}, "r": {"S": "b"}, "n": {"N": "1"}}
    first, fitting, large = (line_of({**keys, "s": {"S": "x" * size}}) for size in (5, 200_000, 210_000))
    shortcut = RowShortcut(tables["local"])
    short_way(shortcut, first)  # is cut
    made = [each for run in shortcut(b"\n".join([first, fitting, large, b""])) for each in run]
    assert list(map(type, made)) == [tuple, tuple, bytes]


def test_lines_keep_their_order(tables: dict[str, Table]) -> None:
    """Of two records with one key the later one counts, whichever way each of them goes."""
    table = tables["plain"]
    shortcut = RowShortcut(table)
    other = [b"", line_of({"p": {"S": "a"}, "x": {"N": "1e2"}}), b"no record", b'{"Item":{"p":{"S":"\xff"}}}']
    forms = [{"x": {"N": "1"}}, {"y": {"BOOL": True}, "z": {"S": "\n"}, "u": {"S": ""}, "v": {"S": ""}}]
    lines = [line_of({"p": {"S": str(number)}, **forms[number % 2]}) for number in range(200)]
    for place in range(180, 0, -20):
        lines.insert(place, other[place // 20 % 4])
    for _ in range(2):
        rows, refused = both_ways(table, [b"\n".join(lines)], shortcut)
        assert len(rows) == 203 and len(refused) == 4
        assert [place for place, _ in refused] == sorted(place for place, _ in refused)
    assert len(shortcut._stencils) == 2


def test_optional_attributes_are_one_form(tables: dict[str, Table]) -> None:
    """Also with other types now and then, keys of indexes among them; but not in another order."""
    table = tables["sorted"]
    shortcut = RowShortcut(table)
    item = ordinary(1)
    wanted = {"p", "r", "map", "names", "blobs"}
    lines = []
    for number in range(300):
        chance = random.Random(number)
        lacking = {name for name in item if name not in wanted and chance.random() < 0.4}
        each = {name: value for name, value in ordinary(number).items() if name not in lacking}
        if "price" in each and number % 3:
            each["price"] = {"NULL": True} if number % 3 == 1 else {"S": "on demand"}
        lines.append(line_of(each))
    for _ in range(3):
        rows, _ = both_ways(table, [b"\n".join(lines)], shortcut)
    assert {len(row[3]) for row in rows} == {1, 2}
    assert len(shortcut._stencils) == 1
    assert [type(run) for run in shortcut(b"\n".join(lines) + b"\n")] == [Rows]
    backwards = line_of(dict(reversed(orjson.loads(lines[0])["Item"].items())))
    both_ways(table, [backwards], shortcut)
    shortcut._to_cut = 0
    both_ways(table, [backwards], shortcut)
    assert len(shortcut._stencils) == 2


def test_a_line_has_no_attribute_twice(tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stencils, "CUT_EVERY", 0)
    table = tables["plain"]
    shortcut = RowShortcut(table)
    one = {"p": {"S": "a"}, "x": {"S": "1"}, "y": {"NULL": True}}
    lines = [line_of(each) for each in (one, {**one, "x": {"N": "1"}}, {"p": one["p"], "y": one["y"]})]
    both_ways(table, [b"\n".join(lines)], shortcut)
    assert all(assert_same(shortcut, table, line) for line in lines)
    assert len(shortcut._stencils) == 1
    for twice in (b'"x":{"S":"1"},"x":{"N":"1"}', b'"x":{"S":"1"},"x":{"S":"1"}', b'"p":{"S":"a"}', b""):
        for end in (b'"y":{"NULL":true}', b'"y":{"NULL":true},"y":{"NULL":true}', b""):
            damaged = b",".join((b'{"Item":{"p":{"S":"a"}', twice, end)) + b"}}"
            assert not assert_same(shortcut, table, damaged)
            both_ways(table, [damaged, b"\n", lines[0]], shortcut)


# --- What goes the short way -----------------------------------------------------------------------


def ordinary(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    return {
        "r": {"S": f"row {number}"},
        "p": {"S": f"ü{number // 10}"},
        "n": {"N": str(number)},
        "b": {"B": b64encode(bytes([number % 256, 1, 2])).decode()},
        "g": {"S": f"g{number % 7}"},
        "text": {"S": 'a "quoted" word,\nand a \\ and €' * chance.randrange(3)},
        "price": {"N": f"-{number}.{1 + number % 9}"},
        "flag": {"BOOL": number % 2 == 0},
        "none": {"NULL": True},
        "tags": {"L": [{"S": "x" * chance.randrange(5)} for _ in range(chance.randrange(4))]},
        "pair": {"L": [{"N": str(number)}, {"S": "\t"}]},
        "map": {"M": {"z": {"S": "%d"}, "a": {"M": {"deep": {"B": "AAA="}}}, "m": {"M": {}}}},
        "names": {"SS": sorted({f"n{number % 5}", "m", "ü"})},
        "numbers": {"NS": ["1", str(2 + number)]},
        "blobs": {"BS": ["AA==", "AQ=="]},
    }


@pytest.mark.parametrize("name", sorted(TABLES))
def test_ordinary_lines_go_the_short_way(tables: dict[str, Table], name: str) -> None:
    table = tables[name]
    shortcut = RowShortcut(table)
    lines = [line_of(ordinary(number)) for number in range(500)]
    short = sum(assert_same(shortcut, table, line) for line in lines)
    assert short >= len(lines) - stencils.CUT_EVERY  # the first line to be cut must have no escapes


def test_two_forms_and_what_fits_none(tables: dict[str, Table]) -> None:
    table = tables["plain"]
    shortcut = RowShortcut(table)
    forms = [
        {"p": {"S": "a"}, "x": {"N": "1"}},
        {"p": {"S": "a"}, "x": {"S": "1"}},
        {"p": {"S": "a"}, "x": {"N": "1e1"}},
    ]
    short = [0, 0, 0]
    for number in range(900):
        short[number % 3] += assert_same(shortcut, table, line_of(forms[number % 3]))
    assert short[0] > 290 and short[1] > 150 and not short[2]


def test_lines_without_a_form_are_soon_left_alone(
    tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stencils, "WINDOW", 64)
    monkeypatch.setattr(stencils, "WORTH_HITS", 2)
    shortcut = RowShortcut(tables["plain"])
    for number in range(1000):
        short_way(shortcut, line_of({"p": {"S": "a"}, f"x{number}": {"S": "1"}}))
    assert shortcut._window.resting
    plain = line_of({"p": {"S": "a"}, "x": {"S": "1"}})
    found = [short_way(shortcut, plain) is not None for _ in range(3000)]
    assert not found[0] and found[-1]


def test_long_lines_are_left_alone(tables: dict[str, Table]) -> None:
    shortcut = RowShortcut(tables["plain"])
    line = line_of({"p": {"S": "a"}, "x": {"S": "1"}})
    assert assert_same(shortcut, tables["plain"], line)  # is cut
    room = stencils.TEXT_BYTES_MAX - len(line)
    for longer, short in ((room, True), (room + 1, False), (1 << 20, False)):
        longest = line_of({"p": {"S": "a"}, "x": {"S": "1" * (1 + longer)}})
        assert (short_way(shortcut, longest) is not None) == short


def test_long_values_go_the_careful_way(tables: dict[str, Table]) -> None:
    for size, short in ((200, True), (1500, False)):
        shortcut = RowShortcut(tables["plain"])
        line = line_of({"p": {"S": "a"}, **{f"x{n}": {"S": "1" * size} for n in range(4)}})
        assert (short_way(shortcut, line) is not None) == short


def test_patterns_go_with_their_job(tables: dict[str, Table]) -> None:
    shortcut = RowShortcut(tables["plain"])
    assert short_way(shortcut, line_of({"p": {"S": "a"}, "gone": {"S": "1"}}))
    assert short_way(shortcut, line_of({"p": {"S": "a"}, "gone": {"S": "with \n an escape"}}))
    (stencil,) = shortcut._stencils
    patterns = [weakref.ref(each.__self__) for each in stencil._findalls.values()]  # type: ignore[attr-defined]
    assert len(patterns) == 2
    assert all(pattern() is not None for pattern in patterns)
    del shortcut, stencil
    gc.collect()
    assert all(pattern() is None for pattern in patterns)


def test_a_table_with_a_vector_index_has_no_short_way() -> None:
    process = InProcess()
    definition = {
        **schema("p:S"),
        "TableName": "vectors",
        "VectorIndexes": [
            {
                "IndexName": "near",
                "VectorAttribute": {"AttributeName": "v"},
                "Dimensions": 2,
                "DistanceFunction": "COSINE",
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }
    process.call("CreateTable", **definition)
    table = process.local._open()._backend.catalog.for_data("vectors", "us-east-1", "000000000000")
    assert shortcut_into(table) is None
    process.close()


def test_canonical_forms_of_the_test_are_canonical() -> None:
    """Else the forms above would be cut from nothing."""
    assert all(canonicalise({kind: content}) for kind, content in PLAIN.items())
