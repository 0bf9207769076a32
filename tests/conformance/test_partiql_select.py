"""SELECT: what statements find, in which order, and how much of it.

Sources stand with the tables; "7" is expressions.md section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from partiql_library import Library

from fixtures.schemas import invalid, plain


@pytest.fixture
def library(dynamodb: Any, create: Callable[..., str]) -> Library:
    return Library(dynamodb, create)


# --- WHERE ---------------------------------------------------------------------------------------

KEYED: list[tuple[str, str, tuple[Any, ...], str]] = [
    # source, condition, parameters, titles in the order they come
    (
        "7: equality on the partition key is a Query, in sort-key order",
        "artist = 'ayla'",
        (),
        "One Two Three",
    ),
    ("7: parameters", "artist = ?", ("bo",), "Four Five"),
    ("7: a whole key", "artist = 'ayla' AND year = 2001", (), "Two"),
    ("7: a whole key, order of conditions free", "year = 2001 AND artist = 'ayla'", (), "Two"),
    ("7: a whole key that is not there", "artist = 'ayla' AND year = 1", (), ""),
    ("7: values on the left", "'ayla' = artist AND 2001 < year", (), "Three"),
    ("section 3: sort key <", "artist = 'ayla' AND year < 2001", (), "One"),
    ("section 3: sort key <=", "artist = 'ayla' AND year <= 2001", (), "One Two"),
    ("section 3: sort key >", "artist = 'ayla' AND year > 2001", (), "Three"),
    ("section 3: sort key >=", "artist = 'ayla' AND year >= ?", (2001,), "Two Three"),
    ("section 3: sort key BETWEEN", "artist = 'ayla' AND year BETWEEN 2000 AND 2005", (), "Two Three"),
    ("7: two conditions on the sort key", "artist = 'ayla' AND year > 1999 AND year < 2005", (), "Two"),
    ("7: sort key IN", "artist = 'ayla' AND year IN [2005, 1999]", (), "One Three"),
    ("7: the rest of WHERE filters", "artist = 'ayla' AND genre = 'folk'", (), "One Three"),
    ("7: a filter on a whole key", "artist = 'ayla' AND year = 2001 AND genre = 'folk'", (), ""),
    ("7: parentheses around conjuncts", "(artist = 'ayla' AND (year = 2001)) AND (rank = 1)", (), "Two"),
    ("7: IN on the partition key", "artist IN ['cy', 'bo']", (), "it's Four Five"),
    ("7: IN with parentheses", "artist IN ('cy')", (), "it's"),
    ("7: IN with parameters", "artist IN [?, ?]", ("bo", "cy"), "Four Five it's"),
    (
        "8: conditions on keys, joined by OR",
        "artist = 'ayla' AND (year > 2001 OR year = 1999)",
        (),
        "One Three",
    ),
    (
        "8: ranges of partitions",
        "artist = 'bo' AND year > 2000 OR artist = 'ayla' AND year < 2000 OR artist = 'ayla' AND year > 2002",
        (),
        "Five One Three",
    ),
    ("8: with filters", "artist = 'ayla' AND rank = 1 OR artist = 'bo' AND rank = 5", (), "Two Four"),
    ("8: an OR of filters", "artist = 'ayla' AND (rank = 3 OR rank = 2)", (), "One Three"),
    ("8: ranges side by side", "artist = 'ayla' AND (year < 2001 OR year > 2001)", (), "One Three"),
    ("8: <> takes no range", "artist = 'ayla' AND year <> 2001", (), "One Three"),
    ("8: no item can be found", "artist = 'ayla' AND artist = 'bo'", (), ""),
    ("7: IN and the sort key", "artist IN ['ayla', 'bo'] AND year = 1999", (), "One Four"),
    ("7: keywords in any case", "artist = 'ayla' and year between 2000 And 2001", (), "Two"),
    ("developer guide: OR of equalities is no scan", "artist = 'cy' OR artist = 'bo'", (), "it's Four Five"),
]


@pytest.mark.parametrize(("source", "where", "parameters", "titles"), KEYED, ids=[case[1] for case in KEYED])
def test_keyed_reads(library: Library, source: str, where: str, parameters: Any, titles: str) -> None:
    found = library.titles(f'SELECT title FROM "songs" WHERE {where}', *parameters)
    assert found == titles.split(), source


SCANNED: list[tuple[str, str, tuple[Any, ...], str]] = [
    # source, condition, parameters, titles in any order
    ("section 2, =", "genre = 'folk'", (), "One Three Four"),
    ("section 2, = compares types", "rank = '3'", (), ""),
    ("section 2, = on numbers", "rank = 3.0", (), "One"),
    ("section 8: numbers with exponents", "rank = 30e-1", (), "One"),
    ("section 2, <> is true for a missing attribute", "rank <> 3", (), "Two Three Four Five it's"),
    ("7: != is <>", "rank != 3", (), "Two Three Four Five it's"),
    ("section 2, < is false for a missing attribute", "rank < 3", (), "Two Three"),
    ("7: negative numbers", "rank > -1 AND rank < +2", (), "Two"),
    ("section 2, BETWEEN is inclusive", "rank BETWEEN 2 AND 4", (), "One Three it's"),
    ("7: NOT BETWEEN", "rank NOT BETWEEN 2 AND 4", (), "Two Four Five"),
    ("7: IN on any attribute", "rank IN [1, 5, 7]", (), "Two Four"),
    ("7: IN with a path inside", "year IN (rank, 1999)", (), "One Four"),
    ("7: NOT IN", "genre NOT IN ['folk', 'rock']", (), "Five"),
    ("7: IN with one parameter", "genre IN ?", (["jazz", "rock"],), "Two Five it's"),
    ("7: AND binds tighter than OR", "rank = 1 OR rank = 2 AND genre = 'rock'", (), "Two"),
    ("7: parentheses", "(rank = 1 OR rank = 2) AND genre = 'rock'", (), "Two"),
    ("7: NOT wraps, so a missing attribute matches", "NOT rank = 3", (), "Two Three Four Five it's"),
    ("7: NOT NOT", "NOT NOT rank = 3", (), "One"),
    ("7: NOT of a group", "NOT (genre = 'folk' OR genre = 'rock')", (), "Five"),
    ("7: IS MISSING", "rank IS MISSING", (), "Five"),
    ("7: IS NOT MISSING", "price IS NOT MISSING", (), "Three"),
    ("7: IS NULL is the NULL type", "label IS NULL", (), "Two"),
    ("7: IS NOT NULL", "label IS NOT NULL AND genre = 'rock'", (), "it's"),
    ("7: = NULL", "label = NULL", (), "Two"),
    ("7: type names", "price IS NUMERIC", (), "Three"),
    ("7: type names", "live IS boolean", (), "One"),
    ("7: type names", "live IS BOOL", (), "One"),
    ("7: type names", "data IS BLOB", (), "Four"),
    ("7: type names", "notes IS STRUCT AND notes IS NOT LIST", (), "One"),
    ("7: type names", "notes IS TUPLE", (), "One"),
    ("7: type names", '"list" IS LIST', (), "it's"),
    ("8: a function is a BOOL", "attribute_exists(price) = true", (), "Three"),
    ("8: a function is a BOOL", "attribute_exists(tags) = live", (), "One"),
    ("8: a function is no number", "attribute_exists(price) = 1", (), ""),
    ("8: a function is no number", "attribute_exists(price) <> 1", (), "One Two Three Four Five it's"),
    ("8: a function is not null", "attribute_exists(price) <> null", (), "One Two Three Four Five it's"),
    ("8: an absent operand", "attribute_exists(rank) <> live", (), "Two Three Four Five it's"),
    ("8: a function among options", "attribute_exists(tags) IN [live, 1]", (), "One"),
    ("8: a function as an option", "live IN [attribute_exists(tags)]", (), "One"),
    ("8: any test is a BOOL", "attribute_type(title, 'S') = attribute_not_exists(rank)", (), "Five"),
    ("8: a comparison is a BOOL", "(rank > 3) = true", (), "Four it's"),
    ("8: a number is no BOOL", "attribute_exists(tags) = size(tags)", (), ""),
    ("7: booleans in any case", "live = TRUE", (), "One"),
    ("7: booleans in any case", "live = tRuE", (), "One"),
    ("7: strings with ''", "title = 'it''s'", (), "it's"),
    ("7: begins_with", "begins_with(title, 'T')", (), "Two Three"),
    ("7: begins_with a parameter", "begins_with(title, ?)", ("Fo",), "Four"),
    ("7: contains in a string", "contains(title, 'o')", (), "Two Four"),
    ("7: contains in a set", "contains(tags, 'a')", (), "One"),
    ("7: contains in a set of numbers", "contains(scores, 2)", (), "Four"),
    ("7: contains in a list", "contains(\"list\", 'x')", (), "it's"),
    ("section 2: contains, deep equality", "contains(\"list\", ['y'])", (), "it's"),
    ("7: attribute_type", "attribute_type(tags, 'SS')", (), "One"),
    ("7: attribute_exists", "attribute_exists(price)", (), "Three"),
    ("7: attribute_not_exists", "attribute_not_exists(rank)", (), "Five"),
    ("7: size", "size(title) = 5", (), "Three"),
    ("7: size of a set", "size(tags) > 1", (), "One"),
    ("7: size in parentheses", "(size(tags)) BETWEEN (1) AND (2)", (), "One"),
    ("7: nested paths", "notes.label = 'x'", (), "One"),
    ("7: quoted steps", 'notes."dashed-name" = 1', (), "One"),
    ("7: steps as strings", "notes['label'] = 'x'", (), "One"),
    ("7: list indexes", "notes.tracks[1].len = 20", (), "One"),
    ("7: an index beyond the end", "notes.tracks[7].len = 20", (), ""),
    ("7: nested list indexes", "\"list\"[1][0] = 'y'", (), "it's"),
    ("7: deep equality, lists", "\"list\" = ['x', ['y']]", (), "it's"),
    ("7: deep equality, maps", "notes.tracks[0] = {'len': 10}", (), "One"),
    ("7: deep equality, sets in any order", "tags = <<'b', 'a'>>", (), "One"),
    ("7: sets of numbers", "scores = <<2, 1.0>>", (), "Four"),
    ("7: parameters inside literals", "notes.tracks[0] = {'len': ?}", (10,), "One"),
    ("7: binary parameters", "data = ?", (b"\x00\x01",), "Four"),
    ("7: binary in a set of parameters", "data IN [?]", (b"\x00\x01",), "Four"),
    ("7: two attributes", "genre > title", (), "One Two Three Four Five it's"),
    ("7: a quoted word is a name", 'genre = "title"', (), ""),
    ("7: comments", "rank = 1 -- OR rank = 2\n /* OR rank = 3 */", (), "Two"),
]


@pytest.mark.parametrize(
    ("source", "where", "parameters", "titles"), SCANNED, ids=[case[1] for case in SCANNED]
)
def test_filters(library: Library, source: str, where: str, parameters: Any, titles: str) -> None:
    """Each once as a scan, and once behind the partition keys, where it filters."""
    found = library.titles(f'SELECT title FROM "songs" WHERE {where}', *parameters)
    assert sorted(found) == sorted(titles.split()), source
    keyed = f"SELECT title FROM \"songs\" WHERE artist IN ['ayla', 'bo', 'cy'] AND ({where}\n)"
    assert sorted(library.titles(keyed, *parameters)) == sorted(titles.split()), source


BESIDE_A_PREFIX = [
    ("begins_with(sk, 'xy')", None),
    ("sk > 'xz'", None),
    ("sk <= 'x'", None),
    ("sk = 'xx'", None),
    ("sk BETWEEN 'a' AND 'x'", None),
    ("sk = 'y'", "x xy y"),
    ("begins_with(sk, 'y')", "x xy y"),
    ("sk > 'y'", "x xy z"),
    ("sk >= 'y'", "x xy y z"),
    ("sk < 'x'", "w x xy"),
    ("sk BETWEEN 'y' AND 'z'", "x xy y z"),
]


@pytest.mark.parametrize(("other", "found"), BESIDE_A_PREFIX)
def test_what_may_stand_beside_a_prefix(
    dynamodb: Any, create: Callable[..., str], other: str, found: str | None
) -> None:
    """Source: errors.md section 8: ranges that share a key are refused."""
    name = create("pk:S", "sk:S")
    for key in ("w", "x", "xy", "y", "z"):
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "a"}, "sk": {"S": key}})
    for where in (f"begins_with(sk, 'x') OR {other}", f"{other} OR begins_with(sk, 'x')"):
        statement = f"SELECT sk FROM \"{name}\" WHERE pk = 'a' AND ({where})"
        if found is None:
            with invalid("Overlapping conditions with range keys are not supported in where clause"):
                dynamodb.execute_statement(Statement=statement)
        else:
            items = dynamodb.execute_statement(Statement=statement)["Items"]
            assert [one["sk"]["S"] for one in items] == found.split()


# --- The SELECT list -----------------------------------------------------------------------------

COLUMNS: list[tuple[str, str, dict[str, Any]]] = [
    ("7: top-level names", "title, rank", {"title": "One", "rank": 3}),
    ("7: quoted names", '"title"', {"title": "One"}),
    ("7: what is missing is left out", "title, price", {"title": "One"}),
    ("7: nothing there", "price", {}),
    ("columns.py: named after the last step", "notes.label", {"label": "x"}),
    ("columns.py: list indexes belong to the name", "notes.tracks[0]", {"tracks[0]": {"len": 10}}),
    ("columns.py: several steps", "notes.tracks[1].len, title", {"len": 20, "title": "One"}),
    ("columns.py: one name twice", "title, title", {"title": "One"}),
    ("columns.py: of one name the later counts", "notes.tracks[0].len, notes.tracks[1].len", {"len": 20}),
    ("columns.py: unless it is missing", "notes.tracks[0].len, notes.tracks[9].len", {"len": 10}),
    ("columns.py: through the wrong type", "title.x, tags[0], notes[0]", {}),
]


@pytest.mark.parametrize(("source", "columns", "shown"), COLUMNS, ids=[case[1] for case in COLUMNS])
def test_select_list_projects_columns(
    library: Library, source: str, columns: str, shown: dict[str, Any]
) -> None:
    where = "WHERE artist = 'ayla' AND year = 1999"
    assert library.run(f'SELECT {columns} FROM "songs" {where}') == [shown], source


def test_a_star_is_the_whole_item(library: Library) -> None:
    (found,) = library.run("SELECT * FROM \"songs\" WHERE artist = 'ayla' AND year = 2005")
    assert found == {
        "artist": "ayla",
        "year": 2005,
        "title": "Three",
        "rank": 2,
        "genre": "folk",
        "price": Decimal("9.5"),
    }


def test_a_select_without_where_finds_everything(library: Library) -> None:
    assert len(library.run('SELECT * FROM "songs"')) == 6
    assert len(library.run('select * from "people";')) == 3


def test_a_bare_name_is_a_table(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("id:S", TableName="bare_name")
    dynamodb.put_item(TableName=name, Item={"id": {"S": "1"}})
    assert dynamodb.execute_statement(Statement="SELECT * FROM bare_name")["Items"] == [{"id": {"S": "1"}}]


# --- ORDER BY ------------------------------------------------------------------------------------

ORDERED: list[tuple[str, str, str]] = [
    ("7: ascending by default", "artist = 'ayla' ORDER BY year", "One Two Three"),
    ("7: ASC", "artist = 'ayla' ORDER BY year ASC", "One Two Three"),
    ("7: DESC", "artist = 'ayla' ORDER BY year DESC", "Three Two One"),
    ("8: without the sort key", "artist = 'ayla' ORDER BY artist", "Three Two One"),
    ("8: without the sort key", "artist = 'ayla' ORDER BY artist ASC", "Three Two One"),
    ("8: without the sort key", "artist = 'ayla' ORDER BY artist DESC", "Three Two One"),
    ("8: NULLS is read", "artist = 'ayla' ORDER BY year DESC NULLS LAST", "Three Two One"),
    ("8: NULLS is read", "artist = 'ayla' ORDER BY year NULLS FIRST", "One Two Three"),
    ("8: ranges", "artist = 'ayla' AND (year > 2001 OR year < 2000) ORDER BY year DESC", "Three One"),
    ("7: both keys", "artist = 'ayla' ORDER BY artist DESC, year DESC", "Three Two One"),
    ("7: with a range", "artist = 'ayla' AND year > 1999 ORDER BY year DESC", "Three Two"),
    ("guide: by partition key", "artist IN ['bo', 'ayla'] ORDER BY artist", "Three Two One Five Four"),
    ("guide: by partition key", "artist IN ['bo', 'ayla'] ORDER BY artist DESC", "Five Four Three Two One"),
    (
        "guide: by both",
        "artist IN ['bo', 'ayla'] ORDER BY artist, year DESC",
        "Three Two One Five Four",
    ),
]


@pytest.mark.parametrize(("source", "where", "titles"), ORDERED, ids=[case[1] for case in ORDERED])
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_order_by_orders_rows(
    library: Library, source: str, where: str, titles: str, limit: int | None
) -> None:
    """The same in one page and in several."""
    found = everything(library, f'SELECT title FROM "songs" WHERE {where}', limit=limit)
    assert [one["title"] for one in found] == titles.split(), source


# --- Indexes -------------------------------------------------------------------------------------


def test_a_global_index_by_its_key(library: Library) -> None:
    statement = 'SELECT title FROM "songs"."by_genre" WHERE genre = \'folk\''
    assert library.titles(statement) == ["Three", "One", "Four"]
    assert library.titles(statement + " AND rank > 2") == ["One", "Four"]
    assert library.titles(statement + " ORDER BY rank DESC") == ["Four", "One", "Three"]
    assert library.titles(statement + " AND title = 'One'") == ["One"]


def test_an_index_without_quotes(library: Library) -> None:
    """Source: errors.md section 8."""
    table = library.names["songs"]
    quoted = table if table.isidentifier() else f'"{table}"'
    assert library.titles(f"SELECT title FROM {quoted}.by_genre WHERE genre = 'folk'") == [
        "Three",
        "One",
        "Four",
    ]
    with invalid("The table does not have the specified index"):
        library.run(f"SELECT title FROM {quoted}.none WHERE genre = 'folk'")


def test_an_index_returns_projected_attributes(library: Library) -> None:
    (found,) = library.run('SELECT * FROM "songs"."by_genre" WHERE genre = \'folk\' AND rank = 3')
    assert found == {"artist": "ayla", "year": 1999, "genre": "folk", "rank": 3, "title": "One"}
    (found,) = library.run('SELECT * FROM "songs"."by_rank" WHERE artist = \'ayla\' AND rank = 3')
    assert found == {"artist": "ayla", "year": 1999, "rank": 3}


def test_an_index_holds_only_items_with_its_keys(library: Library) -> None:
    assert len(library.run('SELECT * FROM "songs"."by_genre"')) == 5


def test_a_local_index_is_in_the_order_of_its_sort_key(library: Library) -> None:
    found = library.run('SELECT rank FROM "songs"."by_rank" WHERE artist = \'ayla\'', ConsistentRead=True)
    assert [one["rank"] for one in found] == [1, 2, 3]


def test_unprojected_attributes_come_from_the_table_on_a_local_index(library: Library) -> None:
    """Source: 7, "fetched from the table on an LSI"; capacity-consumption.md section 2."""
    answer = library.answer(
        'SELECT title FROM "songs"."by_rank" WHERE artist = \'ayla\'', ReturnConsumedCapacity="INDEXES"
    )
    assert [plain(found)["title"] for found in answer["Items"]] == ["Two", "Three", "One"]
    consumed = answer["ConsumedCapacity"]
    assert consumed["Table"]["CapacityUnits"] == 1.5
    assert consumed["LocalSecondaryIndexes"]["by_rank"]["CapacityUnits"] == 0.5


def test_a_filter_on_an_unprojected_attribute_is_fine_in_a_scan_of_an_index(library: Library) -> None:
    """Source: 7, "refused only if keyed"."""
    assert library.run('SELECT * FROM "songs"."by_genre" WHERE price = 9.5') == []
    assert len(library.run('SELECT * FROM "songs"."by_genre" WHERE price IS MISSING')) == 5


# --- Pages ---------------------------------------------------------------------------------------


def everything(library: Library, statement: str, *, limit: int | None = None) -> list[dict[str, Any]]:
    """The items of all pages."""
    members: dict[str, Any] = {} if limit is None else {"Limit": limit}
    found = []
    while True:
        page = library.answer(statement, **members)
        found += [plain(one) for one in page["Items"]]
        assert ("LastEvaluatedKey" in page) == ("NextToken" in page)
        if "NextToken" not in page:
            return found
        members["NextToken"] = page["NextToken"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize(
    "statement",
    [
        'SELECT * FROM "songs"',
        "SELECT * FROM \"songs\" WHERE genre = 'folk'",
        "SELECT * FROM \"songs\" WHERE artist = 'ayla'",
        "SELECT * FROM \"songs\" WHERE artist = 'ayla' ORDER BY year DESC",
        "SELECT * FROM \"songs\" WHERE artist IN ['cy', 'bo', 'ayla']",
        "SELECT * FROM \"songs\" WHERE artist IN ['cy', 'none', 'ayla'] ORDER BY artist DESC, year DESC",
        "SELECT * FROM \"songs\" WHERE artist = 'cy' OR artist = 'ayla'",
        "SELECT * FROM \"songs\" WHERE artist = 'cy' OR artist = 'ayla' AND year IN [2005, 1999]",
        "SELECT * FROM \"songs\" WHERE artist IN ['ayla', 'bo'] AND (year < 2000 OR year > 2001)",
        'SELECT * FROM "songs"."by_genre"',
        'SELECT * FROM "songs"."by_genre" WHERE genre = \'folk\'',
        "SELECT * FROM \"songs\".\"by_genre\" WHERE genre IN ['rock', 'folk'] ORDER BY genre, rank DESC",
    ],
)
def test_pages_put_together_are_the_whole(library: Library, statement: str, limit: int) -> None:
    assert everything(library, statement, limit=limit) == everything(library, statement)


def test_limit_bounds_evaluated_items_so_pages_may_be_empty(library: Library) -> None:
    """Source: 7, "`Limit` bounds evaluated rows"."""
    page = library.answer("SELECT * FROM \"songs\" WHERE artist = 'ayla' AND title = 'Three'", Limit=2)
    assert page["Items"] == []
    assert plain(page["LastEvaluatedKey"]) == {"artist": "ayla", "year": 2001}
    assert page["NextToken"]


def test_the_last_evaluated_key_of_an_index_has_both_keys(library: Library) -> None:
    page = library.answer('SELECT title FROM "songs"."by_genre" WHERE genre = \'folk\'', Limit=1)
    assert plain(page["LastEvaluatedKey"]) == {"genre": "folk", "rank": 2, "artist": "ayla", "year": 2005}


def test_one_item_has_no_next_page(library: Library) -> None:
    """A whole key is read as GetItem reads it."""
    page = library.answer("SELECT * FROM \"songs\" WHERE artist = 'ayla' AND year = 2001", Limit=1)
    assert len(page["Items"]) == 1
    assert "NextToken" not in page


def test_partition_keys_in_a_list_come_in_pages_of_ten(dynamodb: Any, create: Callable[..., str]) -> None:
    """Source: limits.md section 4, "results in pages of up to 10 items"."""
    name = create("id:N")
    for number in range(25):
        dynamodb.put_item(TableName=name, Item={"id": {"N": str(number)}})
    sizes = []
    members: dict[str, Any] = {}
    while True:
        options = ", ".join(map(str, range(25)))
        page = dynamodb.execute_statement(
            Statement=f'SELECT * FROM "{name}" WHERE id IN [{options}]', Limit=20, **members
        )
        sizes.append(len(page["Items"]))
        if "NextToken" not in page:
            break
        members["NextToken"] = page["NextToken"]
    assert sizes == [10, 10, 5]


def test_a_last_page_of_exactly_ten_has_no_next_token(dynamodb: Any, create: Callable[..., str]) -> None:
    name = create("id:N")
    for number in range(10):
        dynamodb.put_item(TableName=name, Item={"id": {"N": str(number)}})
    options = ", ".join(map(str, range(10)))
    page = dynamodb.execute_statement(Statement=f'SELECT * FROM "{name}" WHERE id IN [{options}]')
    assert len(page["Items"]) == 10
    assert "NextToken" not in page


def test_a_page_ends_at_one_megabyte(dynamodb: Any, create: Callable[..., str]) -> None:
    """Source: capacity-consumption.md section 2, as Query; limits.md section 4."""
    name = create("id:S", "n:N")
    for number in range(4):
        dynamodb.put_item(
            TableName=name, Item={"id": {"S": "a"}, "n": {"N": str(number)}, "x": {"S": "x" * 350_000}}
        )
    page = dynamodb.execute_statement(Statement=f"SELECT n FROM \"{name}\" WHERE id = 'a'")
    assert [one["n"]["N"] for one in page["Items"]] == ["0", "1", "2"]
    page = dynamodb.execute_statement(
        Statement=f"SELECT n FROM \"{name}\" WHERE id = 'a'", NextToken=page["NextToken"]
    )
    assert [one["n"]["N"] for one in page["Items"]] == ["3"]
    assert "NextToken" not in page


# --- Capacity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "statement", "members", "units"),
    [
        ("capacity.md 2.2: as GetItem", "WHERE artist = 'ayla' AND year = 1999", {}, 0.5),
        ("capacity.md 2.2", "WHERE artist = 'ayla' AND year = 1999", {"ConsistentRead": True}, 1),
        ("a missing item costs the minimum", "WHERE artist = 'ayla' AND year = 1", {}, 0.5),
        ("as Query", "WHERE artist = 'ayla'", {}, 0.5),
        ("as Query", "WHERE artist = 'ayla'", {"ConsistentRead": True}, 1),
        ("before WHERE", "WHERE artist = 'ayla' AND title = 'none'", {"ConsistentRead": True}, 1),
        ("several partitions are several Queries", "WHERE artist IN ['ayla', 'bo', 'none']", {}, 1.5),
        ("several partitions are several Queries", "WHERE artist = 'ayla' OR artist = 'bo'", {}, 1),
        ("those that were not reached cost nothing", "WHERE artist IN ['ayla', 'bo']", {"Limit": 2}, 0.5),
        ("an on-demand table's scan reads its partitions", "", {}, 2),
        ("an on-demand table's scan reads its partitions", "", {"ConsistentRead": True}, 4),
    ],
)
def test_consumed_capacity(library: Library, source: str, statement: str, members: Any, units: float) -> None:
    answer = library.answer(f'SELECT * FROM "songs" {statement}', ReturnConsumedCapacity="INDEXES", **members)
    assert answer["ConsumedCapacity"] == {
        "TableName": library.names["songs"],
        "CapacityUnits": units,
        "Table": {"CapacityUnits": units},
    }, source


def test_consumed_capacity_of_an_index(library: Library) -> None:
    answer = library.answer(
        'SELECT * FROM "songs"."by_genre" WHERE genre = \'folk\'', ReturnConsumedCapacity="INDEXES"
    )
    assert answer["ConsumedCapacity"]["Table"] == {"CapacityUnits": 0}
    assert answer["ConsumedCapacity"]["GlobalSecondaryIndexes"] == {"by_genre": {"CapacityUnits": 0.5}}


def test_capacity_is_reported_only_when_asked_for(library: Library) -> None:
    assert "ConsumedCapacity" not in library.answer('SELECT * FROM "songs"')
    total = library.answer('SELECT * FROM "songs"', ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert total == {"TableName": library.names["songs"], "CapacityUnits": 2}
