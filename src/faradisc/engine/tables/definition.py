"""The definition in a CreateTable request, checked in the service's order.

Source: errors.md section 6.1; new-features.md section 10 for keys of several attributes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.engine.tables.state import (
    UNASSIGNED,
    Elements,
    IndexState,
    TableState,
    UnitsState,
    VectorIndexState,
)
from faradisc.engine.tables.throughput_members import NO_MAXIMUM, Maximum, checked_maximum, warm_of_definition
from faradisc.errors import UnsupportedOperation, ValidationException, invalid
from faradisc.limits import (
    GSI_HASH_ATTRIBUTES_MAX,
    GSI_PER_TABLE_MAX,
    GSI_RANGE_ATTRIBUTES_MAX,
    LSI_PER_TABLE_MAX,
    PROJECTED_ATTRIBUTES_PER_TABLE_MAX,
    TAG_KEY_CHARACTERS_MAX,
    TAG_VALUE_CHARACTERS_MAX,
    TAGS_BYTES_MAX,
    TAGS_PER_RESOURCE_MAX,
    THROUGHPUT_NUMBER_MAX,
)
from faradisc.model.values.schema import ProjectionKind
from faradisc.records import dataclass, field


@dataclass(slots=True)
class TableDefinition:
    """The indexes have no resource numbers yet; `new_table` gives them theirs."""

    definitions: list[tuple[str, str]]
    key_schema: Elements
    billing_mode: str
    units: tuple[int, int]
    local_indexes: list[IndexState]
    global_indexes: list[IndexState]
    stream_view_type: str | None = None
    """None: no stream."""
    vector_indexes: list[VectorIndexState] = field(default_factory=list)
    maximum: Maximum = field(default_factory=NO_MAXIMUM.copy)
    """Configured on-demand maximum."""
    warm: tuple[int, int] | None = None
    """Requested warm throughput."""


_NOT_YET = {
    "GlobalTableSourceArn": "global tables of several accounts",
    "DisassociationProtectionEnabled": "the disassociation of replicas",
}


def reject_unsupported(request: Mapping[str, Any]) -> None:
    """Raises UnsupportedOperation for settings that this version does not support."""
    for member, what in _NOT_YET.items():
        if member in request:
            raise UnsupportedOperation(f"{member}: this version of Faradisc does not support {what}")


def table_definition(request: Mapping[str, Any]) -> TableDefinition:
    """Returns the definition in a CreateTable request. Raises ValidationException for its first error."""
    billing_mode = request.get("BillingMode", "PROVISIONED")
    units = table_units(request.get("ProvisionedThroughput"), billing_mode)
    for index in request.get("GlobalSecondaryIndexes", ()):
        _check_bounds(index.get("ProvisionedThroughput"), index["IndexName"])
    for member in ("AttributeDefinitions", "KeySchema"):
        if member not in request:
            raise ValidationException(
                f"1 validation error detected: Value null at '{member[0].lower()}{member[1:]}' failed to "
                "satisfy constraint: Member must not be null"
            )
    types = attribute_types(request)
    definitions = list(types.items())
    key_schema = elements_of(request["KeySchema"])
    _check_table_key(key_schema, types)
    local, global_ = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    # With vector attributes: vector_definition.py rejects one that is defined, with its own text.
    searched = [
        element["AttributeName"]
        for index in request.get("VectorIndexes", ())
        for element in (*index.get("SearchSchema", ()), index["VectorAttribute"])
        if element["AttributeName"] in types
    ]
    if local is None and global_ is None and not searched and len(key_schema) != len(definitions):
        raise invalid(
            "Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions"
        )
    for member, indexes in (("GlobalSecondaryIndexes", global_), ("LocalSecondaryIndexes", local)):
        if indexes is not None and not indexes:
            raise invalid(f"List of {member} is empty")
    keys = [key_schema]
    for check_key, indexes in ((_check_two_elements, local), (_check_global_key, global_)):
        for index in indexes or ():
            keys.append(elements_of(index["KeySchema"]))
            _check_index_defined(keys[-1], types)
            check_key(keys[-1])
    _check_all_used(definitions, keys, searched)
    names: set[str] = set()
    local_indexes = [_local_index(index, key_schema, names) for index in local or ()]
    global_indexes = [global_index(index, types, names, billing_mode) for index in global_ or ()]
    if len(local_indexes) > LSI_PER_TABLE_MAX:
        raise invalid(f"Number of LocalSecondaryIndexes exceeds per-table limit of {LSI_PER_TABLE_MAX}")
    if len(global_indexes) > GSI_PER_TABLE_MAX:
        raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {GSI_PER_TABLE_MAX}")
    check_projected_total([*local_indexes, *global_indexes])
    view_type = _stream_view_type(request.get("StreamSpecification"))
    return TableDefinition(
        definitions,
        key_schema,
        billing_mode,
        units,
        local_indexes,
        global_indexes,
        view_type,
        maximum=checked_maximum(request.get("OnDemandThroughput"), billing_mode, None),
        warm=warm_of_definition(request, billing_mode, units),
    )


def _stream_view_type(specification: Mapping[str, Any] | None) -> str | None:
    if specification is None:
        return None
    view_type: str | None = specification.get("StreamViewType")
    if specification["StreamEnabled"] and view_type is None:
        raise invalid("Table is being created with a stream enabled, UpdateViewType is required")
    if not specification["StreamEnabled"] and view_type is not None:
        raise invalid("Table is being created with a stream disabled, UpdateViewType should not be specified")
    return view_type


# --- Throughput ----------------------------------------------------------------------------------


def table_units(throughput: Mapping[str, int] | None, billing_mode: str) -> tuple[int, int]:
    """Returns the provisioned units of a new table; zeros on demand. Raises ValidationException."""
    if billing_mode == "PAY_PER_REQUEST":
        if throughput is not None:
            raise invalid(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return (0, 0)
    if throughput is None:
        raise invalid(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    return checked_units(throughput)


def checked_units(throughput: Mapping[str, int], index: str | None = None) -> tuple[int, int]:
    """Returns read and write units of a ProvisionedThroughput member. Raises ValidationException."""
    _check_bounds(throughput, index)
    return throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]


def checked_change(throughput: Mapping[str, int], index: str | None = None) -> tuple[int | None, int | None]:
    """Returns read and write units of a ProvisionedThroughput member; None for one that is left out and
    stays as it is. Clients name both, as the model requires; auto scaling names the one that it scales.
    Raises ValidationException."""
    _check_bounds(throughput, index)
    return throughput.get("ReadCapacityUnits"), throughput.get("WriteCapacityUnits")


def _check_bounds(throughput: Mapping[str, int] | None, index: str | None) -> None:
    where = f" for index {index}" if index is not None else ""
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput is not None and throughput.get(member, 0) > THROUGHPUT_NUMBER_MAX:
            raise ValidationException(
                f"Given value {throughput[member]} for {member} is out of bounds{where}"
            )


# --- Keys ----------------------------------------------------------------------------------------


def attribute_types(request: Mapping[str, Any]) -> dict[str, str]:
    """Returns the types in AttributeDefinitions by attribute. Raises ValidationException."""
    types: dict[str, str] = {}
    for definition in request.get("AttributeDefinitions", ()):
        name = definition["AttributeName"]
        if name in types:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        types[name] = definition["AttributeType"]
    return types


def redefined(state: TableState, attribute: str, new: str) -> ValidationException:
    """Returns the error of an attribute that a new index defines in another way than the table does.

    new: the new schema. Source of the text: errors.md section 6.1.
    """
    elements = [*state.key_schema]
    for index in state.local_indexes + state.global_indexes:
        elements += index.key_schema
    kind = dict(reversed(elements)).get(attribute, "HASH")
    return invalid(
        "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        f"defined. Existing schema: Schema:[SchemaElement: key{{{attribute}:"
        f"{dict(state.definitions)[attribute]}:{kind}}}] New schema: {new}"
    )


def elements_of(key_schema: Sequence[Mapping[str, str]]) -> Elements:
    """Returns the elements of a KeySchema member."""
    return [(element["AttributeName"], element["KeyType"]) for element in key_schema]


def _java_list(names: Sequence[str]) -> str:
    return "[" + ", ".join(names) + "]"


def _check_table_key(elements: Elements, types: Mapping[str, str]) -> None:
    if len(dict(elements)) < len(elements) or not types:
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    _check_index_defined(elements, types)
    _check_two_elements(elements)


def _check_two_elements(elements: Elements) -> None:
    if len(elements) > 1 and elements[0][0] == elements[1][0]:
        raise ValidationException(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        )
    if elements[0][1] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(elements) > 1 and elements[1][1] != "RANGE":
        raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def _check_index_defined(elements: Elements, types: Mapping[str, str]) -> None:
    missing = [name for name, _ in elements if name not in types]
    if missing:
        raise invalid(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: {_java_list(missing)}, AttributeDefinitions: {_java_list(list(types))}"
        )


def _check_global_key(elements: Elements) -> None:
    """Checks for 1 to 4 HASH elements, then 0 to 4 RANGE elements, each name once."""
    kinds = [kind for _, kind in elements]
    if len(elements) < 2 or (len(elements) == 2 and kinds != ["HASH", "HASH"]):
        _check_two_elements(elements)  # its texts are those for indexes of at most two attributes
        return
    names = [name for name, _ in elements]
    if kinds[0] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if kinds != sorted(kinds):
        raise invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
    if len(set(names)) != len(names):
        raise ValidationException("The KeySchema contains multiple key attributes with the same name")
    for kind, most in (("HASH", GSI_HASH_ATTRIBUTES_MAX), ("RANGE", GSI_RANGE_ATTRIBUTES_MAX)):
        if kinds.count(kind) > most:
            raise invalid(f"The KeySchema exceeds the maximum allowed number of {kind} key attributes")


# --- Indexes -------------------------------------------------------------------------------------


def _local_index(index: Mapping[str, Any], table_key: Elements, names: set[str]) -> IndexState:
    elements = elements_of(index["KeySchema"])
    name = index["IndexName"]
    if len(table_key) < 2:
        raise invalid(
            "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    if len(elements) < 2:
        raise invalid(f"Index KeySchema does not have a range key for index: {name}")
    if elements[0][0] != table_key[0][0]:
        raise invalid(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{name}. index hash key: {elements[0][0]}, table hash key: {table_key[0][0]}"
        )
    definition = _index_definition(index, elements)
    take_name(definition.name, names)
    return definition


def global_index(
    index: Mapping[str, Any],
    types: Mapping[str, str],
    names: set[str],
    billing_mode: str,
    *,
    added: bool = False,
) -> IndexState:
    """Returns the definition of a global index, and adds its name to `names`. Raises ValidationException.

    added: to a table that exists, which has other texts about units.
    """
    elements = elements_of(index["KeySchema"])
    _check_index_defined(elements, types)
    _check_global_key(elements)
    definition = _index_definition(index, elements)
    throughput = index.get("ProvisionedThroughput")
    if billing_mode == "PAY_PER_REQUEST":
        if throughput is not None:
            what = "Neither ReadCapacityUnits nor WriteCapacityUnits can"
            what = what if added else "ProvisionedThroughput should not"
            raise invalid(
                f"{what} be specified for index: {definition.name} when BillingMode is PAY_PER_REQUEST"
            )
    elif throughput is None:
        what = "Both ReadCapacityUnits and WriteCapacityUnits must be"
        what = what if added else "ProvisionedThroughput is not"
        raise invalid(f"{what} specified for index: {definition.name}")
    else:
        definition.throughput = UnitsState(*checked_units(throughput, definition.name))
    take_name(definition.name, names)
    definition.on_demand_maximum = checked_maximum(
        index.get("OnDemandThroughput"), billing_mode, None, definition.name
    )
    definition.warm = warm_of_definition(index, billing_mode, definition.throughput.units, definition.name)
    return definition


def _index_definition(index: Mapping[str, Any], elements: Elements) -> IndexState:
    kind, attributes = checked_projection(index["Projection"])
    return IndexState(index["IndexName"], UNASSIGNED, elements, kind, attributes)


def take_name(name: str, names: set[str]) -> None:
    """Adds the name of an index. Raises ValidationException if it is taken."""
    if name in names:
        raise invalid(f"Duplicate index name: {name}")
    names.add(name)


def checked_projection(projection: Mapping[str, Any]) -> tuple[ProjectionKind, list[str]]:
    """Returns kind and named attributes of a Projection member. Raises ValidationException."""
    kind = projection.get("ProjectionType")
    attributes = projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid("Unknown ProjectionType: null")
    if attributes is not None and kind != "INCLUDE":
        raise invalid(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if attributes is None and kind == "INCLUDE":
        raise invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    named = list(attributes or ())
    for position, name in enumerate(named):
        if name in named[:position]:
            raise invalid(f"Duplicate element in NonKeyAttributes: {name}")
    return kind, named


def _check_all_used(
    definitions: Sequence[tuple[str, str]], keys: Sequence[Elements], searched: Sequence[str]
) -> None:
    used = dict.fromkeys([*(name for key in keys for name, _ in key), *searched])
    if any(name not in used for name, _ in definitions):
        raise invalid(
            "Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"{_java_list([name for name, _ in definitions])}, keys used: {_java_list(list(used))}"
        )


def check_projected_total(indexes: Sequence[IndexState | VectorIndexState]) -> None:
    """Checks the sum of attributes that all indexes name for projection. Raises ValidationException."""
    if sum(len(index.non_key_attributes) for index in indexes) > PROJECTED_ATTRIBUTES_PER_TABLE_MAX:
        raise invalid(
            "Number of projected attributes in all indexes exceeds per-table limit of "
            f"{PROJECTED_ATTRIBUTES_PER_TABLE_MAX}"
        )


# --- Tags ----------------------------------------------------------------------------------------


def checked_tags(tags: Sequence[Mapping[str, str]], present: Mapping[str, str]) -> dict[str, str]:
    """Returns `present` with the given tags added. Raises ValidationException.

    Source: errors.md section 6.10. Assumed: a tag is measured as its key and value in UTF-8.
    """
    given: dict[str, str] = {}
    for tag in tags:
        key, value = tag.get("Key"), tag.get("Value")
        check_tag_key(key)
        if value is None or len(value) > TAG_VALUE_CHARACTERS_MAX or not _may_stand_in_tag(value):
            shown = "null" if value is None else value
            raise ValidationException(f"The Tag Value provided is invalid, Value: {shown}")
        if key in given:
            raise ValidationException(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        given[str(key)] = value
    merged = {**present, **given}
    if len(merged) > TAGS_PER_RESOURCE_MAX:
        raise ValidationException("Number of Tags exceed the current limit for the provided ResourceArn")
    size = sum(len((key + value).encode()) for key, value in merged.items())
    if size > TAGS_BYTES_MAX:
        raise ValidationException(
            f"Tag set size {size} bytes is above max size limit of {TAGS_BYTES_MAX} bytes"
        )
    return merged


def check_tag_key(key: str | None) -> None:
    """Raises ValidationException."""
    if not key or len(key) > TAG_KEY_CHARACTERS_MAX or not _may_stand_in_tag(key):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {'null' if key is None else key}")
    if key.lower().startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")


def _may_stand_in_tag(text: str) -> bool:
    """Letters, digits and spaces of any script, and some signs. Source: limits.md section 1."""
    return all(character in "+-=._:/@" or unicodedata.category(character)[0] in "LNZ" for character in text)
