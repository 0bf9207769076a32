"""Writes of strongly consistent global tables: one commit has the write of every region that can be reached.

A write of one region changes the replicas of all other regions that its region reaches, in the same commit
and with the same stamp. For a region that it does not reach it leaves a log entry
(engine/derived/replication.py). Without a majority of the regions nothing is written. So an acknowledged
write is in two of three regions, or in one and in the log that the witness keeps; and whoever reaches a
majority can get it.

An example, three regions A, B and C, of which A does not reach C:

    commit of A   item in A, item in B, log entry of A for C
    read in C     cut from A, and reaches B: gets the entry, which B has as well, before it reads

On a shared store another server can write between any two calls. So the stamps of the items in all other
replicas are read before their logs are looked at, and the commit checks them: a write that came between, also
one that does not reach this region, is a conflict, after which all is done again.

Who is reached, and how a region catches up, is in engine/replication/strong.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from faradisc.engine.tables.change import Change, Outcome, evaluate
from faradisc.engine.tables.charging import take_replicated
from faradisc.engine.tables.images import read_images
from faradisc.engine.tables.table import Strong, Table, Written
from faradisc.errors import ReplicatedWriteConflictException
from faradisc.storage.api import Store

Reached = dict[str, Sequence[Table]]
"""By table id: the replicas that a commit of a table's writes changes too."""


async def reached_by(store: Store, changes: Sequence[Change]) -> Reached:
    """Returns the other replicas for every table that is strongly consistent, which has everything of the
    items that was acknowledged elsewhere then. Raises InternalServerError without a majority."""
    reached: Reached = {}
    for table in {change.table for change in changes}:
        if table.strong is None:
            continue
        of_table = [change for change in changes if change.table is table]
        keys = [change.key for change in of_table]
        if store.shared:
            stamps = await table.strong.stamps(table, keys)
            for change, elsewhere in zip(of_table, stamps, strict=True):
                change.elsewhere = elsewhere
        reached[table.state.table_id] = await table.strong.join(table, keys)
    return reached


async def copies_of(store: Store, outcomes: Sequence[Outcome], reached: Reached) -> list[Outcome]:
    """Returns what the changes do in the other replicas. Their units are taken there, without asking."""
    changes = []
    for outcome in outcomes:
        change, others = outcome.change, reached.get(outcome.change.table.state.table_id, ())
        change.reached = len(others)
        if outcome.new_record == outcome.old.record:
            continue
        for other in others:
            copy = Change(other.newest, change.key, outcome.new_record)
            copy.together = change.table.state.region.encode()
            changes.append(copy)
    if not changes:
        return []
    images = await read_images(store, changes)
    copies = [evaluate(change, old) for change, old in zip(changes, images, strict=True)]
    for outcome in copies:
        take_replicated(outcome)
    return copies


@contextmanager
def writing(changes: Sequence[Change]) -> Iterator[Sequence[Written]]:
    """Returns the items of strongly consistent tables, in no region's own terms.

    Raises ReplicatedWriteConflictException while another region writes one of them at this server.
    """
    held: list[tuple[Strong, Written]] = []
    try:
        for change in changes:
            strong, state = change.table.strong, change.table.state
            if strong is not None:
                of_table = f"{state.account} {state.name}".encode()
                item = (of_table, change.table.named_placement.row_key(change.key))
                regions = strong.writing.setdefault(item, [])
                held.append((strong, item))
                regions.append(state.region)
                if regions[0] != state.region:
                    raise ReplicatedWriteConflictException
        yield [item for _, item in held]
    finally:
        for strong, item in held:
            strong.writing[item].pop()
            if not strong.writing[item]:
                del strong.writing[item]
