"""The definition of a restored table: its source's, with the request's overrides.

A restored table has the schema, the indexes or some of them, and by default the throughput of its source. It
has no stream, no time to live, no tags, no deletion protection and no point-in-time recovery. Source: the
service's documentation of both restores; errors.md section 6.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from faradisc.engine.tables.definition import (
    TableDefinition,
    checked_projection,
    checked_units,
    elements_of,
    table_units,
    take_name,
)
from faradisc.engine.tables.state import (
    UNASSIGNED,
    Elements,
    IndexState,
    TableState,
    UnitsState,
    VectorIndexState,
)
from faradisc.engine.tables.throughput_members import Maximum, checked_maximum
from faradisc.engine.tables.vector_definition import ON_DEMAND_ONLY
from faradisc.errors import ValidationException, invalid
from faradisc.limits import TABLE_CAPACITY_UNITS_MAX

_OVERRIDDEN = "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"

AnyIndex = TypeVar("AnyIndex", IndexState, VectorIndexState)


def restored_definition(source: TableState, request: Mapping[str, Any]) -> TableDefinition:
    """Returns the definition. Raises ValidationException, LimitExceededException."""
    billing_mode = request.get("BillingModeOverride", source.billing_mode)
    throughput = request.get("ProvisionedThroughputOverride")
    if throughput is not None and request.get("BillingModeOverride") == "PAY_PER_REQUEST":
        raise _refused(_OVERRIDDEN)
    if throughput is not None and billing_mode != "PROVISIONED":
        raise _refused("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
    if throughput is None and billing_mode != source.billing_mode and billing_mode == "PROVISIONED":
        raise _refused("Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED")
    units = _units(source, throughput, billing_mode)
    vector_indexes = _vector_indexes(source, request.get("VectorIndexOverride"))
    if vector_indexes and billing_mode != "PAY_PER_REQUEST":
        raise invalid(ON_DEMAND_ONLY)
    definition = TableDefinition(
        source.definitions,
        source.key_schema,
        billing_mode,
        units,
        _local_indexes(source, request.get("LocalSecondaryIndexOverride")),
        _global_indexes(source, request.get("GlobalSecondaryIndexOverride"), billing_mode),
        vector_indexes=vector_indexes,
        maximum=_maximum(request.get("OnDemandThroughputOverride"), source.on_demand_maximum, billing_mode),
    )
    definition.definitions = _used(source, definition)
    return definition


def _used(source: TableState, definition: TableDefinition) -> list[tuple[str, str]]:
    """Returns the attribute definitions that the restored keys and indexes use."""
    return replace(
        source,
        local_indexes=definition.local_indexes,
        global_indexes=definition.global_indexes,
        vector_indexes=definition.vector_indexes,
    ).used_definitions()


def _refused(text: str) -> ValidationException:
    return ValidationException(f"Invalid Request: {text}")


def _units(source: TableState, throughput: Mapping[str, int] | None, billing_mode: str) -> tuple[int, int]:
    """Returns the requested provisioned units, or else those of a provisioned source."""
    if throughput is None and billing_mode == source.billing_mode == "PROVISIONED":
        return source.throughput.units
    return table_units(throughput, billing_mode)


def _maximum(
    override: Mapping[str, int] | None, present: Maximum, billing_mode: str, index: str | None = None
) -> Maximum:
    """Returns the requested on-demand maximum, else the source's while the table is on demand."""
    if override is None and billing_mode == "PAY_PER_REQUEST":
        return list(present)
    for member, wanted in (override or {}).items():
        if billing_mode != "PAY_PER_REQUEST":
            raise _refused(
                f"Cannot override {member} for OnDemandThroughput "
                "unless BillingModeOverride is PAY_PER_REQUEST"
            )
        if not 1 <= wanted <= TABLE_CAPACITY_UNITS_MAX:
            raise _refused(f"Requested {member} for OnDemandThroughput is outside of valid range")
    return checked_maximum(override, billing_mode, None, index)


# --- Indexes -------------------------------------------------------------------------------------


def _present(indexes: Sequence[AnyIndex]) -> list[AnyIndex]:
    """Returns the indexes that are restored: including those being filled, without those being deleted."""
    return [each for each in indexes if each.status != "DELETING"]


def _definition(
    stored: IndexState, units: tuple[int, int] = (0, 0), *, name: str | None = None
) -> IndexState:
    """Returns the definition of a restored index. name: another one than that of the source's."""
    attributes, throughput = list(stored.non_key_attributes), UnitsState(*units)
    key = list(stored.key_schema)
    return IndexState(name or stored.name, UNASSIGNED, key, stored.projection, attributes, throughput)


def _matching(wanted: Mapping[str, Any], indexes: Sequence[AnyIndex]) -> AnyIndex:
    """Returns the source's index that has the keys and projection of an override's element; of several the
    one of its name. Raises ValidationException."""
    name = wanted["IndexName"]
    kind, attributes = checked_projection(wanted["Projection"])
    wanted_key = elements_of(wanted.get("KeySchema", ()))
    for stored in sorted(indexes, key=lambda each: each.name != name):
        key: Elements = stored.key_schema if isinstance(stored, IndexState) else []
        same_attributes = set(stored.non_key_attributes) == set(attributes)
        if key == wanted_key and stored.projection == kind and same_attributes:
            return stored
    raise _unknown(name)


def _unknown(index: str) -> ValidationException:
    return _refused(
        f"Index {index} does not match a secondary index that existed in the source table and cannot be "
        "created during the restore operation"
    )


def _check_distinct(override: Sequence[Mapping[str, Any]]) -> None:
    names: set[str] = set()
    for each in override:
        take_name(each["IndexName"], names)


def _local_indexes(source: TableState, override: Sequence[Mapping[str, Any]] | None) -> list[IndexState]:
    if override is None:
        return [_definition(each) for each in source.local_indexes]
    _check_distinct(override)
    return [_definition(_matching(each, source.local_indexes), name=each["IndexName"]) for each in override]


def _global_indexes(
    source: TableState, override: Sequence[Mapping[str, Any]] | None, billing_mode: str
) -> list[IndexState]:
    present = _present(source.global_indexes)
    provisioned = billing_mode == "PROVISIONED"
    if override is None:
        definitions = []
        for stored in present:
            units = stored.throughput.units if provisioned else (0, 0)
            if provisioned and not all(units):
                raise _refused(f"Must specify provisioned throughput for index {stored.name}")
            definitions.append(_definition(stored, units))
            definitions[-1].on_demand_maximum = _maximum(None, stored.on_demand_maximum, billing_mode)
        return definitions
    _check_distinct(override)
    definitions = []
    for wanted in override:
        stored, name = _matching(wanted, present), wanted["IndexName"]
        throughput = wanted.get("ProvisionedThroughput")
        if not provisioned and throughput is not None:
            raise _refused(f"{_OVERRIDDEN} for index {name}")
        if provisioned and throughput is None:
            raise _refused(f"Must specify provisioned throughput for index {name}")
        units = checked_units(throughput, name) if throughput is not None else (0, 0)
        definitions.append(_definition(stored, units, name=name))
        wanted_maximum = wanted.get("OnDemandThroughput")
        definitions[-1].on_demand_maximum = _maximum(
            wanted_maximum, stored.on_demand_maximum, billing_mode, name
        )
    return definitions


def _vector_indexes(
    source: TableState, override: Sequence[Mapping[str, Any]] | None
) -> list[VectorIndexState]:
    present = _present(source.vector_indexes)
    if override is None:
        return [_vector_definition(each) for each in present]
    _check_distinct(override)
    definitions = []
    for wanted in override:
        stored = _matching(wanted, [each for each in present if each.name == wanted["IndexName"]])
        definition = _vector_definition(stored)
        searched = [
            (element["AttributeName"], element["SearchSchemaElementType"])
            for element in wanted.get("SearchSchema", ())
        ]
        given = (
            wanted["VectorAttribute"]["AttributeName"],
            wanted["Dimensions"],
            wanted["DistanceFunction"],
            searched,
        )
        if given != (
            definition.vector_attribute,
            definition.dimensions,
            definition.distance_function,
            definition.search_schema,
        ):
            raise _unknown(definition.name)
        definitions.append(definition)
    return definitions


def _vector_definition(stored: VectorIndexState) -> VectorIndexState:
    return replace(stored, resource=UNASSIGNED, status="ACTIVE", until_ns=None)
