"""Updates and projections that mean nothing, and updates that do not fit the item they meet.

Texts: errors.md section 6.4; grammar: expressions.md sections 4 and 5. What is found in the expression is
enveloped in UpdateItem and bare in a transaction; what is found in the item is bare, or cancels the
transaction with a ValidationError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.rejections import INVALID, KEY, ONE, PAIR, Case, World, in_lots, named

VALUES: dict[str, Any] = {
    ":s": {"S": "x"},
    ":n": {"N": "1"},
    ":b": {"B": "AQI="},
    ":o": {"BOOL": True},
    ":u": {"NULL": True},
    ":ss": {"SS": ["a"]},
    ":ns": {"NS": ["1"]},
    ":l": {"L": [{"N": "1"}]},
    ":d": {"M": {"k": {"S": "v"}}},
}
NAMES = {"#a": "a", "#b": "b"}


def syntax(token: str, near: str) -> str:
    return f'Syntax error; token: "{token}", near: "{near}"'


def once(section: str) -> str:
    return f'The "{section}" section can only be used once in an update expression;'


def overlap(one: str, two: str) -> str:
    return (
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


def conflict(one: str, two: str) -> str:
    return (
        "Two document paths conflict with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


def section_operand(section: str, kind: str) -> str:
    return (
        f"Incorrect operand type for operator or function; operator: {section}, operand type: {kind}, "
        f"typeSet: ALLOWED_FOR_{section}_OPERAND"
    )


def operand(operator: str, kind: str) -> str:
    return (
        "Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {kind}"
    )


def count(operator: str, number: int) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {operator}, number of operands: {number}"
    )


NO_VALUE = "An expression attribute value used in expression is not defined; attribute value: "
NO_NAME = "An expression attribute name used in the document path is not defined; attribute name: "
RESERVED = "Attribute name is a reserved keyword; reserved keyword: "
NO_FUNCTION = "Invalid function name; function: "
MISUSED = "The function is not allowed to be used this way in an expression; function: "
PATH_WANTED = "Operator or function requires a document path; operator or function: "

MISTAKES: list[tuple[str, str, str]] = [
    ("empty", "", "The expression can not be empty;"),
    (
        "4,097 bytes",
        "SET a = :s" + " " * 4087,
        "Expression size has exceeded the maximum allowed size; expression size: 4097",
    ),
    (
        "301 operators",
        "SET " + ",".join(f"x{n}=:n+:n" for n in range(301)),
        "The expression contains too many operators; operator count: 301",
    ),
    ("no section", "a = :s", syntax("a", "a =")),
    ("SET of nothing", "SET", syntax("<EOF>", "SET")),
    ("SET without a value", "SET a", syntax("<EOF>", "a")),
    ("SET with a value missing", "SET a =", syntax("<EOF>", "=")),
    ("a trailing comma", "SET a = :s,", syntax("<EOF>", ",")),
    ("a literal", "SET a = 1", syntax("1", "= 1")),
    ("three operands", "SET a = :n + :n + :n", syntax("+", ":n + :n")),
    ("multiplication", "SET a = :n * :n", syntax("*", ":n * :n")),
    ("REMOVE of a value", "REMOVE :s", syntax(":s", "REMOVE :s")),
    ("REMOVE with an assignment", "REMOVE a = :s", syntax("=", "a = :s")),
    ("ADD without a value", "ADD a", syntax("<EOF>", "a")),
    ("ADD with an assignment", "ADD a = :n", syntax("=", "a = :n")),
    ("ADD of a path", "ADD a b", syntax("b", "a b")),
    ("DELETE without a value", "DELETE a", syntax("<EOF>", "a")),
    ("a condition", "SET a = :s AND b = :s", syntax("AND", ":s AND b")),
    *(
        (f"{section} twice", text, once(section))
        for section, text in (
            ("SET", "SET a = :s SET b = :s"),
            ("REMOVE", "REMOVE a REMOVE b"),
            ("ADD", "ADD a :n ADD b :n"),
            ("DELETE", "DELETE a :ss DELETE b :ss"),
            ("SET", "set a = :s REMOVE c Set b = :s"),
        )
    ),
    ("a reserved word", "SET name = :s", RESERVED + "name"),
    ("a reserved word on the right", "SET a = Status", RESERVED + "Status"),
    ("a reserved word in REMOVE", "REMOVE a.value", RESERVED + "value"),
    ("a reserved word in ADD", "ADD count :n", RESERVED + "count"),
    ("an unknown function", "SET a = foo(b)", NO_FUNCTION + "foo"),
    ("a function in capitals", "SET a = IF_NOT_EXISTS(a, :s)", NO_FUNCTION + "IF_NOT_EXISTS"),
    ("a condition's function", "SET a = attribute_exists(b)", NO_FUNCTION + "attribute_exists"),
    ("an undefined name", "SET #x = :s", NO_NAME + "#x"),
    ("an undefined name in REMOVE", "REMOVE a.#x", NO_NAME + "#x"),
    ("an undefined value", "SET a = :x", NO_VALUE + ":x"),
    ("an undefined value in ADD", "ADD a :x", NO_VALUE + ":x"),
    ("an undefined value in a function", "SET a = if_not_exists(a, :x)", NO_VALUE + ":x"),
    ("a path written twice", "SET a = :s, a = :n", overlap("[a]", "[a]")),
    ("a path written under its alias", "SET a = :s, #a = :n", overlap("[a]", "[a]")),
    ("a path set and removed", "SET a = :s REMOVE a", overlap("[a]", "[a]")),
    ("a path and one inside it", "SET a.b = :s, a.b[0] = :s", overlap("[a, b]", "[a, b, [0]]")),
    ("a path and one around it", "SET a.b.c = :s REMOVE a", overlap("[a, b, c]", "[a]")),
    ("a map step and a list step", "SET a.b = :s, a[0] = :s", conflict("[a, b]", "[a, [0]]")),
    ("a list step and a map step", "REMOVE a[1] SET a.b.c = :s", conflict("[a, [1]]", "[a, b, c]")),
    *(
        (f"ADD of {kind}", f"ADD a {value}", section_operand("ADD", kind))
        for kind, value in (
            ("STRING", ":s"),
            ("Binary", ":b"),
            ("BOOL", ":o"),
            ("NULL", ":u"),
            ("LIST", ":l"),
            ("MAP", ":d"),
        )
    ),
    *(
        (f"DELETE of {kind}", f"DELETE a {value}", section_operand("DELETE", kind))
        for kind, value in (
            ("STRING", ":s"),
            ("NUMBER", ":n"),
            ("Binary", ":b"),
            ("BOOL", ":o"),
            ("NULL", ":u"),
            ("LIST", ":l"),
            ("MAP", ":d"),
        )
    ),
    *(
        (f"{op} with {kind}", f"SET a = b {op} {value}", operand(op, kind))
        for op in "+-"
        for kind, value in (
            ("S", ":s"),
            ("B", ":b"),
            ("BOOL", ":o"),
            ("NULL", ":u"),
            ("SS", ":ss"),
            ("NS", ":ns"),
            ("L", ":l"),
            ("M", ":d"),
        )
    ),
    *(
        (f"list_append of {kind}", f"SET a = list_append(b, {value})", operand("list_append", kind))
        for kind, value in (("S", ":s"), ("N", ":n"), ("BOOL", ":o"), ("SS", ":ss"), ("M", ":d"))
    ),
    ("if_not_exists of one", "SET a = if_not_exists(b)", count("if_not_exists", 1)),
    ("if_not_exists of three", "SET a = if_not_exists(b, :s, :n)", count("if_not_exists", 3)),
    ("list_append of one", "SET a = list_append(:l)", count("list_append", 1)),
    ("list_append of three", "SET a = list_append(:l, :l, :l)", count("list_append", 3)),
    ("if_not_exists of a value", "SET a = if_not_exists(:s, :n)", PATH_WANTED + "if_not_exists"),
    # Several mistakes at once (errors.md section 6.4, "Priority inside one expression")
    ("a reserved word before a function", "SET name = foo(b)", RESERVED + "name"),
    ("a function before a repeated section", "SET a = foo(b) SET b = :s", NO_FUNCTION + "foo"),
    ("a repeated section before an undefined name", "SET #x = :s SET b = :s", once("SET")),
    ("an undefined name before an undefined value", "SET a = :x, #x = :s", NO_NAME + "#x"),
    ("an undefined value before an overlap", "SET a = :s, a = :x", NO_VALUE + ":x"),
    ("an overlap before a conflict", "SET a.b = :s, a[0] = :s, a.b = :n", overlap("[a, b]", "[a, b]")),
    ("an overlap before an operand type", "ADD a :s, a :s", overlap("[a]", "[a]")),
]


def cases() -> Iterator[Case]:
    for what, expression, text in MISTAKES:
        members = {
            "TableName": "hash",
            "Key": KEY,
            "UpdateExpression": expression,
            "ExpressionAttributeNames": NAMES,
            "ExpressionAttributeValues": VALUES,
        }
        whole = f"Invalid UpdateExpression: {text}"
        source = "errors.md 6.4, expressions.md section 5, limits.md section 3"
        yield Case(what, "UpdateItem", members, ONE + whole, source)
        # errors.md section 6.8: transactions leave out the size
        whole = whole.partition(" expression size")[0]
        yield Case(what, "TransactWriteItems", {"TransactItems": [{"Update": members}]}, whole, source)


@in_lots(cases())
def test_an_update_that_means_nothing_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


MISSING = "The provided expression refers to an attribute that does not exist in the item"
PATH = "The document path provided in the update expression is invalid for update"
OPERAND = "An operand in the update expression has an incorrect data type"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
PART_OF_KEY = INVALID + "Cannot update attribute {}. This attribute is part of the key"

AT_THE_ITEM: list[tuple[str, str, dict[str, Any], str]] = [
    ("a missing attribute read", "SET a = zz", {}, MISSING),
    ("a missing attribute added to", "SET a = zz + :v", {":v": {"N": "1"}}, MISSING),
    ("a missing list appended to", "SET a = list_append(zz, :v)", {":v": {"L": []}}, MISSING),
    ("a missing element read", "SET a = l[7]", {}, MISSING),
    ("a missing key of a map read", "SET a = m.zzz", {}, MISSING),
    ("a path through nothing", "SET zz.a = :v", {":v": {"S": "x"}}, PATH),
    ("a path through a string", "SET s.a = :v", {":v": {"S": "x"}}, PATH),
    ("an index of a map", "SET m[0] = :v", {":v": {"S": "x"}}, PATH),
    ("a key of a list", "SET l.a = :v", {":v": {"S": "x"}}, PATH),
    ("a path two steps too deep", "SET m.a.b = :v", {":v": {"S": "x"}}, PATH),
    ("REMOVE through nothing", "REMOVE zz.a", {}, PATH),
    ("REMOVE of an index of a string", "REMOVE s[0]", {}, PATH),
    ("ADD through nothing", "ADD zz.a :v", {":v": {"N": "1"}}, PATH),
    ("DELETE through a number", "DELETE n.a :v", {":v": {"SS": ["a"]}}, PATH),
    ("a number added to a string", "SET s = s + :v", {":v": {"N": "1"}}, OPERAND),
    ("a string appended to", "SET s = list_append(s, :v)", {":v": {"L": []}}, OPERAND),
    ("ADD of a number to a string", "ADD s :v", {":v": {"N": "1"}}, OPERAND),
    ("ADD of a set to a number", "ADD n :v", {":v": {"SS": ["a"]}}, OPERAND),
    ("ADD of numbers to strings", "ADD ss :v", {":v": {"NS": ["1"]}}, OPERAND),
    ("DELETE from a string", "DELETE s :v", {":v": {"SS": ["a"]}}, OPERAND),
    ("DELETE of numbers from strings", "DELETE ss :v", {":v": {"NS": ["1"]}}, OPERAND),
    ("a sum with 39 digits", "SET n = n + :v", {":v": {"N": "0." + "1" * 38}}, OVERFLOW),
    ("a sum beyond the range", "SET n = :v + :v", {":v": {"N": "9" * 38 + "0" * 88}}, OVERFLOW),
    ("ADD beyond 38 digits", "ADD big :v", {":v": {"N": "0.1"}}, OVERFLOW),
    ("the key written", "SET p = :v", {":v": {"S": "x"}}, PART_OF_KEY.format("p")),
    ("the key removed", "REMOVE p", {}, PART_OF_KEY.format("p")),
    ("the key added to", "ADD p :v", {":v": {"N": "1"}}, PART_OF_KEY.format("p")),
    (
        "an element of the key",
        "SET p.a = :v",
        {":v": {"S": "x"}},
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p",
    ),
]


def item_cases() -> Iterator[Case]:
    for what, expression, values, text in AT_THE_ITEM:
        request = {"TableName": "hash", "Key": KEY, "UpdateExpression": expression}
        if values:
            request["ExpressionAttributeValues"] = values
        yield Case(what, "UpdateItem", request, text, "errors.md 6.3 and 6.4, run-time texts, no prefix")
        cancelled = (
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            "[None, ValidationError]"
        )
        check = {
            "ConditionCheck": {
                "TableName": "hash",
                "Key": {"p": {"S": "y"}},
                "ConditionExpression": "attribute_not_exists(p)",
            }
        }
        yield Case(
            what,
            "TransactWriteItems",
            {"TransactItems": [check, {"Update": request}]},
            cancelled,
            "errors.md 6.8: a validation error cancels, the others are None",
            "TransactionCanceledException",
        )


@in_lots(item_cases())
def test_an_update_that_does_not_fit_its_item_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


@named(case for case in item_cases() if case.operation == "TransactWriteItems")
def test_the_reason_of_the_cancellation_says_the_same(world: World, case: Case) -> None:
    assert isinstance(case.request, dict)
    _, body = world.answer(case.operation, case.request)
    text = next(text for what, _, _, text in AT_THE_ITEM if what == case.what)
    assert body["CancellationReasons"] == [{"Code": "None"}, {"Code": "ValidationError", "Message": text}]


# --- Projections -----------------------------------------------------------------------------------

PROJECTIONS: list[tuple[str, str, str]] = [
    ("empty", "", "The expression can not be empty;"),
    (
        "4,097 bytes",
        "a" * 4097,
        "Expression size has exceeded the maximum allowed size; expression size: 4097",
    ),
    ("a trailing comma", "a,", syntax("<EOF>", ",")),
    ("no comma", "a b", syntax("b", "a b")),
    ("a value", ":v", syntax(":v", ":v")),
    ("an empty index", "a[]", syntax("]", "[]")),
    ("a negative index", "a[-1]", syntax("-", "[-1")),
    ("a name in an index", "a[b]", syntax("b", "[b]")),
    ("a trailing dot", "a.", syntax("<EOF>", ".")),
    ("a function", "size(a)", syntax("(", "size(a")),
    ("a star", "*", syntax("*", "*")),
    ("a reserved word", "name", RESERVED + "name"),
    ("a reserved word in a path", "a.Value", RESERVED + "Value"),
    ("an undefined name", "a, #x", NO_NAME + "#x"),
    ("a path twice", "a, b, a", overlap("[a]", "[a]")),
    ("a path and its alias", "a, #a", overlap("[a]", "[a]")),
    ("a path inside another", "a, a.b[0]", overlap("[a]", "[a, b, [0]]")),
    ("a path around another", "a.b.c, a.b", overlap("[a, b, c]", "[a, b]")),
    ("a map step and a list step", "a.b, a[0]", conflict("[a, b]", "[a, [0]]")),
    ("a reserved word before an undefined name", "#x, name", RESERVED + "name"),
    ("an undefined name before an overlap", "a, a, #x", NO_NAME + "#x"),
]

READS: list[tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = [
    ("GetItem", lambda e: {"TableName": "hash", "Key": KEY, **e}),
    ("BatchGetItem", lambda e: {"RequestItems": {"hash": {"Keys": [KEY], **e}}}),
    ("TransactGetItems", lambda e: {"TransactItems": [{"Get": {"TableName": "hash", "Key": KEY, **e}}]}),
    ("Scan", lambda e: {"TableName": "hash", **e}),
    (
        "Query",
        lambda e: {
            "TableName": "hash",
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "x"}},
            **e,
        },
    ),
]


def projection_cases() -> Iterator[Case]:
    for operation, request in READS:
        for what, expression, text in PROJECTIONS:
            members = {"ProjectionExpression": expression, "ExpressionAttributeNames": NAMES}
            whole = f"Invalid ProjectionExpression: {text}"
            yield Case(what, operation, request(members), whole, "errors.md 6.4, expressions.md section 4")


@in_lots(projection_cases())
def test_a_projection_that_means_nothing_is_refused(world: World, lot: list[Case]) -> None:
    world.refuses(*lot)


# --- Index keys ------------------------------------------------------------------------------------

INDEX_KEYS: list[tuple[str, str, dict[str, Any], str]] = [
    *(
        (
            f"{name} of another type",
            name,
            value,
            INVALID + f"Type mismatch for Index Key {name} Expected: {expected} "
            f"Actual: {next(iter(value))} IndexName: {index}",
        )
        for name, value, expected, index in (
            ("g", {"N": "1"}, "S", "global"),
            ("h", {"S": "1"}, "N", "global"),
            ("l", {"BOOL": True}, "S", "local"),
            ("b", {"S": "1"}, "N", "multi"),
            ("d", {"SS": ["a"]}, "B", "multi"),
        )
    ),
    *(
        (
            f"{name} empty",
            name,
            value,
            "One or more parameter values are not valid. The update expression attempted to update a "
            "secondary index key to a value that is not supported. The AttributeValue for a key attribute "
            f"cannot contain an empty {kind} value.",
        )
        for name, value, kind in (
            ("g", {"S": ""}, "string"),
            ("l", {"S": ""}, "string"),
            ("d", {"B": ""}, "binary"),
        )
    ),
    *(
        (
            f"{name} too long",
            name,
            value,
            "The update expression attempted to update the secondary index key beyond allowed size limits",
        )
        for name, value in (("g", {"S": "x" * 2049}), ("l", {"S": "x" * 1025}), ("c", {"S": "é" * 513}))
    ),
]


@pytest.mark.parametrize(("what", "name", "value", "text"), INDEX_KEYS, ids=[what for what, *_ in INDEX_KEYS])
def test_an_index_key_cannot_be_updated_to_what_no_index_holds(
    world: World, what: str, name: str, value: dict[str, Any], text: str
) -> None:
    """Source: errors.md section 6.3."""
    request = {
        "TableName": "pair",
        "Key": PAIR,
        "UpdateExpression": "SET #name = :v",
        "ExpressionAttributeNames": {"#name": name},
        "ExpressionAttributeValues": {":v": value},
    }
    world.refuses(Case(what, "UpdateItem", request, text, "errors.md 6.3"))
