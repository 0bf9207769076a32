"""The values of condition keys for one need, each computed when a policy first asks for it.

Names come lower-cased. A key that is not here, or has no value for the action, is absent. A key that should
have a value which cannot be known (a request without its partition key, a table that does not exist) raises
Undeterminable: such a request is denied. Source: iam.md sections 2 and 5.

Expressions and statements are parsed by the parsers that the operations use, which cache their trees, and the
partitions that a statement reads are those of the planner that will read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import gmtime, strftime
from typing import Any, Final

from faradisc.auth.policy.model import Value
from faradisc.errors import ValidationException
from faradisc.language.expressions import Placeholders, bind_key_clauses
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.parser import parse_condition, parse_projection, parse_update
from faradisc.language.expressions.syntax import Parsed, Path
from faradisc.language.partiql.binder import fill_item, fill_templates
from faradisc.language.partiql.planner import plan_of
from faradisc.language.partiql.syntax import (
    Delete,
    Exists,
    Insert,
    Select,
    Statement,
    UpdateStatement,
    constant_value,
)
from faradisc.model.values.attribute import AttributeValue, Item
from faradisc.model.values.checks import check_value
from faradisc.model.values.schema import KeySchema
from faradisc.operations.access.needs import Need
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call, Caller

LEADING_KEYS: Final = "dynamodb:leadingkeys"
_SINGLE_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "PartiQLSelect"})
_ITEM_ACTIONS: Final = _READS | _SINGLE_WRITES | {"BatchWriteItem", "ConditionCheckItem"}
_KEYED_ACTIONS: Final = _ITEM_ACTIONS - {"Scan"}
_RETURNING_ACTIONS: Final = _SINGLE_WRITES | {"ConditionCheckItem", "PartiQLUpdate", "PartiQLDelete"}
_TRANSACTIONS: Final = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})

_EXPRESSIONS: Final[Mapping[str, Callable[[str], Parsed]]] = {
    "ConditionExpression": parse_condition,
    "FilterExpression": parse_condition,
    "KeyConditionExpression": parse_condition,
    "UpdateExpression": parse_update,
    "ProjectionExpression": parse_projection,
}
_LEGACY_MEMBERS: Final = ("Expected", "AttributeUpdates", "KeyConditions", "QueryFilter", "ScanFilter")


class Undeterminable(Exception):
    """Raised for a condition key that has a value which is not known."""


class AccessConditions(Mapping[str, Value]):
    """The condition keys of one need, by lower-cased name, without those of the principal."""

    __slots__ = ("_backend", "_call", "_need", "asked", "rejection")

    def __init__(self, backend: Backend, call: Call, need: Need) -> None:
        """Requires: the call has a caller."""
        self._backend = backend
        self._call = call
        self._need = need
        self.asked: dict[str, Value | None] = {}
        """The keys that were asked for, in this order, with their values. Others follow from the caller."""
        self.rejection: ValidationException | None = None
        """What is wrong with the request where a key was asked for; the operation would find it too."""

    def get(self, key: str, default: Any = None) -> Any:
        """Raises Undeterminable; ValidationException for a malformed expression, statement or value."""
        asked = self.asked
        if key in asked:
            value = asked[key]
        else:
            find = _KEYS.get(key) or _tag_finder(key)
            if find is None:
                return default
            try:
                value = asked[key] = find(self)
            except ValidationException as error:
                self.rejection = error
                raise
        return default if value is None else value

    def __getitem__(self, key: str) -> Value:
        value: Value | None = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        """Yields the names of the keys that have been asked for and have a value."""
        return iter([key for key, value in self.asked.items() if value is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    # --- The request -----------------------------------------------------------------------------

    @property
    def _action(self) -> str:
        """Returns the action's name; "" where the request has no parameters for it."""
        return self._need.name if self._need.members is not None else ""

    @property
    def _caller(self) -> Caller:
        assert self._call.caller is not None
        return self._call.caller

    def attributes(self) -> Value | None:
        statement = self._need.statement
        if statement is not None:
            return _distinct(self._named_by_statement(statement))
        if self._action not in _ITEM_ACTIONS:
            return None
        return _distinct(_attribute_names(self._need.members))

    def _named_by_statement(self, statement: Statement) -> Iterator[str]:
        body = statement.body.select if isinstance(statement.body, Exists) else statement.body
        paths = [path for conjunct in statement.where.conjuncts for path in conjunct.paths]
        if isinstance(body, Select):
            yield from [str(path[0]) for path in body.paths or ()]
            yield from [order.name for order in body.order]
        elif isinstance(body, Insert):
            yield from self._inserted(body)
        elif isinstance(body, UpdateStatement):
            for action in body.actions:
                paths += [action.path, *_paths_in(action.operand)]
        for path in paths:
            yield str(path.steps[0])

    def partition_values(self, position: int) -> Value | None:
        """Returns the values of a partition key attribute, counted from 0, that the need addresses."""
        need = self._need
        statement, action = need.statement, need.name
        if need.members is None or (statement is None and action not in _KEYED_ACTIONS):
            return None
        key = self._key_schema()
        if position >= len(key.hash):
            return None
        name = key.hash[position]
        if statement is not None:
            found = self._partitions_of_statement(statement, key)
        elif action == "Query":
            found = [self._queried(name)]
        else:
            found = [item.get(name) for item in _items_of(need.members)]
        if len(found) == 1:
            return (self._text_of(found[0]),)
        return _distinct(self._text_of(value) for value in found)

    def _key_schema(self) -> KeySchema:
        table, index = self._need.table, self._need.index
        if table is None:
            raise Undeterminable
        if index is None:
            return table.key
        found = table.index(index)
        if found is None:
            raise Undeterminable
        return found.schema.key

    def _queried(self, name: str) -> AttributeValue | None:
        request = self._need.members
        if "KeyConditionExpression" in request:
            clause = bind_key_clauses(request["KeyConditionExpression"], _placeholders(request)).by_name.get(
                name
            )
            return clause.operands[0] if clause is not None and clause.operator == "=" else None
        condition = request.get("KeyConditions", {}).get(name, {})
        values: list[AttributeValue] = condition.get("AttributeValueList", [])
        return values[0] if condition.get("ComparisonOperator") == "EQ" and len(values) == 1 else None

    def _partitions_of_statement(self, statement: Statement, key: KeySchema) -> list[AttributeValue | None]:
        (name,) = key.hash if len(key.hash) == 1 else (None,)
        if name is None:
            raise Undeterminable  # an index that statements cannot use
        body = statement.body
        if isinstance(body, Insert):
            return [self._inserted(body).get(name)]
        values = fill_templates(statement, self._parameters())
        if isinstance(body, Select):
            ranges = plan_of(statement.where, values, key).ranges
            return [selection[0].hash_values[0] for selection in ranges or ()]
        at = statement.where.equalities.get(name)
        return [None if at is None else constant_value(statement.where.clause(at).values[0], values)]

    def _inserted(self, body: Insert) -> Item:
        item: Item | None = fill_item(body.item, self._parameters()).get("M")
        if item is None:
            raise Undeterminable
        return item

    def _parameters(self) -> list[AttributeValue]:
        parameters: list[AttributeValue] = self._need.members.get("Parameters", [])
        if not self._call.values_ok:
            for parameter in parameters:
                check_value(parameter, self._call.wording)
        return parameters

    def _text_of(self, value: AttributeValue | None) -> str:
        """Returns a key's value as policies write it: numbers in canonical form, binary in base64."""
        if value is None:
            raise Undeterminable
        if not self._call.values_ok:
            check_value(value, self._call.wording)
        for kind in ("S", "N", "B"):
            if kind in value:
                text: str = value[kind]
                return text
        raise Undeterminable

    def full_table_scan(self) -> Value | None:
        statement = self._need.statement
        if statement is None or self._action != "PartiQLSelect":
            return None
        if isinstance(statement.body, Exists):
            return "false"
        return "false" if self.partition_values(0) else "true"

    def select(self) -> Value | None:
        if self._action not in _READS:
            return None
        statement, members = self._need.statement, self._need.members
        if statement is not None:
            specific = isinstance(statement.body, Select) and statement.body.paths is not None
        else:
            if "Select" in members:
                given: str = members["Select"]
                return given
            specific = "ProjectionExpression" in members or "AttributesToGet" in members
        if specific:
            return "SPECIFIC_ATTRIBUTES"
        return "ALL_ATTRIBUTES" if self._need.index is None else "ALL_PROJECTED_ATTRIBUTES"

    def return_values(self) -> Value | None:
        """Returns what the request shows of the item. A failed condition counts as it does in transactions:
        assumed, since it shows the item to callers who may not ask for it."""
        if self._action not in _RETURNING_ACTIONS:
            return None
        members, statement = self._need.members, self._need.statement
        failing: str = members.get("ReturnValuesOnConditionCheckFailure", "NONE")
        given: str = members.get("ReturnValues", "NONE")
        if statement is not None and isinstance(statement.body, UpdateStatement | Delete):
            returning = statement.body.returning
            if returning is not None:
                given = ("ALL" if returning.whole else "UPDATED") + ("_NEW" if returning.new else "_OLD")
        return failing if failing != "NONE" and given != "ALL_NEW" else given

    def return_consumed_capacity(self) -> Value | None:
        if self._need.statement is not None or self._action not in _ITEM_ACTIONS:
            return None
        given: str = self._call.request.get("ReturnConsumedCapacity", "NONE")
        return given

    def enclosing_operation(self) -> Value | None:
        return self._call.operation if self._call.operation in _TRANSACTIONS else None

    # --- Tags ------------------------------------------------------------------------------------

    def resource_tag(self, name: str) -> Value | None:
        return None if self._need.table is None else _tag(self._need.table.state.tags.items(), name)

    def request_tag(self, name: str) -> Value | None:
        tags = self._call.request.get("Tags")
        return (
            None
            if tags is None
            else _tag([(tag["Key"], tag["Value"]) for tag in tags if tag.keys() >= {"Key", "Value"}], name)
        )

    def tag_keys(self) -> Value | None:
        request = self._call.request
        if "Tags" in request:
            return _distinct(tag["Key"] for tag in request["Tags"] if "Key" in tag)
        return _distinct(request["TagKeys"]) if "TagKeys" in request else None

    # --- The connection and the time -------------------------------------------------------------

    def source_ip(self) -> Value | None:
        return self._caller.address or None

    def secure_transport(self) -> Value:
        return "true" if self._caller.secure else "false"

    def user_agent(self) -> Value | None:
        return self._caller.user_agent

    def referer(self) -> Value | None:
        return self._caller.referer

    def requested_region(self) -> Value:
        return self._call.region

    def current_time(self) -> Value:
        return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(self._now_s))

    def epoch_time(self) -> Value:
        return str(self._now_s)

    @property
    def _now_s(self) -> int:
        return self._backend.clock.now_ns() // 1_000_000_000


Finder = Callable[[AccessConditions], Value | None]

_KEYS: Final[Mapping[str, Finder]] = {
    LEADING_KEYS: lambda conditions: conditions.partition_values(0),
    "dynamodb:firstpartitionkeyvalues": lambda conditions: conditions.partition_values(0),
    "dynamodb:secondpartitionkeyvalues": lambda conditions: conditions.partition_values(1),
    "dynamodb:thirdpartitionkeyvalues": lambda conditions: conditions.partition_values(2),
    "dynamodb:fourthpartitionkeyvalues": lambda conditions: conditions.partition_values(3),
    "dynamodb:attributes": AccessConditions.attributes,
    "dynamodb:select": AccessConditions.select,
    "dynamodb:returnvalues": AccessConditions.return_values,
    "dynamodb:returnconsumedcapacity": AccessConditions.return_consumed_capacity,
    "dynamodb:enclosingoperation": AccessConditions.enclosing_operation,
    "dynamodb:fulltablescan": AccessConditions.full_table_scan,
    "aws:tagkeys": AccessConditions.tag_keys,
    "aws:sourceip": AccessConditions.source_ip,
    "aws:securetransport": AccessConditions.secure_transport,
    "aws:useragent": AccessConditions.user_agent,
    "aws:referer": AccessConditions.referer,
    "aws:requestedregion": AccessConditions.requested_region,
    "aws:currenttime": AccessConditions.current_time,
    "aws:epochtime": AccessConditions.epoch_time,
}


def _tag_finder(key: str) -> Finder | None:
    prefix, _, name = key.partition("/")
    if prefix == "aws:resourcetag":
        return lambda conditions: conditions.resource_tag(name)
    if prefix == "aws:requesttag":
        return lambda conditions: conditions.request_tag(name)
    return None


def _tag(tags: Iterable[tuple[str, str]], name: str) -> str | None:
    """Returns the value of the tag of a lower-cased name. Raises Undeterminable for several values."""
    values = {value for key, value in tags if key.lower() == name}
    if len(values) > 1:
        raise Undeterminable
    return values.pop() if values else None


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


# --- Members of requests ---------------------------------------------------------------------------


def _placeholders(members: Mapping[str, Any]) -> Placeholders:
    return Placeholders(members.get("ExpressionAttributeNames"), members.get("ExpressionAttributeValues"))


def _items_of(members: Any) -> list[Item]:
    """Returns the keys and items in a request, in one action of a transaction, or in one table's part of a
    batch."""
    if isinstance(members, list):
        return [item for element in members for each in element.values() for item in each.values()]
    for name in ("Key", "Item"):
        if name in members:
            return [members[name]]
    keys: list[Item] = members.get("Keys", [])
    return keys


def _attribute_names(members: Any) -> Iterator[str]:
    """Yields the top-level attributes that the parameters name."""
    for item in _items_of(members):
        yield from item
    if isinstance(members, list):
        return
    yield from members.get("AttributesToGet", ())
    for name in _LEGACY_MEMBERS:
        yield from members.get(name, ())
    placeholders = _placeholders(members)
    for name, parse in _EXPRESSIONS.items():
        if name in members:
            try:
                yield from [str(placeholders.path(path)[0]) for path in parse(members[name]).paths]
            except ExpressionError as error:
                raise error.within(name) from None


def _paths_in(operand: Any) -> Iterator[Path]:
    """Yields the paths in an operand of an update."""
    if isinstance(operand, Path):
        yield operand
    for part in getattr(operand, "operands", ()):
        yield from _paths_in(part)
