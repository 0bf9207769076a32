"""Auto scaling of provisioned replicas: by the service of this server, or by that of a peer.

A peer shows the scaling of its replicas with them; a change of it is asked of the peer at once. A new replica
gets what the one has that it is filled from, but not for reads that it has units of its own for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from faradisc.engine.replication.peers import Peers, PeerUnusable
from faradisc.engine.tables.replicas import Replica
from faradisc.engine.tables.state import TableState
from faradisc.errors import ValidationException

Shown = list[tuple[str | None, str, dict[str, Any]]]
"""Index (None: the table), Read or Write, and AutoScalingSettingsDescription."""
_OFF = {"AutoScalingDisabled": True}


class ScalingService(Protocol):
    """The auto scaling of this server, which is another service (services/autoscaling/replicas.py)."""

    def is_scaled(self, table: TableState, index: str | None, direction: str) -> bool:
        """Whether the units of a table (None) or global index are scaled. direction: Read or Write."""

    def describe(self, table: TableState, region: str, index: str | None, direction: str) -> dict[str, Any]:
        """Returns AutoScalingSettingsDescription of one replica."""

    async def update(
        self, table: TableState, region: str, index: str | None, direction: str, settings: Mapping[str, Any]
    ) -> None:
        """Applies AutoScalingSettingsUpdate to one replica. Raises ValidationException."""


class ReplicaScaling:
    """Of one database."""

    service: Callable[[], ScalingService]
    """Set by the database, which creates that service when it is first needed."""

    def __init__(
        self, peers: Peers, ask: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
    ) -> None:
        """ask: asks the server of a region. Raises PeerUnusable."""
        self._peers = peers
        self._ask = ask

    def is_scaled(self, table: TableState, index: str | None, direction: str) -> bool:
        """Whether the units of a table (None) or global index are scaled in the table's own region here."""
        return self.service().is_scaled(table, index, direction)

    def shown(self, table: TableState) -> Shown:
        """Returns the scaling of a replica here."""
        if table.on_demand:
            return []
        return [
            (index, direction, self.service().describe(table, table.region, index, direction))
            for index in (None, *(each.name for each in table.global_indexes))
            for direction in ("Read", "Write")
        ]

    def describe(self, table: TableState, region: str, index: str | None, direction: str) -> dict[str, Any]:
        """Returns AutoScalingSettingsDescription of the replica in a region."""
        if region not in self._peers:
            return self.service().describe(table, region, index, direction)
        seen = self._peers.by_region[region].scaling.get((table.account, table.name), [])
        return next((found for *which, found in seen if which == [index, direction]), _OFF)

    async def update(
        self, table: TableState, region: str, index: str | None, direction: str, settings: Mapping[str, Any]
    ) -> None:
        """Applies AutoScalingSettingsUpdate to the replica in a region. Raises ValidationException."""
        if region not in self._peers:
            await self.service().update(table, region, index, direction, settings)
            return
        name = (table.account, table.name)
        wanted = {"account": name[0], "table": name[1], "change": [index, direction, settings]}
        try:
            answer = await self._ask(region, {"scale": wanted})
        except PeerUnusable as error:
            raise ValidationException(str(error)) from error
        if answer.get("text"):
            raise ValidationException(answer["text"])
        self._peers.by_region[region].scaling[name] = answer["scaling"]

    async def give(self, table: TableState, target: TableState, replica: Replica) -> None:
        """Gives a new replica here the scaling of another one.

        table: the other one, here or at a peer. target: the new one's.
        """
        for index, direction, present in self.shown(target):
            own = replica.read_units if index is None else replica.index_read_units.get(index)
            given = self.describe(table, table.region, index, direction)
            if given == _OFF or present != _OFF or (direction == "Read" and own is not None):
                continue
            settings = {name: given[name] for name in given if name != "ScalingPolicies"}
            for policy in given.get("ScalingPolicies", ()):
                settings["ScalingPolicyUpdate"] = policy
            await self.service().update(target, target.region, index, direction, settings)
