"""What the console makes of values, changes, queries and code, without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.tools.console.changes import write_of
from faradisc.tools.console.copy_as import boto3_code, partiql_code
from faradisc.tools.console.queries import Form, Term, better_index, choices, collections_of, request_of
from faradisc.tools.console.values import ValueMistake, cell, item_of, item_text, value_of, visible

TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "kind")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-kind",
            "IndexStatus": "ACTIVE",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def test_text_that_hides_or_reorders_other_text_is_shown_by_its_number() -> None:
    assert visible("a\u202egnp.exe\x00") == "a\\u202egnp.exe\\u0000"
    assert cell({"S": "\ud800 half"}) == "\ufffd half"
    assert cell({"M": {"<b>": {"S": "\u2066"}}}) == '{"<b>": "\\u2066"}'


@pytest.mark.parametrize(
    "text", ['{"a": {"S": "\\ud800"}}', '{"\\udc00": {"S": "x"}}', '{"a": {"M": {"\\ud800": {"N": "1"}}}}']
)
def test_half_of_a_surrogate_pair_is_refused_before_it_is_sent(text: str) -> None:
    with pytest.raises(ValueMistake, match="half of a surrogate pair"):
        item_of(text)


def test_half_of_a_surrogate_pair_that_was_read_is_an_escape_in_the_editor() -> None:
    assert '"\\ud800"' in item_text({"a": {"S": "\ud800"}})


def test_numbers_and_sets_survive_the_editor() -> None:
    item = {"n": {"N": "1.10E+100"}, "s": {"NS": ["1.0", "0.1"]}, "b": {"BS": ["AP8="]}, "e": {"NULL": True}}
    assert item_of(item_text(item)) == item
    assert value_of("L", '[{"N": "12345678901234567890"}]') == {"L": [{"N": "12345678901234567890"}]}
    with pytest.raises(ValueMistake, match="not a number"):
        value_of("N", "1e")


def test_a_new_key_is_one_transaction() -> None:
    before, after = {"pk": {"S": "a"}, "n": {"N": "1"}}, {"pk": {"S": "b"}, "n": {"N": "1"}}
    operation, request = write_of("t", ["pk"], before, after) or ("", {})
    assert operation == "TransactWriteItems"
    assert [next(iter(each)) for each in request["TransactItems"]] == ["Put", "Delete"]
    assert write_of("t", ["pk"], before, dict(before)) is None


def test_an_index_that_suits_a_filter_is_named() -> None:
    form = Form("t", filters=[Term("kind", "=", "S", "odd")])
    assert better_index(form, TABLE) == "A Query of the index by-kind by kind reads only what matches."
    form.filters[0].operator = "<"
    assert not better_index(form, TABLE)


def test_an_item_is_followed_to_the_collections_that_it_is_in() -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "kind": {"S": "odd"}}
    described = {**TABLE, "TableName": "t"}
    assert collections_of(item, described) == [Form("t", "", "a"), Form("t", "by-kind", "odd")]
    assert collections_of({**item, "kind": {"N": "1"}}, described) == [Form("t", "", "a")]


def test_an_index_says_why_it_does_not_suit() -> None:
    (_, index) = choices(TABLE, consistent=True)
    assert index.unsuitable == "A global index has no consistent reads."


def test_code_is_escaped_by_the_rules_of_its_language() -> None:
    form = Form("t", partition='it\'s "x"\n', sort=Term(operator="begins with", text="a"), descending=True)
    operation, request = request_of(form, TABLE)
    compile(boto3_code(operation, request, None, "eu-west-1"), "copied", "exec")
    statement = partiql_code(operation, request) or ""
    assert "\"pk\" = 'it''s \"x\"\n'" in statement
    assert statement.endswith('ORDER BY "sk" DESC')


def test_a_value_with_a_hash_is_no_name_of_an_attribute() -> None:
    form = Form("t", partition="CUSTOMER#007", sort=Term(text="#n0 :v0"))
    statement = partiql_code(*request_of(form, TABLE))
    assert statement == """SELECT * FROM "t" WHERE "pk" = 'CUSTOMER#007' AND "sk" = '#n0 :v0'"""
