"""Who takes part in a write or a strongly consistent read of a region, and how the region catches up.

A region that reaches no other one, replica or witness, has no majority and refuses. One that has been cut off
first gets what it has missed. Every write that did not reach a region is in the log of its writer, and as two
of three regions took part in it, whoever reaches any of the others can have it: the third replica has applied
the entry, or the witness keeps the log of the writer. As all regions of one server are in one store, the log
is read where it is.

Assumed: that the service answers InternalServerError without a majority, and that a replica that is being
added or removed does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.engine.replication.group import Replicas
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.table import Table
from faradisc.errors import InternalServerError


class StrongReplicas:
    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    async def join(self, table: Table) -> Sequence[Table]:
        """Returns the other replicas that a replica reaches, once it has all that was acknowledged elsewhere.

        Raises InternalServerError without a majority.
        """
        state = table.newest.state
        group = ReplicaGroup.of(state)
        if group is None:
            return ()
        copies = self._replicas.copies(state, group)
        own = copies.pop(state.region, None)
        members = [each.region for each in group.replicas if each.status in ("ACTIVE", "UPDATING")]
        if own is None or state.region not in members or len(members) + len(group.witnesses) < 3:
            return ()
        links = self._replicas.links
        await links.follow()
        others = [region for region in (*members, *group.witnesses) if region != state.region]
        reached = [region for region in others if not links.is_cut((state.region, region))]
        if not reached:
            raise InternalServerError
        for copy in copies.values():
            if not await self._replicas.delivery.catch_up(copy, own):
                raise InternalServerError
        return [copies[region] for region in reached if region in copies and region in members]
