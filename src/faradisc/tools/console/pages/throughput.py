"""Throughput of a table from inside: the heat map, burst capacity, partitions, splits, keys that are too hot.

What only Faradisc knows comes from its admin API; metrics, scaling activities and alarms from the services
every endpoint may have.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.frame import Session, console_page, guarded, items_path
from faradisc.tools.console.metrics import History
from faradisc.tools.console.parts import (
    CHART_TEXT,
    dialog_end,
    dialog_of,
    facts,
    heading,
    note,
    plain_table,
    set_rows,
    size_text,
)
from faradisc.tools.console.values import visible

POLL_S: Final = 2.0
PARTITIONS_MAX: Final = 64
HEAT_COLOURS: Final = ("#e7f5ff", "#ffec99", "#ff922b", "#e03131", "#a61e1e")
HOT_PERCENT: Final = 5
"""A key with a smaller share of its partition's units is not called hot."""


@console_page("/tables/{table}/throughput", "Throughput")
async def throughput_page(session: Session, table: str) -> None:
    if await session.has_admin():
        live = Live(session, table)
        await live.refresh()
        live.draw()
        ui.timer(POLL_S, guarded(live.update))
    else:
        note("Partitions and heat are shown for a Faradisc server whose admin API this key may use.")
    await History(session.endpoint, table).draw()


class Live:
    """The parts of the page that follow the admin API."""

    def __init__(self, session: Session, table: str) -> None:
        self._session = session
        self._table = table
        self._shown: dict[str, Any] = {}
        self._heat: dict[str, Any] = {}
        self._resource = ""
        self._picked: str | None = None
        self._found: list[tuple[str, str, str, str | None]] = []
        """The hot keys that are shown: partition, direction and key."""

    async def refresh(self) -> None:
        self._shown = await self._session.endpoint.admin(f"capacity/{self._table}")
        self._heat = await self._session.endpoint.admin(f"heat/{self._table}")

    async def update(self) -> None:
        await self.refresh()
        self._chart.options.update(self._options())
        self._chart.update()
        self._show()

    @property
    def _now(self) -> dict[str, Any]:
        resources = self._shown["resources"]
        found: dict[str, Any] = resources.get(self._resource) or resources[""]
        return found

    def draw(self) -> None:
        names = {name: f"index {name}" if name else "the table itself" for name in self._shown["resources"]}
        with ui.row().classes("w-full items-end"):
            ui.select(names, label="Throughput of").bind_value(self, "_resource").on(
                "update:model-value", guarded(self.update)
            ).classes("min-w-[220px]")
            ui.button("Levers", icon="tune", on_click=self._levers).props("outline")
            if not self._shown["enforced"]:
                note("Metered only: nothing is throttled. A profile (Levers) turns limits on.")
        with ui.card().classes("w-full"):
            heading("Heat of the partitions")
            note(
                "Each row is a partition in order of keys; red uses its whole limit. Click one for its keys."
            )
            self._chart = (
                ui.echart(self._options(), on_point_click=lambda event: self._pick(event.data[1]))
                .classes("w-full")
                .style("height: 300px")
            )
        with ui.card().classes("w-full"):
            heading("Hot keys")
            self._keys = ui.refreshable(self._draw_hot_keys)
            self._keys()
        with ui.card().classes("w-full"):
            heading("Capacity")
            self._capacity = ui.refreshable(self._draw_capacity)
            self._capacity()
        # These stay as they are while their rows change, so that one can open, sort and read them.
        with ui.expansion(value=True).classes("w-full") as self._partitions:
            self._partition_rows = plain_table([], _PARTITION)
        with ui.expansion().classes("w-full") as self._splits:
            self._split_rows = plain_table([], _SPLIT)
        self._show()

    def _show(self) -> None:
        """Shows what was read last."""
        now = self._now
        self._capacity.refresh()
        found = [(part["id"], key["direction"], key["key"], key["sort_key"]) for part, key in self._hot(now)]
        if found != self._found:
            self._found = found
            self._keys.refresh()
        self._partitions.text = f"Partitions ({len(now['partitions'])})"
        set_rows(self._partition_rows, self._partition_cells(now))
        self._splits.text = f"Splits ({len(now['splits'])})"
        set_rows(self._split_rows, [_split_cells(event) for event in reversed(now["splits"][-40:])])

    def _rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._heat.get(self._resource, {}).get("partitions", [])
        return found[:PARTITIONS_MAX]

    def _options(self) -> dict[str, Any]:
        """Returns the heat map's options: time to the right, partitions upwards."""
        rows, slots = self._rows(), self._heat.get(self._resource, {}).get("slots", 0)
        seconds = self._heat.get(self._resource, {}).get("slot_s", 10)
        cells = [
            [row["first"] + at, y, percent]
            for y, row in enumerate(rows)
            for at, percent in enumerate(row["used"])
            if percent >= 0
        ]
        times = [f"-{(slots - 1 - at) * seconds} s" for at in range(slots - 1)] + ["now"]
        names = [visible(row["name"])[-8:] for row in rows]
        return {
            "animation": False,
            "grid": {"left": 70, "right": 20, "top": 10, "bottom": 60},
            "xAxis": {"type": "category", "data": times, "axisLabel": CHART_TEXT},
            "yAxis": {"type": "category", "data": names, "axisLabel": CHART_TEXT},
            "visualMap": {
                "min": 0, "max": 100, "orient": "horizontal", "left": "center", "bottom": 0,
                "text": ["limit", "idle"], "inRange": {"color": HEAT_COLOURS}, "textStyle": CHART_TEXT,
            },
            "tooltip": {"position": "top"},
            "series": [{"type": "heatmap", "name": "percent of the limit", "data": cells}],
        }  # fmt: skip

    def _pick(self, row: int) -> None:
        rows = self._rows()
        self._picked = rows[int(row)]["name"] if int(row) < len(rows) else None
        self._keys.refresh()

    def _draw_capacity(self) -> None:
        now = self._now
        for at, (name, title) in enumerate((("read", "Reads"), ("write", "Writes"))):
            direction = now[name]
            limit = now["capacity"][at] if now["capacity"] else direction["rate"]
            used = sum(part[name]["heat"] for part in now["partitions"])
            burst, maximum = direction["burst"], direction["maximum"]
            throttled = sum(part[name]["throttled"] for part in now["partitions"])
            facts(
                {
                    title: f"{used:,.1f} of {limit:,.0f} units/s",
                    "Burst balance": "none"
                    if burst is None
                    else f"{burst:,.0f} of {direction['burst_max']:,.0f}",
                    "Configured maximum": "none" if maximum is None else f"{maximum:,} units/s",
                    "Throttled by partitions": f"{throttled:,}",
                }
            )
            share = used / limit if limit else 0
            ui.linear_progress(min(1, share), show_value=False, color="red" if share >= 1 else None).props(
                f"aria-label='{title} of the capacity'"
            )

    def _hot(self, now: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Returns the hot keys of the picked partition, or of all, each with its partition."""
        found = [
            (part, key)
            for part in now["partitions"]
            if self._picked in (None, part["id"])
            for key in part.get("hot_keys", ())
            if key["percent"] >= HOT_PERCENT
        ]
        return sorted(found, key=lambda pair: -pair[0][pair[1]["direction"]]["heat"] * pair[1]["percent"])[
            :20
        ]

    def _draw_hot_keys(self) -> None:
        found = self._hot(self._now)
        if self._picked is not None:
            with ui.row().classes("items-center"):
                note(f"Partition {visible(self._picked)[-8:]} is picked.")
                ui.button("Show all", on_click=self._show_all).props("flat dense")
        if not found:
            note("No key makes a partition hot.")
        for part, key in found:
            side = part[key["direction"]]
            names = [str(each) for each in (key["key"], key["sort_key"]) if each is not None]
            with ui.row().classes("w-full items-center"):
                ui.label(visible(" / ".join(names or [key["instead"]]))[:120]).classes("hot")
                where = f"the {key['direction']}s of partition {visible(part['id'])[-8:]}"
                note(
                    f"{key['percent']:g} % of {where}, which uses {side['heat_percent']:,.0f} % of its limit "
                    f"and has throttled {side['throttled']:,}"
                )
                if not names:
                    continue
                ui.button("What now?", on_click=lambda key=key, side=side: self._advise(key, side)).props(
                    "outline dense"
                )
                path = items_path(self._table, self._resource, *names)
                ui.button("Items", on_click=lambda path=path: ui.navigate.to(path)).props("flat dense")

    def _show_all(self) -> None:
        self._picked = None
        self._keys.refresh()

    def _advise(self, key: dict[str, Any], side: dict[str, Any]) -> None:
        """Shows what relieves a hot key: how many shards, as the planner counts them."""
        rate = side["heat"] * key["percent"] / 100
        ways = max(2, math.ceil(rate / side["limit"] * 1.25)) if side["limit"] else 2
        name = visible(str(key["key"]))[:80]
        with ui.context.client.content, dialog_of(f"What now, for {name}?") as dialog:
            ui.label(
                f"It gets about {rate:,.0f} {key['direction']} units a second; one partition serves "
                f"{side['limit']:,} for one key, whatever the table has. More capacity does not help, and "
                "neither does a split of the partition when it is one item."
            )
            if key["direction"] == "write":
                ui.label(
                    f"Write to {ways} keys in turn, {name}#0 to {name}#{ways - 1}, and read them together:"
                )
                ui.label(
                    f"shard = random.randrange({ways})\n"
                    f"table.update_item(Key={{...: f'{name}#{{shard}}'}}, ...)\n"
                    f"total = sum(read(f'{name}#{{shard}}') for shard in range({ways}))"
                ).classes("code")
            else:
                ui.label(
                    "Cache it for a second in the application, read it eventually consistent "
                    f"(half the units), or keep {ways} copies and read one at random."
                )
            note("`faradisc plan` with this rate shows whether that holds at 2, 4 and 10 times the load.")
            ui.button("Close", on_click=dialog.close).props("flat")

    @staticmethod
    def _partition_cells(now: dict[str, Any]) -> list[dict[str, Any]]:
        def heat(part: dict[str, Any]) -> float:
            return max(float(part[way]["heat_percent"]) for way in ("read", "write"))

        return [
            {
                "id": visible(part["id"])[-8:],
                "reads": f"{part['read']['heat']:,.1f} ({part['read']['heat_percent']:,.0f} %)",
                "writes": f"{part['write']['heat']:,.1f} ({part['write']['heat_percent']:,.0f} %)",
                "throttled": part["read"]["throttled"] + part["write"]["throttled"],
                "items": f"{part['items']:,}",
                "size": size_text(part["bytes"]),
                "state": part["state"] + (f", not split: {part['refused']}" if part["refused"] else ""),
            }
            for part in sorted(now["partitions"], key=heat, reverse=True)[:PARTITIONS_MAX]
        ]

    def _levers(self) -> None:
        """Opens the dialog of what the admin API changes."""
        now = self._now
        with dialog_of("Levers: for experiments, beyond what DynamoDB offers") as dialog:
            profile = ui.input(
                "Profile, such as aws:30/10; empty for the server's own", value=self._shown["profile"]
            ).classes("w-full")
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
                if profile.value != self._shown["profile"]:
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


_PARTITION: Final = {
    "id": "Partition",
    "reads": "Reads/s (of limit)",
    "writes": "Writes/s (of limit)",
    "throttled": "Throttled",
    "items": "Items",
    "size": "Size",
    "state": "State",
}
_SPLIT: Final = {"at": "At", "event": "Event", "cause": "Cause", "partition": "Partition"}


def _split_cells(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "at": f"{datetime.fromtimestamp(event['at_ns'] / 1e9, UTC):%H:%M:%S}",
        "event": event["event"],
        "cause": event.get("reason") or event.get("cause") or "",
        "partition": visible(str(event.get("parent") or event.get("partition") or ""))[-8:],
    }
