"""Answers the questions of a peer (peers.py): what this server's replicas are, and what they have written."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson

from faradisc.clock import Clock
from faradisc.engine.derived.replication import Replication, replication_of
from faradisc.engine.jobs.walk import WalkPosition
from faradisc.engine.replication.delivery import note_latency, reported, reported_by
from faradisc.engine.replication.filling import page_after
from faradisc.engine.replication.links import Links
from faradisc.engine.replication.peers import PEER_FORMAT, Peers, PeerUnusable
from faradisc.engine.replication.scaling import ReplicaScaling
from faradisc.engine.tables.replicas import ReplicaGroup
from faradisc.engine.tables.state import REPLICATION, TableState
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.table_lifecycle import INACCESSIBLE
from faradisc.errors import ResourceInUseException, ResourceNotFoundException, ValidationException
from faradisc.storage.api import Batch, Store

ANSWER_BYTES = 2 << 20
"""Of log entries, after which an answer ends."""
ENTRIES_MAX = 1000
"""Of one table in an answer."""

Answer = dict[str, Any]


class PeerAnswers:
    """Of one database."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        links: Links,
        peers: Peers,
        regions: Sequence[str],
        *,
        scaling: ReplicaScaling,
        table_at: Callable[[str, str, str], Table | None],
        replicas: Callable[[], Iterable[tuple[Table, Replication]]],
        failed: Callable[[Table, str, str], Awaitable[None]],
        follow: Callable[[], Awaitable[object]],
    ) -> None:
        """regions: of this server. table_at: returns the table of a region, an account and a name. failed:
        notes in the group of a table why the replica of a region could not be created. follow: takes over
        what other nodes have changed, so that a peer that asks one and then another finds nothing gone."""
        self._store = store
        self._clock = clock
        self._links = links
        self._peers = peers
        self._regions = regions
        self._scaling = scaling
        self._table_at = table_at
        self._replicas = replicas
        self._failed = failed
        self._follow = follow

    async def answer(self, question: Mapping[str, Any]) -> Answer:
        """Raises PeerUnusable."""
        try:
            asking = self._checked(question)
            await self._follow()
            answer: Answer = {"format": PEER_FORMAT, "now_ns": self._clock.now_ns()}
            region = question["region"]
            prepared = question.get("prepare")
            if prepared is not None:
                taken = self._table_at(region, prepared["account"], prepared["table"])
                return {**answer, "taken": taken is not None}
            scale = question.get("scale")
            if scale is not None:
                return {**answer, **await self._scale(region, scale)}
            for to, account, table, since_ns, text in question["refused"]:
                if to in self._peers:
                    await self._note_failure(self._table_at(region, account, table), to, since_ns, text)
            tables = [
                {**_shown(table.state), "scaling": self._scaling.shown(table.state)}
                for table in self._tables_of(region, asking)
            ]
            answer["tag"] = sha256(orjson.dumps(tables)).hexdigest()
            if question["tag"] != answer["tag"]:
                answer["tables"] = tables
            answer["entries"] = entries = []
            room = ANSWER_BYTES
            for number, pull in enumerate(question["pulls"]):
                found = await self._entries(region, pull, room)
                room -= sum(len(entry) for _, _, entry in found)
                entries += [(number, slot, at, b64encode(entry).decode()) for slot, at, entry in found]
            if question.get("fill") is not None:
                answer["fill"] = await self._page(region, question["fill"])
            return answer
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise PeerUnusable(f"The question of a peer cannot be read: {error!r}.") from error

    def _checked(self, question: Mapping[str, Any]) -> list[str]:
        """Returns the regions that ask. Raises PeerUnusable."""
        if question["format"] != PEER_FORMAT:
            raise PeerUnusable(
                f"The servers have different versions: the peer's replication has the format "
                f"{question['format']}, and this server's {PEER_FORMAT}."
            )
        if question["region"] not in self._regions:
            raise PeerUnusable(
                f"This server has the regions {', '.join(self._regions)}, and not {question['region']}."
            )
        asking = [region for region in question["from"] if region in self._peers]
        if not asking:
            raise PeerUnusable(
                f"The server of {question['region']} has no --peer {question['from'][0]}=URL, without which "
                "it gets nothing from there."
            )
        return asking

    def _tables_of(self, region: str, asking: Sequence[str]) -> list[Table]:
        """Returns the replicas of a region here whose groups have one at the peer."""
        return [
            table
            for table, replication in self._replicas()
            if table.state.region == region and any(replication.group.find(each) for each in asking)
        ]

    async def _scale(self, region: str, wanted: Mapping[str, Any]) -> Answer:
        """Changes the auto scaling of a replica here; returns it, or why it cannot be changed."""
        table = self._table_at(region, wanted["account"], wanted["table"])
        if table is None or replication_of(table) is None:
            return {"text": f"Replica not found: {region}"}
        try:
            await self._scaling.update(table.state, region, *wanted["change"])
        except ValidationException as error:
            return {"text": error.message}
        return {"scaling": self._scaling.shown(table.state)}

    async def _entries(self, region: str, pull: Mapping[str, Any], room: int) -> list[tuple[int, int, bytes]]:
        """Notes what has arrived of one table; returns slot, number and entry of what is next."""
        table = self._table_at(region, pull["account"], pull["table"])
        source = None if table is None else replication_of(table)
        to = pull["to"]
        if table is None or source is None or table.state.table_id != pull["id"]:
            return []
        if table.state.status == INACCESSIBLE:
            return []
        replica = source.group.find(to)
        if replica is None or replica.since_ns != pull["since"] or self._links.is_cut((region, to)):
            return []
        has: list[int] = pull["has"]
        if has != await reported(self._store, source, replica):
            puts = zip(reported_by(replica, len(has)), (each.to_bytes(8, "big") for each in has), strict=True)
            await self._store.commit([Batch(source.slot_parts[0], puts=list(puts))], durable=False)
        traffic = self._links.of(table.arn, (region, to))
        traffic.delivered += pull["delivered"]
        traffic.superseded += pull["superseded"]
        note_latency(table, to, self._clock.now_ns(), pull["late_ms"])
        found: list[tuple[int, int, bytes]] = []
        limit: int = min(pull["room"], ENTRIES_MAX)
        for slot in sorted(range(len(source.slot_parts)), key=lambda slot: has[slot]):
            if len(found) >= limit or room <= 0:
                break
            after = has[slot]
            for number, entry in await self._store.log(source.slot_parts[slot], after, limit - len(found)):
                if room <= 0:
                    break
                found.append((slot, number, entry))
                room -= len(entry)
        return found

    async def _note_failure(self, table: Table | None, region: str, since_ns: int, text: str) -> None:
        group = None if table is None else ReplicaGroup.of(table.state)
        replica = None if group is None else group.find(region)
        if table is None or replica is None or replica.since_ns != since_ns:
            return
        if replica.status == "CREATING":
            with suppress(ResourceNotFoundException, ResourceInUseException):  # it says so again
                await self._failed(table, region, text)

    async def _page(self, region: str, fill: Mapping[str, Any]) -> Answer | None:
        table = self._table_at(region, fill["account"], fill["table"])
        replication = None if table is None else replication_of(table)
        if table is None or replication is None or table.state.table_id != fill["id"]:
            return None
        if table.state.status == INACCESSIBLE:
            return None
        position = WalkPosition.of(orjson.dumps(fill["position"]))
        page = await page_after(self._store, table, replication, position)
        return {
            "items": [
                (b64encode(record).decode(), b64encode(stamp).decode()) for record, stamp in page.items
            ],
            "moved": orjson.Fragment(page.moved.stored()),
        }


def _shown(state: TableState) -> dict[str, Any]:
    """Returns what a peer needs of a replica: its definition, its settings and its group."""
    group = ReplicaGroup.of(state)
    assert group is not None, "only replicas are shown"
    shown = replace(
        state,
        tags={},
        policy=None,
        stream=None,
        kinesis=[],
        pitr=None,
        dropped_history=None,
        restored=None,
        sealing=None,
        features={REPLICATION: state.features[REPLICATION]},
    )
    return {"state": shown.to_json(), "encrypted": state.sealing is not None and state.sealing.enabled}
