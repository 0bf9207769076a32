"""The definition of a restored table: its source's, with the request's overrides.

A restored table has the schema, the indexes or some of them, and by default the throughput of its source. It
has no stream, no time to live, no tags, no deletion protection and no point-in-time recovery. Source: the
service's documentation of both restores. Assumed: the texts of errors.
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
    invalid,
    table_units,
    take_name,
)
from faradisc.engine.tables.state import (
    UNASSIGNED,
    Elements,
    IndexState,
    TableState,
    Throughput,
    VectorIndexState,
)
from faradisc.engine.tables.throughput_members import Maximum, checked_maximum
from faradisc.engine.tables.vector_definition import ON_DEMAND_ONLY

AnyIndex = TypeVar("AnyIndex", IndexState, VectorIndexState)


def restored_definition(source: TableState, request: Mapping[str, Any]) -> TableDefinition:
    """Returns the definition. Raises ValidationException, LimitExceededException."""
    billing_mode = request.get("BillingModeOverride", source.billing_mode)
    units = _units(source, request.get("ProvisionedThroughputOverride"), billing_mode)
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
    names = {each.name for each in definition.local_indexes + definition.global_indexes}
    kept_vectors = {each.name for each in definition.vector_indexes}
    state = source.copy()
    state.local_indexes = [each for each in state.local_indexes if each.name in names]
    state.global_indexes = [each for each in state.global_indexes if each.name in names]
    state.vector_indexes = [each for each in state.vector_indexes if each.name in kept_vectors]
    return state.used_definitions()


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
    return checked_maximum(override, billing_mode, None, index)


# --- Indexes -------------------------------------------------------------------------------------


def _present(indexes: Sequence[AnyIndex]) -> list[AnyIndex]:
    """Returns the indexes that are restored: including those being filled, without those being deleted."""
    return [each for each in indexes if each.status != "DELETING"]


def _definition(stored: IndexState, units: tuple[int, int] = (0, 0)) -> IndexState:
    attributes, throughput = list(stored.non_key_attributes), Throughput(*units)
    return IndexState(
        stored.name, UNASSIGNED, list(stored.key_schema), stored.projection, attributes, throughput
    )


def _matching(wanted: Mapping[str, Any], indexes: Sequence[AnyIndex], member: str) -> AnyIndex:
    """Returns the source's index that equals an override's element. Raises ValidationException."""
    name = wanted["IndexName"]
    kind, attributes = checked_projection(wanted["Projection"])
    wanted_key = elements_of(wanted.get("KeySchema", ()))
    for stored in indexes:
        key: Elements = stored.key_schema if isinstance(stored, IndexState) else []
        same_attributes = set(stored.non_key_attributes) == set(attributes)
        if stored.name == name and key == wanted_key and stored.projection == kind and same_attributes:
            return stored
    raise invalid(f"{member}: the source has no index like this one: {name}")


def _check_distinct(override: Sequence[Mapping[str, Any]]) -> None:
    names: set[str] = set()
    for each in override:
        take_name(each["IndexName"], names)


def _local_indexes(source: TableState, override: Sequence[Mapping[str, Any]] | None) -> list[IndexState]:
    if override is None:
        return [_definition(each) for each in source.local_indexes]
    _check_distinct(override)
    member = "LocalSecondaryIndexOverride"
    return [_definition(_matching(each, source.local_indexes, member)) for each in override]


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
                raise invalid(f"ProvisionedThroughput must be specified for index: {stored.name}")
            definitions.append(_definition(stored, units))
            definitions[-1].on_demand_maximum = _maximum(None, stored.on_demand_maximum, billing_mode)
        return definitions
    _check_distinct(override)
    definitions = []
    for wanted in override:
        stored = _matching(wanted, present, "GlobalSecondaryIndexOverride")
        throughput = wanted.get("ProvisionedThroughput")
        if not provisioned and throughput is not None:
            raise invalid(
                f"ProvisionedThroughput should not be specified for index: {stored.name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        if provisioned and throughput is None:
            raise invalid(f"ProvisionedThroughput must be specified for index: {stored.name}")
        units = checked_units(throughput, stored.name) if throughput is not None else (0, 0)
        definitions.append(_definition(stored, units))
        wanted_maximum = wanted.get("OnDemandThroughput")
        definitions[-1].on_demand_maximum = _maximum(
            wanted_maximum, stored.on_demand_maximum, billing_mode, stored.name
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
        stored = _matching(wanted, present, "VectorIndexOverride")
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
            raise invalid(f"VectorIndexOverride: the source has no index like this one: {definition.name}")
        definitions.append(definition)
    return definitions


def _vector_definition(stored: VectorIndexState) -> VectorIndexState:
    return replace(stored, resource=UNASSIGNED, status="ACTIVE", until_ns=None)
