"""Derived things without a field of their own in a table's state, and how they are switched on and off.

`TableState.features` has their numbers and settings, by the name of their kind. A kind that is new to the
program is one class below `FeatureKind` and one below `Derived`, and an entry in the list of kinds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from faradisc.engine.tables.catalog import Catalog
from faradisc.engine.tables.derived import Derived, DerivedKind, LiveParts
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import UNASSIGNED, FeatureState, TableState
from faradisc.engine.tables.table import Table
from faradisc.errors import ResourceInUseException
from faradisc.storage.api import Part

FEATURE_JOB = b"feature"
"""Names the cursors of the filling of features."""


class FeatureKind(DerivedKind):
    @abstractmethod
    def made(self, table: TableLayout, feature: FeatureState, live: LiveParts) -> Derived:
        """Returns what a table has of this kind."""

    def of(self, table: TableLayout, live: LiveParts) -> Iterable[Derived]:
        feature = table.state.features.get(self.name)
        if feature is None or feature.dropped:
            return ()
        return (self.made(table, feature, live),)

    def assign(self, state: TableState, numbers: Iterator[int]) -> None:
        feature = state.features.get(self.name)
        if feature is not None and feature.resource == UNASSIGNED:
            feature.resource = next(numbers)

    def dropped(self, table: TableLayout, live: LiveParts) -> Iterable[Part]:
        feature = table.state.features.get(self.name)
        if feature is None or not feature.dropped:
            return ()
        return self.made(table, feature, live).parts()

    def settle(self, state: TableState) -> None:
        feature = state.features.get(self.name)
        if feature is not None and feature.dropped:
            del state.features[self.name]

    def restored(self, state: TableState) -> dict[str, FeatureState]:
        feature = state.features.get(self.name)
        if feature is None or feature.dropped:
            return {}
        return {self.name: FeatureState(filled=True, settings=feature.settings)}


class Feature(Derived):
    """One that `TableState.features` has."""

    job = FEATURE_JOB

    def __init__(self, table: TableLayout, feature: FeatureState, words: str) -> None:
        super().__init__(table, feature.resource, words)
        self.is_filled = feature.filled

    def filled(self, state: TableState) -> bool:
        for feature in state.features.values():
            if feature.resource == self.resource:
                feature.filled = True
                return True
        return False


async def add_feature(catalog: Catalog, table: Table, name: str, **settings: Any) -> Table:
    """Gives a table a feature, which is then filled in the background. Returns the table.

    Raises ResourceInUseException if the table has it.
    """

    def change(state: TableState) -> bool:
        if name in state.features:
            raise ResourceInUseException(f"Table {state.name} has {name}")
        state.features[name] = FeatureState(settings=settings)
        return False

    return await catalog.update(table, change, while_in_use=True)


async def remove_feature(catalog: Catalog, table: Table, name: str) -> Table:
    """Removes a feature and its rows, if the table has it."""

    def change(state: TableState) -> bool:
        if name in state.features:
            state.features[name].dropped = True
        return False

    return await catalog.update(table, change, while_in_use=True)
