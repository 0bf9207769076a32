"""The stream of a table, live: its records with what differs, its shards with their lineage."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.changes import path_changes, path_text
from faradisc.tools.console.consumers import positions
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.entities import UNNAMED, entity_name
from faradisc.tools.console.messages import complain, guarded
from faradisc.tools.console.parts import entity_chip, forbid, heading, note, plain_table, set_rows
from faradisc.tools.console.queries import schema_of
from faradisc.tools.console.review import draw_difference
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page
from faradisc.tools.console.values import cell, text_of, visible
from faradisc.tools.consumers.handlers import HttpHandler
from faradisc.tools.consumers.redrive import KeptLetter, Redriven, letters, redrive

SHOWN_MAX: Final = 100
"""Records that are drawn."""
RECORDS_MAX: Final = 200
"""Records that stay on the page."""
LETTERS_MAX: Final = 1_000
"""Dead letters that are read at once."""
POLL_S: Final = 1.0
_TAIL_BY: Final = ("GetRecords", "GetShardIterator")
"""Operations that follow a stream."""
_WAITING, _READING = "Waiting for records: write to the table.", "Reading from the oldest record…"
_DENIED: Final = "This key may not read the stream."
_WORDS: Final = {
    "INSERT": ("inserted", "added"),
    "MODIFY": ("modified", "changed"),
    "REMOVE": ("removed", "removed"),
}


@console_page("/tables/{table}/stream", "Stream")
async def stream_page(session: Session, table: str) -> None:
    described = await session.endpoint.describe(table)
    arn = described.get("LatestStreamArn")
    if not arn or not described.get("StreamSpecification", {}).get("StreamEnabled"):
        note("This table has no stream. Overview, Change turns it on.")
        return
    denied = await session.denied(table, *_TAIL_BY, part="/stream/*")
    tail = Tail(session, table, schema_of(described, ""), arn)
    tail.draw(denied)
    await tail.find_shards()
    tail.draw_shards()
    await _draw_consumers(session, arn)
    await Letters(session, arn).draw()
    if denied:
        return
    timer = ui.timer(POLL_S, guarded(tail.poll))
    tail.paused.on_value_change(lambda event: timer.deactivate() if event.value else timer.activate())


async def _draw_consumers(session: Session, arn: str) -> None:
    heading("Consumers")
    try:
        found = await positions(session.endpoint, arn)
    except Failure as failure:
        note(failure.message)
        return
    if not found:
        note("No consumer group has checkpoints; faradisc streams run starts one.")
        return
    rows = [asdict(each) for each in found]
    plain_table(rows)


class Letters:
    """The dead letters of a stream in a table, delivered again to a handler that listens on HTTP."""

    def __init__(self, session: Session, arn: str) -> None:
        self._session = session
        self._endpoint = session.endpoint
        self._arn = arn
        self._kept: list[KeptLetter] = []

    async def draw(self) -> None:
        heading("Dead letters")
        note(
            "Of consumers with dead_letters='table:NAME'. A letter that the handler accepts is deleted; "
            "after a failure the later letters of its item wait."
        )
        with ui.row().classes("items-end"):
            names: list[str] = []
            with suppress(Failure):
                names = await self._endpoint.tables()
            self._table = ui.input("Table", autocomplete=names).classes("w-56")
            ui.button("Show", on_click=guarded(self._show)).props("outline")
            self._handler = ui.input("Handler", placeholder="http://127.0.0.1:9000/").classes("w-72")
            self._deliver = ui.button("Redrive the selected", on_click=guarded(self._redrive))
            self._deliver.props("outline")
        self._said = note()
        self._rows = plain_table([], _LETTER).props("selection=multiple").classes("short")
        self._rows.set_visibility(False)

    async def _show(self) -> None:
        def read(client: Any) -> list[KeptLetter]:
            mine = (each for each in letters(client, self._table.value) if each.stream_arn == self._arn)
            return list(islice(mine, LETTERS_MAX))

        self._kept = await self._endpoint.use(read)
        self._deliver.props(remove="title").enable()
        forbid(self._deliver, await self._session.denied(self._table.value, "DeleteItem"), "DeleteItem")
        self._said.text = f"{len(self._kept):,} letters of this stream" + (
            f", and maybe more than {LETTERS_MAX:,}" if len(self._kept) == LETTERS_MAX else ""
        )
        self._list({})

    def _list(self, errors: dict[str, str]) -> None:
        """errors: of the last attempt, by letter; they replace those that are stored."""
        self._rows.set_visibility(bool(self._kept))
        self._rows.selected = []
        rows = []
        for each in self._kept:
            keys = " / ".join(text_of(value) for value in each.event["dynamodb"]["Keys"].values())
            error = errors.get(each.id, each.error)
            row = {"keys": visible(keys)[:80], "event": each.event["eventName"], "group": each.group}
            rows.append({**row, "at": each.at, "condition": each.condition, "error": visible(error)[:300]})
        set_rows(self._rows, rows)

    async def _redrive(self) -> None:
        chosen = [self._kept[row[""]] for row in self._rows.selected]
        try:
            handler = HttpHandler(self._handler.value)
        except ValueError as mistake:
            raise Failure("", f"The handler {mistake}.") from None
        if not chosen:
            raise Failure("", "Select letters first.")
        outcome, table = Redriven(), self._table.value

        def report() -> None:
            left = {**outcome.failed, **outcome.not_tried}
            self._said.text = f"{len(outcome.delivered):,} delivered and deleted, {len(left):,} left"

        with self._rows:
            timer = ui.timer(0.5, report)
        try:
            await self._endpoint.use(lambda client: redrive(client, table, chosen, handler, outcome))
        finally:
            timer.cancel()
            report()
            self._kept = [each for each in self._kept if each.id not in outcome.delivered]
            self._list({**outcome.failed, **outcome.not_tried})


_LETTER: Final = {
    "keys": "Key",
    "event": "Event",
    "group": "Group",
    "at": "At",
    "condition": "Condition",
    "error": "Error",
}


class Tail:
    """What the page knows of a stream: where it reads each shard, and the last records."""

    def __init__(self, session: Session, table: str, keys: list[str], arn: str) -> None:
        self._session = session
        self._arn = arn
        self._iterators: dict[str, str] = {}
        self._shards: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []
        self._read = 0
        self._keys = keys
        self._colours = session.colours.setdefault(table, {})
        self._open_records: set[str] = set()
        self._reading = asyncio.Lock()
        """Held while records are read: a restart waits for it, or its iterators were lost."""

    def draw(self, denied: set[str]) -> None:
        """denied: operations of streams that this key may not use."""
        self._empty = _DENIED if denied else _WAITING
        with ui.row().classes("w-full items-center"):
            self.paused = ui.switch("Pause")
            self._text = ui.input(placeholder="Filter by text", on_change=self._refresh).props(
                "dense outlined clearable aria-label='Filter by text'"
            )
            self._from_start = ui.button("From the oldest record", on_click=guarded(self._restart)).props(
                "flat dense"
            )
            forbid(self._from_start, denied, *_TAIL_BY)
            self._count = note(f"This key may not use {' and '.join(sorted(denied))}." if denied else "")
        self._listed = ui.refreshable(self._draw_records)
        with ui.element("div").classes("records sheet").props("tabindex=0 role=region aria-label=Records"):
            self._listed()
        heading("Shards")
        self._box = ui.column().classes("w-full")

    def _refresh(self) -> None:
        self._listed.refresh()

    def _draw_records(self) -> None:
        wanted = (self._text.value or "").lower()
        shown = [r for r in self._records if wanted in str(r["dynamodb"]).lower()][:SHOWN_MAX]
        if not shown:
            note(self._empty)
        for record in shown:
            self._draw_record(record)

    def _draw_record(self, record: dict[str, Any]) -> None:
        """Draws a record as one line that opens; which ones are open is remembered."""
        change = record["dynamodb"]
        number = change["SequenceNumber"]
        word, style = _WORDS[record["eventName"]]
        before, after = change.get("OldImage"), change.get("NewImage")

        def toggle() -> None:
            self._open_records ^= {number}
            self._listed.refresh()

        with ui.element("div").classes("sheet-row record").props("tabindex=0 role=button") as line:
            ui.label(f"{change['ApproximateCreationDateTime']:%H:%M:%S}").classes("mono soft")
            ui.label(word).classes(f"{style} record-word")
            name = entity_name(change["Keys"], self._keys)
            if name != UNNAMED:
                entity_chip(name, self._colours)
            keys = " / ".join(text_of(change["Keys"][n]) for n in self._keys if n in change["Keys"])
            ui.label(visible(keys)[:200]).classes("mono ellipsis")
            found = path_changes(before, after) if before and after else []
            shown = ", ".join(f"{path_text(each.path)}: {cell(each.after)[:30]}" for each in found[:4])
            ui.label(visible(shown)).classes("soft mono ellipsis count")
            ui.label(record["shard"]).classes("soft mono gt-sm")
        line.on("click", toggle).on("keydown.enter", toggle)
        if number in self._open_records:
            with ui.column().classes("w-full p-2"):
                note(f"Sequence number {number}").classes("mono")
                if before is not None or after is not None:
                    draw_difference(before, after)
                else:
                    note("The stream carries keys only.")

    async def find_shards(self) -> None:
        request: dict[str, Any] = {"StreamArn": self._arn}
        found: list[dict[str, Any]] = []
        while True:
            described = (await self._session.endpoint.call("DescribeStream", request))["StreamDescription"]
            found += described["Shards"]
            if "LastEvaluatedShardId" not in described:
                break
            request["ExclusiveStartShardId"] = described["LastEvaluatedShardId"]
        for shard in found:
            is_new = shard["ShardId"] not in {each["ShardId"] for each in self._shards}
            if is_new and "EndingSequenceNumber" not in shard["SequenceNumberRange"]:
                # A shard that appears while the page is open is read from its beginning: nothing is missed.
                await self._open(shard["ShardId"], "TRIM_HORIZON" if self._shards else "LATEST")
        self._shards = found

    async def _open(self, shard: str, start: str) -> None:
        request = {"StreamArn": self._arn, "ShardId": shard, "ShardIteratorType": start}
        self._iterators[shard] = (await self._session.endpoint.call("GetShardIterator", request))[
            "ShardIterator"
        ]

    async def _restart(self) -> None:
        async with self._reading:
            for shard in self._shards:
                await self._open(shard["ShardId"], "TRIM_HORIZON")
            self._records.clear()
            self._empty = _READING
            self._refresh()
            await self._read_all()
            self._empty = _WAITING
            self._refresh()

    async def poll(self) -> None:
        """Reads the next records of every shard."""
        async with self._reading:
            await self._read_all()

    async def _read_all(self) -> None:
        found: list[dict[str, Any]] = []
        for shard, iterator in list(self._iterators.items()):
            try:
                answer = await self._session.endpoint.call("GetRecords", {"ShardIterator": iterator})
            except Failure as failure:
                if failure.code != "ExpiredIteratorException":
                    raise
                await self._open(shard, "TRIM_HORIZON")
                complain(
                    Failure("", "The page was asleep for too long; it reads again from the oldest record.")
                )
                continue
            found += [{**record, "shard": shard[-8:]} for record in answer["Records"]]
            if answer.get("NextShardIterator"):
                self._iterators[shard] = answer["NextShardIterator"]
            else:
                del self._iterators[shard]
                await self.find_shards()
                self.draw_shards()
        self._read += len(found)
        if found:
            found.sort(key=lambda record: record["dynamodb"]["ApproximateCreationDateTime"])
            self._records = [*reversed(found), *self._records][:RECORDS_MAX]
            self._listed.refresh()
        self._count.text = f"{self._read:,} records read, {len(self._iterators)} shards followed"

    def draw_shards(self) -> None:
        self._box.clear()
        rows = [
            {
                "shard": shard["ShardId"],
                "parent": shard.get("ParentShardId", ""),
                "from": shard["SequenceNumberRange"].get("StartingSequenceNumber", ""),
                "to": shard["SequenceNumberRange"].get("EndingSequenceNumber", "open"),
            }
            for shard in self._shards
        ]
        with self._box:
            plain_table(rows)
