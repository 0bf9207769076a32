"""The replicas of a global table (version 2019.11.21): what every one of them stores of all.

A replica is a table of the same name in another region. Each has a copy of the group in its state, as the
settings of the feature `replication`; the copy of the highest rank counts, and is given to the others
(engine/replication/). Sources: new-features.md section 12; errors.md section 6.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faradisc.engine.tables.state import REPLICATION, FeatureState, TableState
from faradisc.records import asdict, dataclass, field

VERSION: Final = "2019.11.21"
WITH_OVERRIDES: Final = "ENABLED_WITH_OVERRIDES"
"""How replicas of one account share their settings: that is GlobalTableSettingsReplicationMode."""


@dataclass(slots=True)
class Replica:
    """One member of a group."""

    region: str
    status: str
    since_ns: int
    """When it was added."""
    source: str | None = None
    """The region that it was filled from; None for the first one."""
    text: str = ""
    """Why its creation has failed."""
    table_class: str | None = None
    """Its own, where it differs from that of the others."""
    max_read: int | None = None
    """Its own on-demand maximum of reads."""
    index_max_read: dict[str, int] = field(default_factory=dict)
    read_units: int | None = None
    """Its own provisioned reads."""
    index_read_units: dict[str, int] = field(default_factory=dict)
    key_arn: str | None = None
    """The master key of an encrypted replica."""

    def use_mode(self, mode: str) -> None:
        """Forgets what it had of its own in the other billing mode."""
        if mode == "PAY_PER_REQUEST":
            self.read_units, self.index_read_units = None, {}
        else:
            self.max_read, self.index_max_read = None, {}

    def forget_index(self, name: str) -> None:
        self.index_max_read.pop(name, None)
        self.index_read_units.pop(name, None)

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {"RegionName": self.region, "ReplicaStatus": self.status}
        if self.text:
            described["ReplicaStatusDescription"] = self.text
        if self.key_arn is not None:
            described["KMSMasterKeyId"] = self.key_arn
        described |= _overrides(self.read_units, self.max_read)
        names = sorted({*self.index_read_units, *self.index_max_read})
        if names:
            described["GlobalSecondaryIndexes"] = [
                {"IndexName": name}
                | _overrides(self.index_read_units.get(name), self.index_max_read.get(name))
                for name in names
            ]
        if self.table_class is not None:
            described["ReplicaTableClassSummary"] = {"TableClass": self.table_class}
        described["GlobalTableSettingsReplicationMode"] = WITH_OVERRIDES
        return described


def _overrides(read_units: int | None, max_read: int | None) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if read_units is not None:
        described["ProvisionedThroughputOverride"] = {"ReadCapacityUnits": read_units}
    if max_read is not None:
        described["OnDemandThroughputOverride"] = {"MaxReadRequestUnits": max_read}
    return described


@dataclass(slots=True)
class ReplicaGroup:
    """All replicas, in the order in which they were added."""

    group: str
    """Identifies it: a table of the same name may be no replica."""
    revision: int
    """Rises with every change of the group, and of a setting that its replicas have in common."""
    replicas: list[Replica]
    strong: bool = False
    """Whether it is strongly consistent (engine/replication/strong.py)."""
    witnesses: dict[str, str] = field(default_factory=dict)
    """The status of each witness by its region."""
    changed_in: str = ""
    """The region of the last change. Of two changes at two servers at once one holds: that of the region that
    is the greater text."""

    @classmethod
    def of(cls, state: TableState) -> ReplicaGroup | None:
        """Returns a copy of the group of a table; None for a table that is no replica."""
        feature = state.features.get(REPLICATION)
        if feature is None or feature.dropped:
            return None
        return cls.from_json(feature.settings)

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> ReplicaGroup:
        replicas = [Replica(**each) for each in settings["replicas"]]
        return cls(**{**settings, "replicas": replicas})

    def put(self, state: TableState) -> None:
        """Gives a table this group; one that it has alone ends its replication."""
        feature = state.features.setdefault(REPLICATION, FeatureState(filled=True))
        feature.settings = asdict(self)
        feature.dropped = len(self.replicas) < 2

    def raise_revision(self, region: str) -> None:
        """Notes a change that was made in a region."""
        self.revision += 1
        self.changed_in = region

    @property
    def rank(self) -> tuple[int, str]:
        """Of two states of a group the one of the higher rank holds."""
        return self.revision, self.changed_in

    def find(self, region: str) -> Replica | None:
        return next((each for each in self.replicas if each.region == region), None)

    @property
    def is_changing(self) -> bool:
        statuses = [*(each.status for each in self.replicas), *self.witnesses.values()]
        return any(status in ("CREATING", "UPDATING", "DELETING") for status in statuses)

    @property
    def home(self) -> str:
        """The region where time to live deletes items; they are deleted elsewhere by replication."""
        active = [each.region for each in self.replicas if each.status == "ACTIVE"]
        return active[0] if active else self.replicas[0].region


def describe_replicas(state: TableState) -> dict[str, Any]:
    """Returns what a description has of a replica: the others, not the table itself.

    Source: the public issue localstack/localstack 7426, for the absence of the table's own region.
    """
    group = ReplicaGroup.of(state)
    if group is None:
        mode = state.settings_replication
        return {} if mode is None else {"GlobalTableSettingsReplicationMode": mode}
    described: dict[str, Any] = {
        "GlobalTableVersion": VERSION,
        "Replicas": [each.describe() for each in group.replicas if each.region != state.region],
        "GlobalTableSettingsReplicationMode": WITH_OVERRIDES,
    }
    if group.strong:  # an eventually consistent one does not show it
        described["MultiRegionConsistency"] = "STRONG"
    if group.witnesses:
        described["GlobalTableWitnesses"] = [
            {"RegionName": region, "WitnessStatus": status} for region, status in group.witnesses.items()
        ]
    return described
