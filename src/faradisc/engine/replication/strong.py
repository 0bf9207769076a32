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

from faradisc.engine.derived.replication import replication_of, stamp_time
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
        copies = [copy for region, copy in self._members(table)[1].items() if region != table.state.region]
        others = [(copy.placement, each) for copy in copies if (each := replication_of(copy)) is not None]
        row_keys = [(each, placement.row_key(key)) for key in keys for placement, each in others]
        where = [(each.part_of(row_key), row_key) for each, row_key in row_keys]
        rows = await self._store.read_many(where) if where else []
        found = [
            (part, row_key, 0, 0) if row is None else (part, row_key, row[0], stamp_time(row[1]))
            for (part, row_key), row in zip(where, rows, strict=True)
        ]
        return [found[at * len(others) : (at + 1) * len(others)] for at in range(len(keys))]

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
