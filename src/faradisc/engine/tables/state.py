"""The stored state of a table: plain data, one JSON document a table in the catalog.

Fields added since the first format have defaults, so that older documents can be read. Fields whose stored
name differs from their name here are listed in `_STORED_NAMES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faradisc.auth.resource_policy import ResourcePolicy
from faradisc.engine.sealing.state import SealState
from faradisc.engine.tables.throughput_members import NO_MAXIMUM, Maximum
from faradisc.engine.vectors.schema import Distance
from faradisc.model.values.schema import ProjectionKind
from faradisc.records import asdict, dataclass, field

DAY_NS = 86_400 * 1_000_000_000

Elements = list[tuple[str, str]]
"""(attribute name, role) in order; the role is HASH or RANGE in a key schema."""

REPLICATION = "replication"
"""The feature that makes a table a replica of a global table (engine/tables/replicas.py)."""

UNASSIGNED = 0
"""Resource number of something new; the catalog replaces it. Resource 0 is the system."""

_STORED_NAMES = {
    "changes_after_ns": "sealed_ns",
    "dropped_history": "left_history",
    "owner_job": "filler",
    "previous_resource": "left",
    "retained_rows": "kept_rows",
}
_FIELD_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}


def _to_stored(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        _STORED_NAMES.get(name, name): value
        for name, value in fields
        if not (name in ("until_ns", "settings_replication") and value is None)
        and not (name in ("epoch", "changes_after_ns", "features") and not value)
    }


def _from_stored(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {_FIELD_NAMES.get(name, name): value for name, value in stored.items()}


def _pairs(elements: Sequence[Sequence[str]]) -> Elements:
    return [(name, kind) for name, kind in elements]


@dataclass(slots=True)
class UnitsState:
    """Provisioned units of a table or global index; zeros when on demand."""

    read_units: int = 0
    write_units: int = 0
    last_increase_ns: int | None = None
    last_decrease_ns: int | None = None
    decreases_ns: list[int] = field(default_factory=list)
    """Times of the decreases on the day (UTC) of the last decrease."""

    @property
    def units(self) -> tuple[int, int]:
        return self.read_units, self.write_units

    def decreases_today(self, now_ns: int) -> list[int]:
        day_start = now_ns - now_ns % DAY_NS
        return [at for at in self.decreases_ns if at >= day_start]


@dataclass(slots=True)
class IndexState:
    """A local or global index. A local index uses the throughput of its table."""

    name: str
    resource: int
    key_schema: Elements
    projection: ProjectionKind
    non_key_attributes: list[str]
    throughput: UnitsState = field(default_factory=UnitsState)
    on_demand_maximum: Maximum = field(default_factory=NO_MAXIMUM.copy)
    warm: tuple[int, int] | None = None
    """Warm throughput at creation."""
    status: str = "ACTIVE"
    until_ns: int | None = None
    """End of the DELETING status."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> IndexState:
        index = cls(**stored)
        index.key_schema = _pairs(stored["key_schema"])
        index.throughput = UnitsState(**stored["throughput"])
        return index


@dataclass(slots=True)
class VectorIndexState:
    name: str
    resource: int
    vector_attribute: str
    dimensions: int
    distance_function: Distance
    search_schema: Elements
    """(attribute name, HASH or INLINE_FILTER) in order."""
    projection: ProjectionKind
    non_key_attributes: list[str]
    status: str = "ACTIVE"
    until_ns: int | None = None
    """End of the DELETING status."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> VectorIndexState:
        index = cls(**stored)
        index.search_schema = _pairs(stored["search_schema"])
        return index


@dataclass(slots=True)
class StreamSetting:
    """The stream of a table, while it is enabled."""

    view_type: str
    resource: int = UNASSIGNED


@dataclass(slots=True)
class TtlState:
    """Time to live, from the first time it is enabled."""

    attribute: str
    enabled: bool
    changed_ns: int
    resource: int | None
    """Of the expiry index; UNASSIGNED when just enabled, None while disabled."""
    filled: bool
    """Whether the expiry index covers every item."""
    previous_resource: int | None = None
    """Of the previous expiry index; its rows may still exist after a crash."""


@dataclass(slots=True)
class PitrState:
    """Point-in-time recovery, while it is enabled."""

    enabled_ns: int
    period_days: int
    first_day: int
    """The oldest day (since the epoch) whose changes may still be stored."""
    resource: int = UNASSIGNED
    """Of the history."""


@dataclass(slots=True)
class DroppedHistory:
    """The history of point-in-time recovery that the last change disabled. The rows are cleared at once;
    after a crash they may still exist."""

    resource: int
    first_day: int
    end_day: int
    """The first day without changes."""


@dataclass(slots=True)
class FeatureState:
    """One derived thing of a table (engine/derived/features.py)."""

    resource: int = UNASSIGNED
    filled: bool = False
    """Whether it has what follows from every item."""
    dropped: bool = False
    """Whether the last change has removed it; its rows are cleared at once, but may exist after a crash."""
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class KinesisDestination:
    """A destination of captured changes. Source: streams.md section 7."""

    arn: str
    """Of the Kinesis stream."""
    precision: str
    """MILLISECOND or MICROSECOND; empty for the first, where no request has named it."""
    enabled: bool
    resource: int | None
    """Of the log of captured changes; None once the destination is disabled and everything is delivered."""
    changed_ns: int
    """When it was enabled or disabled, or its precision changed."""
    updating: bool = False
    """Whether the last change was one of precision."""
    changes_ns: list[int] = field(default_factory=list)
    """Changes of precision in the last 24 hours."""
    asked: bool = True
    """Whether Kinesis has been asked for the stream, which happens once."""
    failed: bool = False
    """Whether it had none: the status is ENABLE_FAILED."""


@dataclass(slots=True)
class Restored:
    """The source of a restored table (engine/backups/restoring.py)."""

    source_arn: str
    at_ns: int
    """The time whose items it has."""
    backup: str | None = None
    """Id of the backup; None: it has the items of another table in the past."""
    backup_arn: str | None = None
    source: tuple[str, str] | None = None
    """Namespace and name of the other table."""
    history: int | None = None
    """The resource of its history; older releases do not store it."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Restored:
        source = stored.get("source")
        return cls(**{**stored, "source": None if source is None else (source[0], source[1])})


@dataclass(slots=True)
class Pending:
    """What changes when UPDATING ends: the table's fields of these names, unless None, and those of global
    indexes by their names. `stream` and `allocating` have happened, but keep the table UPDATING."""

    billing_mode: str | None = None
    ever_on_demand_ns: int | None = None
    throughput: UnitsState | None = None
    on_demand_maximum: Maximum | None = None
    index_throughput: dict[str, UnitsState] = field(default_factory=dict)
    index_maximum: dict[str, Maximum] = field(default_factory=dict)
    table_class: str | None = None
    stream: str | None = None
    """ENABLE or DISABLE."""
    allocating: list[str] = field(default_factory=list)
    """Names of new indexes that are not filled yet because their resources are being allocated."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Pending:
        pending = cls(**stored)
        if stored.get("throughput") is not None:
            pending.throughput = UnitsState(**stored["throughput"])
        indexes = stored.get("index_throughput", {})
        pending.index_throughput = {name: UnitsState(**each) for name, each in indexes.items()}
        return pending


@dataclass(slots=True)
class TableState:
    name: str
    namespace: str
    table_id: str
    region: str
    account: str
    created_ns: int
    resource: int
    collections_resource: int | None
    """Of the item collection sizes; only tables with local indexes have them."""
    slots: int
    definitions: list[tuple[str, str]]
    """(attribute name, type) of the attributes that keys use."""
    key_schema: Elements
    local_indexes: list[IndexState]
    global_indexes: list[IndexState]
    billing_mode: str
    ever_on_demand_ns: int | None
    throughput: UnitsState
    status: str
    status_until_ns: int
    on_demand_switches_ns: list[int] = field(default_factory=list)
    """Switches to on-demand mode in the last 24 hours, a creation in that mode included."""
    deletion_protection: bool = False
    table_class: str | None = None
    table_class_changes_ns: list[int] = field(default_factory=list)
    """Changes of the table class in the last 30 days."""
    tags: dict[str, str] = field(default_factory=dict)
    policy: ResourcePolicy | None = None
    policy_deleted: str | None = None
    """Revision of the last deletion of a policy."""
    stream: StreamSetting | None = None
    latest_stream_label: str | None = None
    """Label of the present stream, or of the last one."""
    ttl: TtlState | None = None
    kinesis: list[KinesisDestination] = field(default_factory=list)
    """The destination that is enabled, if one is, and the earlier ones."""
    vector_indexes: list[VectorIndexState] = field(default_factory=list)
    pitr: PitrState | None = None
    dropped_history: DroppedHistory | None = None
    restored: Restored | None = None
    retained_rows: bool = False
    """Of a table that is being deleted: its rows stay until its system backup is made."""
    owner_job: str | None = None
    """The job that fills the table, for example an import. The table stays CREATING, and cannot be
    used, until that job finishes."""
    on_demand_maximum: Maximum = field(default_factory=NO_MAXIMUM.copy)
    warm: list[int] | None = None
    """Warm throughput at creation."""
    pending: Pending = field(default_factory=Pending)
    sealing: SealState | None = None
    """Encryption with a key of its own."""
    epoch: int = 0
    """On a shared store: the epoch of the table's parts, another one after every change of this state."""
    changes_after_ns: int = 0
    """On a shared store: all further changes of items are after this moment."""
    settings_replication: str | None = None
    """GlobalTableSettingsReplicationMode of a table that is no replica: whether replicas in other accounts,
    of which there are none, would share its settings."""
    features: dict[str, FeatureState] = field(default_factory=dict)
    """What is derived from the items by kinds without a field of their own, by the name of the kind."""

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"

    @property
    def shown_status(self) -> str:
        """The status that clients see: a table stays ACTIVE while only its indexes' throughput or its key
        changes (errors.md section 6.10)."""
        if self.status == "ACTIVE" and self.replicas_change:
            return "UPDATING"
        if self.status != "UPDATING":
            return self.status
        pending = self.pending
        changes = (pending.billing_mode, pending.throughput, pending.table_class, pending.stream)
        deleting = any(index.status == "DELETING" for index in self.online_indexes())
        return "UPDATING" if any(changes) or pending.allocating or deleting else "ACTIVE"

    @property
    def replicas_change(self) -> bool:
        """Whether a replica of it is being added, changed or removed."""
        feature = self.features.get(REPLICATION)
        replicas = () if feature is None else feature.settings["replicas"]
        return any(each["status"] in ("CREATING", "UPDATING", "DELETING") for each in replicas)

    @property
    def is_strong(self) -> bool:
        """Whether it is a replica of a strongly consistent global table."""
        feature = self.features.get(REPLICATION)
        if feature is None or feature.dropped or not feature.settings.get("strong"):
            return False
        return not any(each["status"] == "DELETING" for each in feature.settings["replicas"])

    @property
    def on_demand(self) -> bool:
        return self.billing_mode == "PAY_PER_REQUEST"

    def index(self, name: str) -> IndexState:
        """Returns a global index. Raises StopIteration if there is none of that name."""
        return next(index for index in self.global_indexes if index.name == name)

    def online_indexes(self) -> list[IndexState | VectorIndexState]:
        """Returns the indexes that can be added and removed on a live table."""
        return [*self.global_indexes, *self.vector_indexes]

    def used_definitions(self) -> list[tuple[str, str]]:
        """Returns the attribute definitions that a key of the table or of an index needs."""
        indexes = self.local_indexes + self.global_indexes
        schemas = [self.key_schema, *(index.key_schema for index in indexes)]
        schemas += [index.search_schema for index in self.vector_indexes]
        used = {name for schema in schemas for name, _ in schema}
        return [(name, kind) for name, kind in self.definitions if name in used]

    def pending_units(self) -> dict[str | None, tuple[int, int]]:
        """Returns the provisioned units that the table (None) and global indexes get when UPDATING ends.

        Returns none where the billing mode changes: partitions are prepared after that change.
        """
        if self.pending.billing_mode is not None:
            return {}
        units: dict[str | None, tuple[int, int]] = {}
        for name, throughput in self.pending.index_throughput.items():
            units[name] = throughput.units
        if self.pending.throughput is not None:
            units[None] = self.pending.throughput.units
        return units

    def apply_pending(self) -> None:
        """Gives every field in `pending` its new value."""
        pending, self.pending = self.pending, Pending()
        for name, throughput in pending.index_throughput.items():
            self.index(name).throughput = throughput
        for name, maximum in pending.index_maximum.items():
            self.index(name).on_demand_maximum = maximum
        for member in (
            *("billing_mode", "ever_on_demand_ns", "throughput", "on_demand_maximum"),
            "table_class",
        ):
            value = getattr(pending, member)
            if value is not None:
                setattr(self, member, value)
        if self.sealing is not None:
            self.sealing.switching = False

    def copy(self) -> TableState:
        """Returns a copy that shares nothing with this state."""
        return TableState.from_json(self.to_json())

    def to_json(self) -> dict[str, Any]:
        stored = asdict(self, dict_factory=_to_stored)
        stored["pending"] = {
            name: value for name, value in stored["pending"].items() if value not in (None, {}, [])
        }
        return stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> TableState:
        state = cls(**_from_stored(stored))
        state.throughput = UnitsState(**stored["throughput"])
        state.definitions = _pairs(stored["definitions"])
        state.key_schema = _pairs(stored["key_schema"])
        state.local_indexes = [IndexState.from_json(each) for each in stored["local_indexes"]]
        state.global_indexes = [IndexState.from_json(each) for each in stored["global_indexes"]]
        state.vector_indexes = [VectorIndexState.from_json(each) for each in stored.get("vector_indexes", ())]
        state.kinesis = [KinesisDestination(**each) for each in stored.get("kinesis", ())]
        if stored.get("stream") is not None:
            state.stream = StreamSetting(**stored["stream"])
        if stored.get("ttl") is not None:
            state.ttl = TtlState(**_from_stored(stored["ttl"]))
        if stored.get("pitr") is not None:
            state.pitr = PitrState(**stored["pitr"])
        features = stored.get("features", {})
        state.features = {name: FeatureState(**each) for name, each in features.items()}
        state.pending = Pending.from_json(stored.get("pending", {}))
        if stored.get("policy") is not None:
            state.policy = ResourcePolicy(**stored["policy"])
        if stored.get("restored") is not None:
            state.restored = Restored.from_json(stored["restored"])
        if stored.get("sealing") is not None:
            state.sealing = SealState(**stored["sealing"])
        if stored.get("left_history") is not None:
            state.dropped_history = DroppedHistory(**stored["left_history"])
        return state
