"""SearchVectors: the vectors nearest to a query vector in a vector index, found exactly.

Checks: TopK -> SearchVector -> values of expressions -> placeholders -> expressions -> table -> index ->
dimensions -> the search condition against the search schema.

Source: new-features.md section 13; texts of errors.md section 7. Assumed: the order of checks, the text for a
value of the wrong type, and that results beyond the 16 MB of an answer are left out.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from faradisc.capacity.units import VECTOR_REQUEST_BYTES_MIN
from faradisc.engine.tables.keys import empty_key_message, is_empty
from faradisc.engine.tables.layout import Index
from faradisc.engine.tables.table import Table
from faradisc.engine.vectors import numbers
from faradisc.engine.vectors.schema import VectorSchema
from faradisc.errors import UnsupportedOperation, ValidationException, invalid
from faradisc.language.expressions import Placeholders, Projection, bind_projection
from faradisc.language.expressions.clauses import placeholders_of
from faradisc.language.expressions.errors import ExpressionError
from faradisc.language.expressions.parser import parse_condition
from faradisc.language.expressions.syntax import (
    Condition,
    Junction,
    Path,
    Predicate,
    ValueRef,
    operands_first,
)
from faradisc.model.values.attribute import AttributeValue, Item, type_of
from faradisc.model.values.checks import EMPTY_VALUE, canonicalise, check_value
from faradisc.model.values.number import NumberError, Underflow, parse
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

if TYPE_CHECKING:
    from faradisc.engine.vectors.searching import Found

TOP_K_MAX = 100
RESPONSE_BYTES_MAX = 16 * 1024 * 1024
SEARCH_BYTES_PER_DIMENSION = 17.6
"""Bytes a VectorSearchRequestBytes unit; measured, and documented to vary (new-features.md section 13,
"Capacity")."""

_PARAMETER = "SearchConditionExpression"
_EXPRESSIONS = (_PARAMETER, "ProjectionExpression")

Equalities = list[tuple[str, AttributeValue]]


async def search_vectors(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    top_k = request["TopK"]
    if not 1 <= top_k <= TOP_K_MAX:
        raise ValidationException(
            f"Provided TopK value '{top_k}' is out of valid range. "
            f"The value must be between 1 and {TOP_K_MAX} inclusive"
        )
    query = _query(call)
    _check_values(call)
    placeholders = placeholders_of(call, request, _EXPRESSIONS)
    equalities = _equalities(request.get(_PARAMETER), placeholders)
    projection = None
    if "ProjectionExpression" in request:
        projection = bind_projection(request["ProjectionExpression"], placeholders)
    placeholders.check_all_used()
    table = backend.table_for_data(call, request["TableName"])
    index, schema = _index(table, request["IndexName"])
    if len(query) != schema.dimensions:
        raise ValidationException(
            f"Input search vector dimension {len(query)} does not match "
            f"vector index dimension {schema.dimensions}"
        )
    _check_equalities(equalities, schema, dict(table.state.definitions))
    found = await _search(backend, index, query, top_k, equalities)
    results: list[dict[str, Any]] = []
    stored_bytes = shown_bytes = 0
    for each in found:
        shown_bytes += each.size_bytes
        if shown_bytes > RESPONSE_BYTES_MAX:
            break
        stored_bytes += each.size_bytes - len(schema.vector.encode()) - 4 * schema.dimensions
        results.append({"Item": _shown(each.entry, schema, projection), "Score": each.score})
    result: dict[str, Any] = {"SearchResults": results}
    if request.get("ReturnConsumedCapacity", "NONE") != "NONE":
        used = SEARCH_BYTES_PER_DIMENSION * schema.dimensions + stored_bytes
        result["ConsumedCapacity"] = {
            "VectorSearchRequestBytes": float(max(VECTOR_REQUEST_BYTES_MIN, round(used)))
        }
    return result


def _query(call: Call) -> tuple[float, ...]:
    """Returns the query as 32-bit floats. Raises ValidationException."""
    elements: list[AttributeValue] = call.request["SearchVector"]
    packed = numbers.packed(elements) if call.values_ok or all(map(_is_number, elements)) else None
    if packed is None:
        raise ValidationException(
            "Search vector contains invalid values. "
            "All values in the search vector must be a 32-bit floating-point number attribute"
        )
    return numbers.unpacked(packed)


def _check_values(call: Call) -> None:
    """Raises ValidationException for an invalid value, used or not, and for empty names or values."""
    for value in () if call.values_ok else call.request.get("ExpressionAttributeValues", {}).values():
        try:
            check_value(value, call.wording)
        except ValidationException as error:
            if error.message != EMPTY_VALUE:
                raise
            # Of a type that clients do not have, such as INT: an empty value is no AttributeValue here
            # (protocol/search_body.py).
            raise ValidationException("This type mapping is not supported") from None
    for parameter in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        if call.request.get(parameter) == {}:
            raise ValidationException(f"{parameter} must not be empty")


def _is_number(element: AttributeValue) -> bool:
    """A number too small for an attribute is 0 in a vector."""
    if element.keys() != {"N"}:
        return False
    try:
        return canonicalise(element) or bool(parse(element["N"]))
    except NumberError as error:
        return isinstance(error, Underflow)


def _index(table: Table, name: str) -> tuple[Index, VectorSchema]:
    """Raises ValidationException."""
    index = table.vector_index(name)
    if index is None or index.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.status == "CREATING":
        raise ValidationException(f"Cannot search backfilling vector index: {name}")
    assert isinstance(index.schema, VectorSchema)
    return index, index.schema


# --- The search condition ------------------------------------------------------------------------


def _equalities(text: str | None, placeholders: Placeholders) -> Equalities:
    """Returns the conjunction `a = :v AND ...` of a search condition. Raises ValidationException."""
    if text is None:
        return []
    try:
        parsed = parse_condition(text)
        placeholders.mark_used(parsed.refs)
        return [_equality(node, placeholders) for node in _predicates(parsed.root)]
    except ExpressionError as error:
        raise error.within(_PARAMETER) from None


class InvalidComparator(ExpressionError):
    template = "Invalid comparator used in SearchConditionExpression"


class NestedCondition(ExpressionError):
    template = "SearchConditionExpression cannot have conditions on nested attributes"


def _predicates(root: Condition) -> list[Predicate]:
    found: list[Predicate] = []
    for node in operands_first(root):
        if type(node) is Predicate:
            found.append(node)
        elif type(node) is not Junction or node.operator != "AND":
            raise InvalidComparator
    return found


def _equality(node: Predicate, placeholders: Placeholders) -> tuple[str, AttributeValue]:
    path, value = (*node.operands, None, None)[:2]
    if isinstance(path, ValueRef):
        path, value = value, path
    if node.operator != "=" or not isinstance(path, Path) or not isinstance(value, ValueRef):
        raise InvalidComparator
    steps = placeholders.path(path)
    if len(steps) > 1:
        raise NestedCondition
    return str(steps[0]), placeholders.value(value.name)


def _check_equalities(equalities: Equalities, schema: VectorSchema, types: dict[str, str]) -> None:
    """Raises ValidationException."""
    searched = {*schema.filters}
    if schema.hash_name is not None:
        searched.add(schema.hash_name)
        if not equalities:
            raise ValidationException(f"{_PARAMETER} must be provided when SearchSchema has a HASH key")
    for name, _ in equalities:
        if name not in searched:
            raise ValidationException(
                f"{_PARAMETER} must not contain any attributes that is not in SearchSchema. "
                f"Invalid attribute: {name}"
            )
    if schema.hash_name is not None and schema.hash_name not in dict(equalities):
        raise ValidationException(f"{_PARAMETER} must have all HASH attributes in SearchSchema")
    for name, value in equalities:
        if types[name] not in value and name == schema.hash_name:
            raise ValidationException(
                f"Type of '{name}' attribute in {_PARAMETER} ({type_of(value)}) "
                f"does not match type in search schema ({types[name]})"
            )
        if types[name] not in value:
            raise invalid("Condition parameter type does not match schema type")
        if name == schema.hash_name and is_empty(value):
            raise ValidationException(empty_key_message(name, types[name]))


# --- The answer ----------------------------------------------------------------------------------


async def _search(
    backend: Backend, index: Index, query: tuple[float, ...], top_k: int, equalities: Equalities
) -> list[Found]:
    """Returns the nearest entries, the nearest first. Raises UnsupportedOperation without NumPy."""
    if find_spec("numpy") is None:
        raise UnsupportedOperation(
            "SearchVectors needs NumPy, which is not installed: pip install 'faradisc[vectors]'"
        )
    from faradisc.engine.vectors.searching import Searched, Wanted  # noqa: PLC0415 - NumPy is optional

    schema = index.schema
    assert isinstance(schema, VectorSchema)
    assert index.vectors is not None
    hash_value = next((value for name, value in equalities if name == schema.hash_name), None)
    if any(name == schema.hash_name and value != hash_value for name, value in equalities):
        return []
    filters = [equality for equality in equalities if equality[0] != schema.hash_name]
    searched = Searched(
        backend.store, backend.catalog.vectors, index.vectors, schema, index.placement, backend.yield_control
    )
    return await searched.search(Wanted(query, top_k, hash_value, filters))


def _shown(entry: Item, schema: VectorSchema, projection: Projection | None) -> Item:
    """Returns the attributes of an entry; the vector only if the projection names it."""
    item = dict(entry)
    packed = numbers.packed_of(item.pop(schema.vector))
    if projection is None:
        return item
    if schema.vector in projection.top_level:
        item[schema.vector] = numbers.shown(packed)
    return projection.apply(item)
