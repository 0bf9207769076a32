"""Throughput of a table from inside: the heat map, hot keys, burst capacity, partitions, splits.

What only Faradisc knows comes from its admin API; metrics, scaling activities and alarms from the services
every endpoint may have.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from faradisc.tools.console.endpoint import ADMIN
from faradisc.tools.console.files import code_box
from faradisc.tools.console.heat import (
    PLAN_MINUTES,
    HotKey,
    Watch,
    family,
    heat_rows,
    hot_keys,
    partition_cells,
    recent_throttles,
    remedy,
    short,
    totals,
)
from faradisc.tools.console.messages import guarded
from faradisc.tools.console.metrics import MetricHistory
from faradisc.tools.console.navigation import items_path
from faradisc.tools.console.parts import (
    dialog_end,
    dialog_of,
    facts,
    forbid,
    heading,
    note,
    plain_table,
    set_rows,
)
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, current_shell, go
from faradisc.tools.console.values import visible

POLL_S: Final = 2.0
THROTTLED_PERCENT_MAX: Final = 1.0
"""A plan in which more is throttled does not hold."""


class HeatMap(Element, component="../heatmap.js"):
    """The heat of partitions over time. Emits `pick` with the name of the partition that was clicked, and
    `open` and `fix` with that of one whose hottest key is meant."""

    def show(self, past: dict[str, Any], now: dict[str, Any], now_ns: int, picked: str | None) -> None:
        self._props["rows"] = heat_rows(past, now)
        self._props["slots"] = past.get("slots", 0)
        self._props["slotS"] = past.get("slot_s", 10)
        self._props["endMs"] = now_ns // 1_000_000
        self._props["picked"] = picked
        self.update()


@console_page("/tables/{table}/throughput", "Throughput")
async def throughput_page(session: Session, table: str) -> None:
    if await session.has_admin():
        live = Live(session, table)
        await live.refresh()
        live.draw()
        ui.timer(POLL_S, guarded(live.update))
    else:
        note("Partitions and heat are shown for a Faradisc server whose admin API this key may use.")
        if (ADMIN, "") in session.endpoint.refused:
            forbid(ui.button("Limits", icon="tune").props("outline"), {ADMIN}, ADMIN)
    await MetricHistory(session.endpoint, table).draw()


class Live:
    """The parts of the page that follow the admin API."""

    def __init__(self, session: Session, table: str) -> None:
        self._session = session
        self._table = table
        self._shown: dict[str, Any] = {}
        self._heat: dict[str, Any] = {}
        self._resource = ""
        self._picked: str | None = None
        self._found: list[HotKey] = []
        """The hot keys that are shown."""
        self._sentences: list[ui.label] = []
        self._watch: Watch | None = None

    async def refresh(self) -> None:
        self._shown = await self._session.endpoint.admin(f"capacity/{self._table}")
        self._heat = await self._session.endpoint.admin(f"heat/{self._table}")

    async def update(self) -> None:
        await self.refresh()
        self._show()

    @property
    def _now(self) -> dict[str, Any]:
        resources = self._shown["resources"]
        found: dict[str, Any] = resources.get(self._resource) or resources[""]
        return found

    @property
    def _past(self) -> dict[str, Any]:
        found: dict[str, Any] = self._heat.get(self._resource, {})
        return found

    def draw(self) -> None:
        names = {name: f"index {name}" if name else "the table itself" for name in self._shown["resources"]}
        with ui.row().classes("w-full items-end"):
            if len(names) > 1:
                ui.select(names, label="Throughput of").bind_value(self, "_resource").on(
                    "update:model-value", guarded(self.update)
                ).style("min-width: 200px")
            self._profile = note().classes("count")
            ui.button("Limits", icon="tune", on_click=self._limits).props("outline")
        with ui.card().classes("w-full"):
            heading("Heat of the partitions")
            self._map = HeatMap()
            self._map._props["name"] = self._table
            self._map.on("pick", lambda event: self._pick(str(event.args)))
            self._map.on("open", lambda event: self._open_key(str(event.args)))
            self._map.on("fix", guarded(lambda event: self._fix_key(str(event.args))))
        with ui.card().classes("w-full"):
            heading("Hot keys")
            self._verdict = ui.label("").classes("plan")
            self._keys = ui.refreshable(self._draw_hot_keys)
            self._keys()
        with ui.card().classes("w-full"):
            heading("Capacity")
            self._capacity = ui.refreshable(self._draw_capacity)
            self._capacity()
        # These stay as they are while their rows change, so that one can open, sort and read them.
        with ui.expansion(value=True).classes("w-full sheet") as self._partitions:
            self._partition_rows = plain_table([], _PARTITION)
        with ui.expansion().classes("w-full sheet") as self._splits:
            self._split_rows = plain_table([], _SPLIT)
        self._show()

    def _show(self) -> None:
        """Shows what was read last."""
        now = self._now
        self._profile.text = f"Profile {self._shown['profile']}" + (
            "" if self._shown["enforced"] else ": metered only, nothing is throttled. Limits turns that on."
        )
        self._map.show(self._past, now, self._shown["now_ns"], self._picked)
        self._verdict.set_visibility(self._watch is not None)
        if self._watch is not None:
            self._verdict.text = self._watch.verdict(self._past, self._shown["now_ns"])
        self._capacity.refresh()
        found = self._hot()
        if [hot.place for hot in found] != [hot.place for hot in self._found]:
            self._keys.refresh()
        else:
            # Buttons stay while their numbers change: a click on one that was drawn again is lost.
            self._found = found
            for label, hot in zip(self._sentences, found, strict=True):
                label.text = hot.sentence
        self._partitions.text = f"Partitions ({len(now['partitions'])})"
        set_rows(self._partition_rows, partition_cells(now))
        self._splits.text = f"Splits ({len(now['splits'])})"
        set_rows(self._split_rows, [_split_cells(event) for event in reversed(now["splits"][-40:])])

    def _hot(self) -> list[HotKey]:
        within = family(self._past, self._picked) if self._picked is not None else None
        return hot_keys(self._now, within)

    def _pick(self, partition: str | None) -> None:
        self._picked = partition
        self._keys.refresh()
        self._show()

    def _open_key(self, partition: str) -> None:
        """Shows the items of a partition's hottest key."""
        for hot in hot_keys(self._now, {partition})[:1]:
            go(items_path(self._table, self._resource, *hot.names))

    async def _fix_key(self, partition: str) -> None:
        for hot in hot_keys(self._now, {partition})[:1]:
            await self._fix(hot)

    def _draw_capacity(self) -> None:
        for each in totals(self._now):
            facts(each["facts"])
            share = each["used"] / each["limit"] if each["limit"] else 0
            with (
                ui.element("div")
                .classes("bar w-full")
                .props(f'role=img aria-label="{each["title"]}: {share:.0%} of the capacity"')
            ):
                ui.element("div").classes("bar-part").style(f"width: {min(1, share):.0%}")

    def _draw_hot_keys(self) -> None:
        found = self._found = self._hot()
        self._sentences = []
        if self._picked is not None:
            is_past = self._picked not in {part["id"] for part in self._now["partitions"]}
            with ui.row().classes("items-center"):
                note(
                    f"Partition {short(self._picked)} is picked"
                    + (". It was split; these are the keys of what came from it." if is_past else ".")
                )
                ui.button("Show all", on_click=lambda: self._pick(None)).props("flat")
        if not found:
            note(
                "No key of this partition is hot now."
                if self._picked
                else "No key makes a partition hot now."
            )
        for at, hot in enumerate(found):
            with ui.row().classes("w-full items-center no-wrap gap-2 hot-key"):
                ui.label(hot.title).classes("hot mono")
                self._sentences.append(note(hot.sentence).classes("count"))
                if not hot.names:
                    continue
                ui.button("Fix", icon="healing", on_click=guarded(partial(self._fix_at, at))).props("outline")
                path = items_path(self._table, self._resource, *hot.names)
                ui.button("Items", on_click=lambda path=path: go(path)).props("flat")

    async def _fix_at(self, at: int) -> None:
        await self._fix(self._found[at])

    async def _fix(self, hot: HotKey) -> None:
        """Shows what relieves a hot key, runs that as a plan, and watches whether it has worked."""
        before = recent_throttles(self._past, hot.part["id"])
        found = remedy(hot, before)
        name, direction = visible(str(hot.key["key"]))[:80], hot.key["direction"]
        with current_shell().client.layout, dialog_of(f"Fix {name}", narrow=True) as dialog:
            ui.label(
                f"It asks for about {found.rate:,.0f} {direction} units a second; one partition "
                f"serves {found.limit:,.0f} for one key, whatever the table has. More capacity does not "
                "help, and neither does a split of the partition when it is one item."
            )
            waiting = note("Trying it with more and more keys…")
            tried = await asyncio.to_thread(_tried, found.plan(direction, self._now))
            waiting.delete()
            holding = [ways for ways, percent in tried if ways > 1 and percent < THROTTLED_PERCENT_MAX]
            ways = holding[0] if holding else tried[-1][0] if tried else found.ways
            if tried:
                note(
                    f"Planned with this rate for {PLAN_MINUTES} minutes from an even start: "
                    + (f"{ways} keys hold." if holding else "none of these holds until partitions split.")
                )
                rows = [
                    {"variant": f"{w} keys" if w > 1 else "as it is", "throttled": f"{p:.1f} %"}
                    for w, p in tried
                ]
                plain_table(rows, {"variant": "Traffic", "throttled": "Throttled"})
            if direction == "write":
                ui.label(f"Write to {ways} keys in turn and read them together:")
                code_box(
                    f"shard = random.randrange({ways})\n"
                    f"table.update_item(Key={{...: f'{name}#{{shard}}'}}, ...)\n"
                    f"total = sum(read(f'{name}#{{shard}}') for shard in range({ways}))"
                )
            else:
                ui.label(
                    "Cache it for a second in the application, read it eventually consistent "
                    f"(half the units), or keep {ways} copies and read one at random."
                )

            def watch() -> None:
                self._watch = Watch(name, hot.part["id"], before, self._shown["now_ns"])
                dialog.close()
                self._show()

            dialog_end(dialog, "Watch whether it works", watch)

    def _limits(self) -> None:
        """Opens the dialog of what the admin API changes."""
        now, override = self._now, self._shown["override"] or ""
        with dialog_of("Limits: for experiments, beyond what DynamoDB offers", narrow=True) as dialog:
            profile = ui.input(
                "Profile of this table, such as aws:30/10; empty: the server's own", value=override
            ).classes("w-full")
            note(
                f"Now {self._shown['profile']}, "
                + ("set for this table." if override else "the server's own profile.")
            )
            least = len(now["partitions"])
            partitions = ui.number("Partitions, at least", value=least, min=least, format="%d")
            pairs = {
                "balance": "burst balance, or that of a maximum",
                "previous_peak": "previous peak of a table on demand",
            }
            inputs = {}
            for lever, title in pairs.items():
                note(f"Units of the {title}; empty: unchanged")
                with ui.row():
                    inputs[lever] = {
                        way: ui.number(f"{way.capitalize()}s", min=0) for way in ("read", "write")
                    }

            async def change() -> None:
                body: dict[str, Any] = {}
                if (profile.value or "") != override:
                    body["profile"] = profile.value or None
                if int(partitions.value) != least:
                    body["partitions"] = int(partitions.value)
                for lever, pair in inputs.items():
                    given = {way: int(each.value) for way, each in pair.items() if each.value is not None}
                    body |= {lever: given} if given else {}
                if body:
                    index = {"index": self._resource} if self._resource else {}
                    await self._session.endpoint.admin(f"capacity/{self._table}", {**body, **index})
                dialog.close()
                await self.update()

            dialog_end(dialog, "Change", guarded(change))


def _tried(plan: str) -> list[tuple[int, float]]:
    """Returns the number of keys and the percentage that is throttled, of each variant of a plan; nothing
    without the extra that plans need."""
    try:
        from faradisc.tools.planner.plan_file.loading import load_plans  # noqa: PLC0415 - another extra
        from faradisc.tools.planner.run import run  # noqa: PLC0415
    except ModuleNotFoundError:
        return []
    found = []
    for each in load_plans(plan, "fix"):
        outcome = run(each)
        ways = outcome.title.rpartition(": ")[2].removesuffix(" keys")
        found.append((int(ways) if ways.isdecimal() else 1, float(outcome.totals.throttled_percent)))
    return found


_PARTITION: Final = {
    "id": "Partition",
    "range": "Keys",
    "reads": "Reads/s (of limit)",
    "writes": "Writes/s (of limit)",
    "throttled": "Throttled",
    "items": "Items",
    "size": "Size",
    "ratio": "Size for each read / write unit/s",
    "state": "State",
}
_SPLIT: Final = {"at": "At", "event": "Event", "cause": "Cause", "partition": "Partition"}


def _split_cells(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "at": f"{datetime.fromtimestamp(event['at_ns'] / 1e9, UTC):%H:%M:%S}",
        "event": event["event"],
        "cause": event.get("reason") or event.get("cause") or "",
        "partition": short(str(event.get("parent") or event.get("partition") or "")),
    }
