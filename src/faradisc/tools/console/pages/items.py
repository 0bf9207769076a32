"""The items of a table: query builder, grid, editor, staged changes, and the request as code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.changes import write_of
from faradisc.tools.console.copy_as import boto3_code, cli_code, javascript_code, partiql_code
from faradisc.tools.console.editor import draw_difference, edited
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import csv_text, loaded, show_codes
from faradisc.tools.console.frame import Session, complain, console_page, guarded
from faradisc.tools.console.grid import ItemGrid
from faradisc.tools.console.parts import dialog_of, heading, note
from faradisc.tools.console.queries import (
    FILTER_OPERATORS,
    SORT_OPERATORS,
    Form,
    Term,
    better_index,
    choices,
    indexes_of,
    plan_of,
    request_of,
    schema_of,
    types_of,
)
from faradisc.tools.console.values import TYPES, Item, ValueMistake, text_of, value_of


@console_page("/tables/{table}/items", "Items")
async def items_page(
    session: Session, table: str, index: str = "", partition: str = "", sort: str = ""
) -> None:
    """index, partition, sort: a query to begin with (frame.items_path)."""
    described = await session.endpoint.describe(table)
    known = index in {each["IndexName"] for each in indexes_of(described)}
    form = Form(table, index if known else "", partition, Term(text=sort))
    explorer = Explorer(session, form, described)
    explorer.draw()
    await guarded(explorer.run)()


class Explorer:
    """One page of items, and what is staged on it."""

    def __init__(self, session: Session, form: Form, described: dict[str, Any]) -> None:
        self._session = session
        self._described = described
        self._keys = schema_of(described, "")
        self._form = form
        self._request: tuple[str, dict[str, Any]] = ("Scan", {"TableName": form.table})
        self._next: dict[str, Any] | None = None
        self._staged: dict[int, tuple[Item | None, Item | None]] = {}
        """Before and after, by the row it stands in; new items have negative numbers."""
        self._read: list[Item] = []
        self._units = self._examined = 0.0
        self._hidden: list[str] = []

    # --- Drawing ---

    def draw(self) -> None:
        with ui.card().classes("w-full"):
            self._draw_form()
        self._warning = ui.label("").classes("scan-warning")
        with ui.row().classes("w-full items-center gap-2"):
            ui.button("New item", icon="add", on_click=lambda: self._edit(None)).props("outline dense")
            ui.button("Edit", on_click=self._edit_selected).props("flat dense")
            ui.button("Duplicate", on_click=self._duplicate).props("flat dense")
            ui.button("Delete", on_click=self._delete).props("flat dense")
            ui.button("Save JSON", on_click=lambda: self._save("json")).props("flat dense")
            ui.button("Save CSV", on_click=lambda: self._save("csv")).props("flat dense")
            ui.button("Load", on_click=self._load).props("flat dense")
            ui.button("Columns", on_click=self._columns).props("flat dense")
            ui.space()
            self._review = ui.button("Review changes", on_click=self._review_changes).props("color=accent")
        self._grid = ItemGrid(self._keys, self._edit)
        with ui.row().classes("w-full items-center"):
            self._count = note("")
            ui.space()
            self._more = ui.button("Next page", on_click=guarded(self._next_page)).props("outline dense")
        self._show()

    def _draw_form(self) -> None:
        form, types = self._form, types_of(self._described)
        with ui.row().classes("w-full items-end"):

            @ui.refreshable
            def keys() -> None:
                names = schema_of(self._described, form.index)
                ui.input(f"{names[0]} ({types[names[0]]})").bind_value(form, "partition").classes("w-48").on(
                    "keydown.enter", guarded(self.run)
                )
                if len(names) > 1:
                    ui.select(list(SORT_OPERATORS)).bind_value(form.sort, "operator").classes("w-32").props(
                        f"aria-label='Operator of {len(names)}'"
                    )
                    ui.input(f"{names[1]} ({types[names[1]]})").bind_value(form.sort, "text").classes("w-48")
                    ui.input("and").bind_value(form.sort, "second").classes("w-32").bind_visibility_from(
                        form.sort, "operator", lambda op: op == "between"
                    )

            source = ui.select(self._sources(), label="Table or index", on_change=keys.refresh)
            source.bind_value(form, "index").classes("min-w-[260px]")
            keys()
            ui.number("Page size", min=1, max=1000, format="%d").bind_value(
                form, "limit", forward=lambda value: int(value or 100)
            ).classes("w-20")
            ui.button("Run", icon="play_arrow", on_click=guarded(self.run))
            ui.button("Copy as", icon="content_copy", on_click=self._copy).props("outline")
            ui.button("History", icon="history", on_click=guarded(self._history)).props("flat")
        with ui.expansion("Filters, projection, order").classes("w-full").props("dense"):
            filters = ui.column().classes("w-full")

            def add() -> None:
                term = Term()
                form.filters.append(term)

                def remove() -> None:
                    form.filters.remove(term)
                    row.delete()

                with filters, ui.row().classes("items-end") as row:
                    ui.input("Attribute").bind_value(term, "name").classes("w-40")
                    ui.select(list(FILTER_OPERATORS)).bind_value(term, "operator").classes("w-36").props(
                        "aria-label=Operator"
                    )
                    ui.select({k: TYPES[k] for k in ("S", "N", "BOOL", "B", "NULL")}).bind_value(
                        term, "kind"
                    ).classes("w-28").props("aria-label=Type")
                    ui.input("Value").bind_value(term, "text").classes("w-48")
                    ui.input("and").bind_value(term, "second").classes("w-32").bind_visibility_from(
                        term, "operator", lambda op: op == "between"
                    )
                    ui.button(icon="close", on_click=remove).props("flat dense aria-label='Remove filter'")

            ui.button("Add filter", icon="add", on_click=add).props("flat dense")
            with ui.row().classes("items-end"):
                ui.input("Attributes to return, separated by commas").bind_value(form, "columns").classes(
                    "w-80"
                )
                ui.checkbox("Descending").bind_value(form, "descending")
                consistent = ui.checkbox("Consistent read").bind_value(form, "consistent")
                consistent.on_value_change(lambda: source.set_options(self._sources(), value=form.index))

    def _sources(self) -> dict[str, str]:
        """Returns the table and its indexes with what speaks against them."""
        found = choices(self._described, self._form.consistent)
        return {
            c.index: c.title + (f" – {c.unsuitable or c.note}" * bool(c.unsuitable or c.note)) for c in found
        }

    def _show(self) -> None:
        """Draws the rows as read, with staged changes in them, and the sums below."""
        added = [after for number, (_, after) in self._staged.items() if number < 0 and after is not None]
        rows = [self._staged[n][1] if n in self._staged else item for n, item in enumerate(self._read)]
        self._rows = [n for n, item in enumerate(rows) if item is not None] + sorted(
            (n for n in self._staged if n < 0), reverse=True
        )
        left_out = self._grid.show([*(item for item in rows if item is not None), *added], self._hidden)
        operation, request = self._request
        text = f"{len(self._read):,} items, {self._examined:,.0f} examined, {self._units:g} read units"
        text += f"; {left_out:,} attributes have no column" if left_out else ""
        self._count.text = text + (". Double-click a row, or press Enter, to edit it" if self._read else "")
        better = better_index(self._form, self._described)
        self._warning.text = plan_of(operation, request) + (f" {better}" if better else "")
        self._warning.set_visibility(
            operation == "Scan" and bool(request.get("FilterExpression") or self._next)
        )
        self._more.set_enabled(self._next is not None)
        self._review.set_visibility(bool(self._staged))
        self._review.text = f"Review {len(self._staged)} changes"

    # --- Reading ---

    async def run(self) -> None:
        try:
            self._request = request_of(self._form, self._described)
        except ValueMistake as mistake:
            complain(Failure("", str(mistake)))
            return
        self._read, self._units, self._examined, self._next = [], 0, 0, None
        self._staged.clear()
        await self._page(self._request[1])
        self._remember()

    async def _next_page(self) -> None:
        await self._page({**self._request[1], "ExclusiveStartKey": self._next})

    async def _page(self, request: dict[str, Any]) -> None:
        answer = await self._session.endpoint.call(self._request[0], request)
        self._read += answer["Items"]
        self._examined += answer["ScannedCount"]
        self._units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        self._next = answer.get("LastEvaluatedKey")
        self._show()

    def _copy(self) -> None:
        try:
            operation, request = request_of(self._form, self._described)
        except ValueMistake as mistake:
            complain(Failure("", str(mistake)))
            return
        url, region = self._session.url, self._session.region
        codes = {
            "boto3": boto3_code(operation, request, url, region),
            "AWS CLI": cli_code(operation, request, url, region),
            "JavaScript": javascript_code(operation, request, url, region),
        }
        with suppress(KeyError):
            codes["PartiQL"] = partiql_code(operation, request) or "PartiQL cannot say this request."
        show_codes(codes)

    # --- History and saved queries, in the browser ---

    def _remember(self, name: str = "") -> None:
        """Adds the present query to the browser's history. name: keeps it there, under this name."""
        entry = orjson.dumps(asdict(self._form)).decode()
        ui.run_javascript(
            f"const name = {orjson.dumps(name).decode()};"
            f"const found = JSON.parse(localStorage.getItem({_HISTORY}) || '[]'); const entry = {entry};"
            "const same = each => JSON.stringify(each.form) === JSON.stringify(entry);"
            "const kept = found.filter(each => !same(each) || each.name && each.name !== name);"
            "kept.unshift({form: entry, name: name, at: Date.now()});"
            f"localStorage.setItem({_HISTORY}, JSON.stringify(kept.slice(0, 50)));"
        )

    async def _history(self) -> None:
        found = await ui.run_javascript(
            f"return JSON.parse(localStorage.getItem({_HISTORY}) || '[]')", timeout=5
        )
        mine = [each for each in found if each["form"]["table"] == self._form.table]
        with ui.dialog() as dialog, ui.card().classes("wide"):
            heading("Queries of this table, newest first")
            name = ui.input("Name for the present query, to save it").classes("w-full")
            ui.button("Save", on_click=lambda: self._remember(name.value or "")).props("outline dense")
            for each in mine:
                form = each["form"]
                title = each.get("name") or " ".join(
                    filter(None, (form["index"] or "table", form["partition"], form["sort"]["text"]))
                )
                filters = f", {len(form['filters'])} filters" if form["filters"] else ""
                ui.button(f"{title}{filters}", on_click=lambda form=form: dialog.submit(form)).props(
                    "flat no-caps align=left"
                ).classes("w-full")
        chosen = await dialog
        if chosen:
            chosen = {
                **chosen,
                "sort": Term(**chosen["sort"]),
                "filters": [Term(**term) for term in chosen["filters"]],
            }
            for name, value in chosen.items():
                setattr(self._form, name, value)
            await self.run()

    # --- Changing ---

    async def _edit(self, row: int | None) -> None:
        number = self._rows[row] if row is not None else None
        before = self._before(number)
        item = (
            self._grid.items[row]
            if row is not None
            else {
                name: value_of(
                    types_of(self._described)[name], "0" if types_of(self._described)[name] == "N" else ""
                )
                for name in self._keys
            }
        )
        title = "New item" if row is None else " / ".join(text_of(item[name]) for name in self._keys)
        after = await edited(title, item, self._keys, self._session.dark)
        if after is not None:
            self._stage(
                number
                if number is not None
                else min(self._staged, default=0) - 1
                if min(self._staged, default=0) < 0
                else -1,
                before,
                after,
            )

    async def _edit_selected(self) -> None:
        for row in (await self._grid.selected())[:1]:
            await self._edit(row)

    def _before(self, number: int | None) -> Item | None:
        return self._read[number] if number is not None and number >= 0 else None

    def _stage(self, number: int, before: Item | None, after: Item | None) -> None:
        if before == after:
            self._staged.pop(number, None)
        else:
            self._staged[number] = (before, after)
        self._show()

    async def _duplicate(self) -> None:
        for row in (await self._grid.selected())[:1]:
            after = await edited(
                "Duplicate: give it another key", dict(self._grid.items[row]), self._keys, self._session.dark
            )
            if after is not None:
                self._stage(min([*self._staged, 0]) - 1, None, after)

    async def _delete(self) -> None:
        for row in await self._grid.selected():
            number = self._rows[row]
            self._staged[number] = (self._before(number), None)
            if number < 0:
                del self._staged[number]
        self._show()

    async def _review_changes(self) -> None:
        with dialog_of("Changes, each on the condition that the item is still as it was read") as dialog:
            for before, after in list(self._staged.values())[:100]:
                shown = after or before or {}
                ui.label(" / ".join(text_of(shown[name]) for name in self._keys if name in shown)).classes(
                    "font-medium"
                )
                draw_difference(before, after)
                ui.separator()
            with ui.row().classes("w-full justify-end"):
                ui.button("Discard all", on_click=lambda: dialog.submit("discard")).props(
                    "flat color=negative"
                )
                ui.button("Back", on_click=lambda: dialog.submit(None)).props("flat")
                ui.button("Write", on_click=lambda: dialog.submit("write"))
        match await dialog:
            case "write":
                await self._write()
            case "discard":
                self._staged.clear()
                self._show()

    async def _write(self) -> None:
        written = 0
        for number, (before, after) in list(self._staged.items()):
            request = write_of(self._form.table, self._keys, before, after)
            try:
                if request is not None:
                    await self._session.endpoint.call(*request)
            except Failure as failure:
                if failure.code == "ConditionalCheckFailedException":
                    why = (
                        "exists already"
                        if before is None
                        else "has changed since it was read; run the query again"
                    )
                    key = " / ".join(text_of((before or after or {})[name]) for name in self._keys)
                    failure = Failure(
                        failure.code, f"The item {key} {why}. Nothing of this change was written."
                    )
                complain(failure)
                continue
            written += 1
            del self._staged[number]
            if number >= 0:
                self._read[number] = after or {}
            elif after is not None:
                self._read.append(after)
        self._read = [item for item in self._read if item]
        if self._staged:
            self._staged = {
                n if n < 0 else self._read.index(b or {}): (b, a) for n, (b, a) in self._staged.items()
            }
        self._show()
        if written:
            ui.notify(f"{written} written", type="positive")

    # --- Files ---

    def _columns(self) -> None:
        with ui.dialog() as dialog, ui.card():
            for name in self._grid.names:
                ui.checkbox(
                    name,
                    value=name not in self._hidden,
                    on_change=lambda event, name=name: self._hide(name, not event.value),
                )
            ui.button("Close", on_click=dialog.close).props("flat")
        dialog.open()

    def _hide(self, name: str, hidden: bool) -> None:
        self._hidden = [each for each in self._hidden if each != name] + [name] * hidden
        self._show()

    def _save(self, form: str) -> None:
        items = self._grid.items
        if form == "json":
            ui.download.content(orjson.dumps(items, option=orjson.OPT_INDENT_2), f"{self._form.table}.json")
            return
        ui.download.content(csv_text(items).encode(), f"{self._form.table}.csv")

    def _load(self) -> None:
        with ui.dialog() as dialog, ui.card():
            ui.label(
                "A JSON list of items in DynamoDB JSON, or a CSV file whose first line has the names. "
                "Items are staged, not written."
            )

            async def take(event: Any) -> None:
                content = (await event.file.read()).decode("utf-8-sig", "replace")
                try:
                    found = loaded(event.file.name, content, types_of(self._described))
                except ValueMistake as mistake:
                    complain(Failure("", f"{event.file.name}: {mistake}"))
                    return
                for item in found:
                    self._staged[min([*self._staged, 0]) - 1] = (None, item)
                dialog.close()
                self._show()

            ui.upload(on_upload=take, auto_upload=True, max_file_size=64 * 2**20).props(
                "accept='.json,.csv' label='JSON or CSV'"
            )
        dialog.open()


_HISTORY: Final = "'faradisc.queries'"
