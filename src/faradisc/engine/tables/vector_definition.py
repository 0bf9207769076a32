"""The vector indexes of CreateTable and UpdateTable requests.

Source: new-features.md section 13, rules 1 to 5; texts of errors.md section 7. Assumed: the texts that
neither has (several HASH elements, too many filters, one attribute twice, an empty list).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.engine.tables.definition import (
    TableDefinition,
    attribute_types,
    check_projected_total,
    checked_projection,
    redefined,
    take_name,
)
from faradisc.engine.tables.state import UNASSIGNED, TableState, VectorIndexState
from faradisc.errors import LimitExceededException, ResourceNotFoundException, ValidationException, invalid

VECTOR_INDEXES_PER_TABLE_MAX = 5
INLINE_FILTERS_MAX = 18
DIMENSIONS_MAX = 4096

ON_DEMAND_ONLY = "Vector indexes are only supported for PAY_PER_REQUEST tables"


def add_vector_indexes(definition: TableDefinition, request: Mapping[str, Any]) -> None:
    """Adds the VectorIndexes of a CreateTable request to its definition. Raises ValidationException."""
    requested = request.get("VectorIndexes")
    if requested is None:
        return
    if not requested:
        raise invalid("List of VectorIndexes is empty")
    if definition.billing_mode != "PAY_PER_REQUEST":
        raise invalid(ON_DEMAND_ONLY)
    if len(requested) > VECTOR_INDEXES_PER_TABLE_MAX:
        raise invalid(f"VectorIndex count exceeds the per-table limit of {VECTOR_INDEXES_PER_TABLE_MAX}")
    types = dict(definition.definitions)
    names = {index.name for index in definition.local_indexes + definition.global_indexes}
    dimensions: dict[str, int] = {}
    for index in requested:
        definition.vector_indexes.append(_vector_index(index, types, names, dimensions))
    check_projected_total([*definition.local_indexes, *definition.global_indexes, *definition.vector_indexes])


def _vector_index(
    index: Mapping[str, Any], types: Mapping[str, str], names: set[str], dimensions: dict[str, int]
) -> VectorIndexState:
    """Returns the definition of a vector index; adds its name to `names`, and the dimensions of its
    attribute to `dimensions`. Raises ValidationException."""
    name, attribute = index["IndexName"], index["VectorAttribute"]["AttributeName"]
    take_name(name, names)
    if attribute in types:
        raise invalid(_defined_vector(attribute))
    search_schema = _search_schema(index.get("SearchSchema", ()), types)
    count = index["Dimensions"]
    if not 1 <= count <= DIMENSIONS_MAX:
        raise invalid(f"Number of dimensions must be between 1 and {DIMENSIONS_MAX} inclusive.")
    if dimensions.setdefault(attribute, count) != count:
        raise invalid(
            f"Conflicting attribute definition for '{attribute}'. "
            "All VectorIndexes on the same vector attribute must use the same dimensions."
        )
    kind, attributes = checked_projection(index["Projection"])
    return VectorIndexState(
        name, UNASSIGNED, attribute, count, index["DistanceFunction"], search_schema, kind, attributes
    )


def _defined_vector(attribute: str) -> str:
    return (
        f"Conflicting attribute definition for '{attribute}'. "
        "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
    )


def _search_schema(elements: Sequence[Mapping[str, str]], types: Mapping[str, str]) -> list[tuple[str, str]]:
    searched = [(e["AttributeName"], e["SearchSchemaElementType"]) for e in elements]
    kinds = [kind for _, kind in searched]
    if any(name not in types for name, _ in searched):
        raise invalid("One element in SearchSchema is not defined in attribute definitions")
    if len(dict(searched)) != len(searched):
        raise invalid("Each attribute may appear only once in the SearchSchema")
    if kinds.count("HASH") > 1:
        raise invalid("SearchSchema can have at most one HASH element")
    if kinds.count("INLINE_FILTER") > INLINE_FILTERS_MAX:
        raise invalid(f"SearchSchema can have at most {INLINE_FILTERS_MAX} INLINE_FILTER elements")
    return searched


# --- UpdateTable ---------------------------------------------------------------------------------


def vector_updates(request: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Returns from VectorIndexUpdates: indexes to create, names to delete. Raises ValidationException."""
    created: list[Mapping[str, Any]] = []
    deleted: list[str] = []
    for update in request.get("VectorIndexUpdates", ()):
        if ("Create" in update) == ("Delete" in update):
            raise invalid("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
        if "Create" in update:
            created.append(update["Create"])
        else:
            deleted.append(update["Delete"]["IndexName"])
    return created, deleted


def change_vector_indexes(
    state: TableState, request: Mapping[str, Any], created: list[Mapping[str, Any]], deleted: list[str]
) -> bool:
    """Adds or removes a vector index. Raises ValidationException, LimitExceededException,
    ResourceNotFoundException.

    Requires that the changes of global indexes in the same request have been made.
    """
    given = attribute_types(request)
    dimensions = {index.vector_attribute: index.dimensions for index in state.vector_indexes}
    for attribute in dimensions:
        if attribute in given:
            raise invalid(_defined_vector(attribute))
    if not created and not deleted:
        return False
    if created and (state.pending.billing_mode or state.billing_mode) != "PAY_PER_REQUEST":
        raise invalid(ON_DEMAND_ONLY)
    check_one_operation(state, len(created), deleted)
    names = {index.name for index in (*state.local_indexes, *state.online_indexes())}
    for action in created:
        if action["IndexName"] in names:
            raise ValidationException("Attempting to create an index which already exists")
    present = {index.name for index in state.vector_indexes}
    if not present.issuperset(deleted):
        raise ResourceNotFoundException
    types = {**given, **{name: kind for name, kind in state.definitions if name in given}}
    for action in created:
        definition = _vector_index(action, types, names, dimensions)
        _check_not_redefined(state, definition)
        if len(state.vector_indexes) >= VECTOR_INDEXES_PER_TABLE_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit "
                f"of {VECTOR_INDEXES_PER_TABLE_MAX}"
            )
        definition.status = "CREATING"
        state.pending.allocating.append(definition.name)
        state.vector_indexes.append(definition)
        defined = dict(state.definitions)
        searched = dict(definition.search_schema)
        state.definitions += [(n, kind) for n, kind in types.items() if n in searched and n not in defined]
    for index in state.vector_indexes:
        if index.name in deleted:
            index.status = "DELETING"
    return True


def check_one_operation(state: TableState, starting: int, deleted: Sequence[str]) -> None:
    """Allows one online index operation at a time, of global and vector indexes together. The deletion of
    an index that is CREATING replaces its creation. Raises LimitExceededException."""
    changing = [index for index in state.online_indexes() if index.status != "ACTIVE"]
    cancelled = [index for index in changing if index.name in deleted and index.status == "CREATING"]
    if starting + len(deleted) + len(changing) - len(cancelled) > 1:
        raise several_operations()


def several_operations() -> LimitExceededException:
    """Returns the error of a second online index operation."""
    return LimitExceededException(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    )


def _check_not_redefined(state: TableState, definition: VectorIndexState) -> None:
    """A key attribute cannot contain vectors. Raises ValidationException."""
    attribute = definition.vector_attribute
    if attribute in dict(state.definitions):
        new = f"VectorIndexSchema:[VectorAttribute: key{{{attribute}:L:{definition.dimensions}}}]"
        raise redefined(state, attribute, new)
