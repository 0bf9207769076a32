"""UpdateTable for strongly consistent global tables: three regions are added at once, and removed at once.

Checks of a creation: number of regions -> their kind -> distinct -> the table is none yet, empty, without
local indexes and expiry. Sources: errors.md section 6.11 (findings 202, 257 to 261); new-features.md section
11. Assumed: the texts for tables that are not empty, for local indexes and time to live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.table import Table
from faradisc.errors import ValidationException
from faradisc.records import dataclass
from faradisc.storage.api import Store

CAPABLE: Final = frozenset(
    {
        *("us-east-1", "us-east-2", "us-west-2"),
        *("eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1"),
        *("ap-northeast-1", "ap-northeast-2", "ap-northeast-3"),
    }
)
"""Regions of strongly consistent tables. The service accepts them across the sets of its documentation."""
_STRONG: Final = "global tables with MultiRegionConsistency set to STRONG"
ONE_REPLICA: Final = f"Deletion of only one table replica is not supported for {_STRONG}."
NO_EXPIRY: Final = f"Time to live is not supported for {_STRONG}."
_REGIONS: Final = 3


@dataclass(frozen=True, slots=True)
class StrongChange:
    """What happens to a strongly consistent group."""

    creates: bool
    witnesses: tuple[str, ...]

    def apply(self, group: ReplicaGroup) -> None:
        group.strong = True
        status = "CREATING" if self.creates else "DELETING"
        group.witnesses |= dict.fromkeys(self.witnesses, status)


def change_of_strong(
    request: Mapping[str, Any], kind: str, regions: Sequence[str], table: Table, group: ReplicaGroup | None
) -> StrongChange | None:
    """Returns the change of a request with ReplicaUpdates of one kind; None for eventual consistency.

    regions: of the replicas. group: of the table. Raises ValidationException.
    """
    consistency = request.get("MultiRegionConsistency")
    updates = request.get("GlobalTableWitnessUpdates", ())
    actions = [(doing, each["RegionName"]) for update in updates for doing, each in update.items()]
    witnesses = tuple(region for _, region in actions)
    if consistency is not None and kind != "Create":
        raise ValidationException(
            "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided."
        )
    if kind == "Create" and witnesses and consistency != "STRONG":
        raise ValidationException(
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is "
            "present."
        )
    if consistency == "STRONG":
        _check_regions(regions, witnesses, table.state.region)
        if any(doing != "Create" for doing, _ in actions):
            raise ValidationException("Cannot target multiple regions with the same action")
    if group is not None:
        if consistency is not None:
            raise ValidationException(
                "MultiRegionConsistency parameter is unsupported on existing global table"
            )
        return _change_existing(kind, regions, witnesses, group) if group.strong else None
    if consistency != "STRONG":
        return None
    if table.state.local_indexes:
        raise ValidationException(f"Local secondary indexes are not supported for {_STRONG}.")
    if table.state.ttl is not None and table.state.ttl.enabled:
        raise ValidationException(NO_EXPIRY)
    return StrongChange(True, witnesses)


def _check_regions(regions: Sequence[str], witnesses: Sequence[str], own: str) -> None:
    if len(regions) + len(witnesses) + 1 != _REGIONS:
        raise ValidationException(f"Unsupported replica count for {_STRONG}.")
    unsupported = sorted({own, *regions, *witnesses} - CAPABLE)
    if unsupported:
        raise ValidationException(
            f"Unsupported Region(s) specified for {_STRONG}: [{', '.join(unsupported)}]."
        )
    if len({*regions, *witnesses}) != len(regions) + len(witnesses):
        raise ValidationException("Cannot target multiple regions with the same action")
    if own in witnesses:
        raise ValidationException(
            "Cannot add a witness in the same region as an existing replica when creating a global table "
            "with MultiRegionConsistency set to STRONG."
        )


def _change_existing(
    kind: str, regions: Sequence[str], witnesses: tuple[str, ...], group: ReplicaGroup
) -> StrongChange | None:
    if kind == "Create":
        raise ValidationException("Cannot add replicas to a global table with strong MultiRegionConsistency")
    if kind != "Delete":
        return None
    unknown = [region for region in witnesses if region not in group.witnesses]
    if unknown:
        raise ValidationException(
            "Update global table operation failed because one or more witnesses were not part of the global "
            f"table. Please retry the request without these witnesses: [{', '.join(unknown)}]."
        )
    if set(group.witnesses) - set(witnesses):
        raise ValidationException("Update table delete operation does not include all witnesses.")
    if len(regions) != len(group.replicas) - 1:
        raise ValidationException(ONE_REPLICA)
    return StrongChange(False, witnesses)


async def check_empty(store: Store, table: Table) -> None:
    """Raises ValidationException for a table with items."""
    for part in table.placement.parts:
        if (await store.usage(part))[0]:
            raise ValidationException(f"The table must be empty to be one of {_STRONG}.")
