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

from collections.abc import Awaitable, Callable, Sequence

from faradisc.engine.derived.replication import replication_of
from faradisc.engine.replication.group import Replicas
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.table import StampCheck, Table
from faradisc.errors import InternalServerError
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Store

REGIONS = 3
"""Of a strongly consistent table, with a witness."""


class StrongReplicas:
    def __init__(self, store: Store, replicas: Replicas, refresh: Callable[[], Awaitable[object]]) -> None:
        """refresh: takes over what other nodes have changed in tables."""
        self._store = store
        self._replicas = replicas
        self._refresh = refresh

    def _members(self, table: Table) -> tuple[list[str], dict[str, Table]]:
        """Returns the regions that take part, and all replicas. One of them knows it first when the last
        region takes part."""
        state = table.newest.state
        own = ReplicaGroup.of(state)
        copies = {} if own is None else self._replicas.copies(state, own)
        known = [replication for copy in copies.values() if (replication := replication_of(copy)) is not None]
        if not known:
            return [], {}
        group = max((each.group for each in known), key=lambda group: group.rank)
        members = [each.region for each in group.replicas if each.status in ("ACTIVE", "UPDATING")]
        return [*members, *group.witnesses], copies

    async def stamps(self, table: Table, keys: Sequence[Item]) -> list[list[StampCheck]]:
        """Returns the stamps of items in all other replicas, in the order of the keys."""
        found: list[list[StampCheck]] = [[] for _ in keys]
        for region, copy in self._members(table)[1].items():
            replication = replication_of(copy)
            if replication is None or region == table.state.region:
                continue
            row_keys = [copy.placement.row_key(key) for key in keys]
            rows = await replication.stamps(self._store, row_keys)
            for of_item, row_key, row in zip(found, row_keys, rows, strict=True):
                of_item.append((replication.part_of(row_key), row_key, 0 if row is None else row[0]))
        return found

    async def join(self, table: Table, keys: Sequence[Item] | None) -> Sequence[Table]:
        """Returns the other replicas that a replica reaches, once it has all that was acknowledged elsewhere
        of the items with these keys; None: of all. Raises InternalServerError without a majority.
        """
        region = table.state.region
        members, copies = self._members(table)
        if len(members) < REGIONS and self._store.shared:
            await self._refresh()  # another node may have seen the last region take part
            members, copies = self._members(table)
        own = copies.pop(region, None)
        if own is None or region not in members or len(members) < REGIONS:
            return ()
        links = self._replicas.links
        await links.follow()
        reached = [each for each in members if each != region and not links.is_cut((region, each))]
        if not reached:
            raise InternalServerError
        for copy in copies.values():
            if not await self._replicas.delivery.catch_up(copy, own, keys):
                raise InternalServerError
        return [copies[each] for each in reached if each in copies]
