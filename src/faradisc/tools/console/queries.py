"""The query builder: what was chosen in a form as a request, and why an index does or does not suit it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from faradisc.records import dataclass, field
from faradisc.tools.console.values import Item, Value, ValueMistake, text_of, type_of, value_of

SORT_OPERATORS: Final = {
    "=": "{name} = {value}",
    "<": "{name} < {value}",
    "<=": "{name} <= {value}",
    ">": "{name} > {value}",
    ">=": "{name} >= {value}",
    "begins with": "begins_with({name}, {value})",
    "between": "{name} BETWEEN {value} AND {second}",
}
FILTER_OPERATORS: Final = {
    **SORT_OPERATORS,
    "<>": "{name} <> {value}",
    "contains": "contains({name}, {value})",
    "exists": "attribute_exists({name})",
    "does not exist": "attribute_not_exists({name})",
}


LIMIT: Final = 100
LIMIT_MAX: Final = 1_000
"""Items of a page."""


@dataclass(slots=True)
class Term:
    """One condition on an attribute, as typed into the form."""

    name: str = ""
    operator: str = "="
    kind: str = "S"
    text: str = ""
    second: str = ""


@dataclass(slots=True)
class Form:
    """What a user chose. Without a value for the partition key the request is a Scan."""

    table: str = ""
    index: str = ""
    partition: str = ""
    """Text of the partition key's value."""
    sort: Term = field(default_factory=Term)
    filters: list[Term] = field(default_factory=list)
    columns: str = ""
    """Names of the projection, separated by commas."""
    descending: bool = False
    consistent: bool = False
    limit: int = LIMIT


def collections_of(item: Item, description: Mapping[str, Any]) -> list[Form]:
    """Returns queries of the item collections that an item is in, that of the table first."""
    types, found = types_of(description), []
    for choice in choices(description):
        name = choice.keys[0]
        if not choice.unsuitable and type_of(item.get(name, {"NULL": True})) == types[name]:
            found.append(Form(description["TableName"], choice.index, text_of(item[name])))
    return found


def query_of_form(form: Form) -> list[tuple[str, str]]:
    """Returns a form as the query of an address; `form_of_query` reads it."""
    chosen = {
        "index": form.index,
        "partition": form.partition,
        "sort": form.sort.text,
        "op": form.sort.operator if form.sort.text and form.sort.operator != "=" else "",
        "second": form.sort.second,
        "columns": form.columns,
        "order": "descending" if form.descending else "",
        "read": "consistent" if form.consistent else "",
        "limit": str(form.limit) if form.limit != LIMIT else "",
    }
    filters = [("where", json.dumps([t.name, t.operator, t.kind, t.text, t.second])) for t in form.filters]
    return [(name, value) for name, value in chosen.items() if value] + filters


def form_of_query(table: str, query: Iterable[tuple[str, str]], description: Mapping[str, Any]) -> Form:
    """Returns the form of an address; what it does not understand is left out."""
    form = Form(table)
    known = {each["IndexName"] for each in indexes_of(description)}
    for name, value in query:
        match name:
            case "index" if value in known:
                form.index = value
            case "partition":
                form.partition = value
            case "sort":
                form.sort.text = value
            case "second":
                form.sort.second = value
            case "op" if value in SORT_OPERATORS:
                form.sort.operator = value
            case "columns":
                form.columns = value
            case "order":
                form.descending = value == "descending"
            case "read":
                form.consistent = value == "consistent"
            case "limit" if value.isdecimal() and 1 <= int(value) <= LIMIT_MAX:
                form.limit = int(value)
            case "where":
                form.filters += _term_of(value)
    return form


def _term_of(text: str) -> list[Term]:
    try:
        found = json.loads(text)
    except ValueError:
        return []
    if not isinstance(found, list) or len(found) != 5 or not all(isinstance(each, str) for each in found):
        return []
    return [Term(*found)] if found[1] in FILTER_OPERATORS else []


def schema_of(description: Mapping[str, Any], index: str) -> list[str]:
    """Returns the key attributes of a table or index, partition key first."""
    schema = description["KeySchema"]
    if index:
        (schema,) = [each["KeySchema"] for each in indexes_of(description) if each["IndexName"] == index]
    return [each["AttributeName"] for each in sorted(schema, key=lambda key: key["KeyType"] != "HASH")]


def indexes_of(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns all indexes with key conditions, the global ones first."""
    return [*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ())]


def types_of(description: Mapping[str, Any]) -> dict[str, str]:
    """Returns the types of the key attributes by name."""
    return {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}


def request_of(form: Form, description: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the operation, Query or Scan, and its request. Raises ValueMistake."""
    expression = _Expression()
    types = types_of(description)
    partition, *more = schema_of(description, form.index)
    request: dict[str, Any] = {
        "TableName": form.table,
        "ReturnConsumedCapacity": "TOTAL",
        "Limit": form.limit,
    }
    if form.index:
        request["IndexName"] = form.index
    operation = "Query" if form.partition else "Scan"
    if form.partition:
        conditions = [expression.term(Term(partition, "=", types[partition], form.partition), SORT_OPERATORS)]
        if form.sort.text and more:
            sort = Term(more[0], form.sort.operator, types[more[0]], form.sort.text, form.sort.second)
            conditions.append(expression.term(sort, SORT_OPERATORS))
        request["KeyConditionExpression"] = " AND ".join(conditions)
        if form.descending:
            request["ScanIndexForward"] = False
    filters = [expression.term(term, FILTER_OPERATORS) for term in form.filters if term.name]
    if filters:
        request["FilterExpression"] = " AND ".join(filters)
    columns = [name.strip() for name in form.columns.split(",") if name.strip()]
    if columns:
        request["ProjectionExpression"] = ", ".join(expression.path(name) for name in columns)
    if form.consistent:
        request["ConsistentRead"] = True
    if expression.names:
        request["ExpressionAttributeNames"] = {short: name for name, short in expression.names.items()}
    if expression.values:
        request["ExpressionAttributeValues"] = expression.values
    return operation, request


class _Expression:
    """Collects the names and values of expressions; every name is written as a placeholder."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}

    def path(self, path: str) -> str:
        return ".".join(self._name(step) for step in path.split("."))

    def _name(self, name: str) -> str:
        bare, bracket, rest = name.partition("[")
        return self.names.setdefault(bare, f"#n{len(self.names)}") + bracket + rest

    def _value(self, kind: str, text: str) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value_of(kind, text)
        return placeholder

    def term(self, term: Term, operators: Mapping[str, str]) -> str:
        pattern = operators[term.operator]
        if "{second}" in pattern and not term.second:
            raise ValueMistake(f"Between needs two values for {term.name}.")
        return pattern.format(
            name=self.path(term.name),
            value=self._value(term.kind, term.text) if "{value}" in pattern else "",
            second=self._value(term.kind, term.second) if "{second}" in pattern else "",
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A table or an index in the list of the query builder."""

    index: str
    keys: Sequence[str]
    unsuitable: str
    """Why it cannot be chosen; empty when it can."""
    note: str

    @property
    def title(self) -> str:
        return f"{self.index or 'Table'} ({', '.join(self.keys)})"


def choices(description: Mapping[str, Any], consistent: bool = False) -> list[Choice]:
    """Returns the table and its indexes. consistent: for consistent reads."""
    found = [Choice("", schema_of(description, ""), "", "")]
    local = {each["IndexName"] for each in description.get("LocalSecondaryIndexes", ())}
    for index in indexes_of(description):
        name, status = index["IndexName"], index.get("IndexStatus", "ACTIVE")
        projected = index.get("Projection", {}).get("ProjectionType", "ALL")
        note = {"ALL": "", "KEYS_ONLY": "returns keys only"}.get(projected, "returns some attributes only")
        reason = ""
        if status != "ACTIVE":
            reason = f"It is {status.lower()}."
        elif consistent and name not in local:
            reason = "A global index has no consistent reads."
        found.append(Choice(name, schema_of(description, name), reason, note))
    return found


def better_index(form: Form, description: Mapping[str, Any]) -> str:
    """Returns a sentence on what a Query instead of this Scan would read; empty for none."""
    fixed = {term.name for term in form.filters if term.operator == "=" and term.text}
    for choice in () if form.partition else choices(description, form.consistent):
        if not choice.unsuitable and choice.keys[0] in fixed:
            where = f"the index {choice.index}" if choice.index else "the table"
            return f"A Query of {where} by {choice.keys[0]} reads only what matches."
    return ""


def plan_of(operation: str, request: Mapping[str, Any]) -> str:
    """Returns a sentence on how a request reads."""
    where = f"index {request['IndexName']}" if request.get("IndexName") else f"table {request['TableName']}"
    if operation == "Scan":
        return f"Scan: reads all of {where}, filtered or not. Its cost grows with the table."
    return f"Query: reads one item collection of {where}."
