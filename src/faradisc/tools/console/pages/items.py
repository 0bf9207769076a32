"""The items of a table: query builder, grid, editor, staged changes, and the request as code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson
from nicegui import ui

from faradisc.tools.console.bulk import AllResults, bulk_edit_of
from faradisc.tools.console.changes import write_of
from faradisc.tools.console.editor import edited
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import copied, csv_text
from faradisc.tools.console.generate import GENERATED_MAX, generated
from faradisc.tools.console.grid import GridActions, ItemGrid
from faradisc.tools.console.import_view import drop_target, previewed, upload
from faradisc.tools.console.importing import FileOfItems
from faradisc.tools.console.messages import chosen, complain, guarded, notice
from faradisc.tools.console.money import query_usd
from faradisc.tools.console.navigation import items_path, table_path
from faradisc.tools.console.parts import dialog_end, forbid, heading, note
from faradisc.tools.console.plain_json import plain_text
from faradisc.tools.console.queries import (
    LIMIT_MAX,
    Form,
    better_index,
    collections_of,
    form_of_query,
    plan_of,
    query_of_form,
    request_of,
    schema_of,
    types_of,
)
from faradisc.tools.console.query_view import QueryView
from faradisc.tools.console.review import key_text, reviewed, settled
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.shell import console_page, current_shell, go
from faradisc.tools.console.staging import StagedConflict, Staging, resolve
from faradisc.tools.console.values import (
    Item,
    ValueMistake,
    counted,
    item_text,
    text_of,
    type_of,
    value_of,
    visible,
)


@console_page("/tables/{table}/items", "Items")
async def items_page(session: Session, table: str, query: list[tuple[str, str]]) -> None:
    """query: as `queries.query_of_form` writes it."""
    described, denied = await asyncio.gather(
        session.endpoint.describe(table), session.denied(table, "PutItem", "UpdateItem", "DeleteItem")
    )
    explorer = Explorer(session, form_of_query(table, query, described), described)
    explorer.draw(denied)
    await guarded(explorer.first, retry=True)()


class Explorer:
    """One page of items, and what is staged on it."""

    def __init__(self, session: Session, form: Form, described: dict[str, Any]) -> None:
        self._session = session
        self._shell = current_shell()
        self._described = described
        self._keys = schema_of(described, "")
        self._form = form
        self._request: tuple[str, dict[str, Any]] = ("Scan", {"TableName": form.table})
        self._next: dict[str, Any] | None = None
        self._staging = Staging()
        self._units = self._examined = 0.0
        self._hidden: list[str] = []
        self._selected: list[int] = []
        self._grid: ItemGrid

    # --- Drawing ---

    def draw(self, denied: set[str]) -> None:
        """denied: operations that this key may not use."""
        self._denied = denied
        self._query = QueryView(self._session, self._form, self._described, self.run)
        self._query.draw()
        self._plan = ui.label("").classes("plan")
        with ui.row().classes("w-full items-center gap-1"):
            forbid(ui.button("New item", icon="add", on_click=self._new).props("outline"), denied, "PutItem")
            self._edit_button = (
                ui.button("Edit", icon="edit", on_click=self._edit_selected)
                .props("flat")
                .classes("icon-only-narrow")
            )
            self._one = [
                ui.button("Duplicate", icon="content_copy", on_click=self._duplicate)
                .props("flat")
                .classes("icon-only-narrow")
            ]
            with (
                ui.button("More", icon="more_horiz").props("flat").classes("icon-only-narrow") as more,
                ui.menu() as menu,
            ):
                more_box = ui.column().classes("gap-0")
            menu.on_value_change(
                lambda event: self._draw_more(more_box, self._selected) if event.value else None
            )
            self._one.append(more)
            self._delete_button = (
                ui.button("Delete", icon="delete", on_click=self._delete)
                .props("flat")
                .classes("icon-only-narrow")
            )
            with ui.button("Import", icon="upload").props("flat").classes("icon-only-narrow"), ui.menu():
                ui.menu_item("A file of JSON, lines or CSV…", self._pick_file)
                ui.menu_item("Generated items…", guarded(self._generate))
            with ui.button("Export", icon="download").props("flat").classes("icon-only-narrow"), ui.menu():
                ui.menu_item("These items as JSON", lambda: self._save("json"))
                ui.menu_item("These items as CSV", lambda: self._save("csv"))
            self._draw_all()
            with (
                ui.button(icon="view_column").props("flat aria-label=Columns title=Columns"),
                ui.menu() as columns,
            ):
                self._column_box = ui.column().classes("gap-0 p-2")
            columns.on_value_change(lambda event: self._draw_columns() if event.value else None)
            ui.space()
            quick = (
                ui.input(placeholder="Quick filter")
                .props("dense outlined clearable data-quick aria-label='Quick filter'")
                .classes("w-40")
            )
            quick.on_value_change(lambda: self._grid.filter(quick.value or ""))
            self._review = ui.button("Review changes", on_click=guarded(self._review_changes)).props(
                "color=accent"
            )
        colours = self._session.colours.setdefault(self._form.table, {})
        self._file = upload(self._load, "A file of JSON, JSON lines or CSV").classes("hidden")
        with ui.element("div").classes("fill") as place:
            drop_target(place, self._file)
            actions = GridActions(
                self._open,
                self._select,
                edit=None if "UpdateItem" in denied else self._edit_cell,
                copy=self._copy_cell,
                menu=lambda number: self._draw_more(menu_box, [number]),
            )
            self._grid = ItemGrid(self._keys, actions, colours=colours)
            with ui.context_menu():
                menu_box = ui.column().classes("gap-0")
        with ui.row().classes("w-full items-center no-wrap gap-2 grid-end"):
            self._count = note("").classes("count")
            ui.number(min=1, max=LIMIT_MAX, format="%d").bind_value(
                self._form, "limit", forward=lambda value: int(value or 1)
            ).props("dense outlined aria-label='Page size'").classes("w-20")
            note("a page")
            self._more = ui.button("Next page", on_click=guarded(self._next_page)).props("outline")
        self._select([])
        self._review.set_visibility(False)

    def _draw_all(self) -> None:
        """Draws what can be done with all results, also with those that are not read yet."""
        everything = AllResults(
            self._session, self._described, lambda: request_of(self._form, self._described)
        )

        async def then_again(work: Callable[[], Awaitable[bool]]) -> None:
            if await self._shell.may_leave() and await work():
                await self._read(*request_of(self._form, self._described))

        with ui.button("All results", icon="select_all").props("flat").classes("icon-only-narrow"), ui.menu():
            ui.menu_item("Save as JSON lines", guarded(partial(everything.save, "jsonl")))
            ui.menu_item("Save as plain JSON lines", guarded(partial(everything.save, "plain")))
            ui.menu_item("Save as CSV", guarded(partial(everything.save, "csv")))
            edit = ui.menu_item("Edit…", guarded(partial(then_again, everything.edit)))
            delete = ui.menu_item("Delete…", guarded(partial(then_again, everything.delete)))
        for item, operation in ((edit, "UpdateItem"), (delete, "DeleteItem")):
            item.set_enabled(operation not in self._denied)

    def _show(self) -> None:
        """Draws the rows as read, with staged changes in them, and the sums below."""
        staged = self._staging.changes
        left_out = self._grid.show(self._staging.rows(), self._hidden)
        operation, request = self._request
        read = len(self._staging.read)
        text = f"{counted(read, 'item')}, {self._examined:,.0f} examined"
        text += f"; {left_out:,} attributes have no column" if left_out else ""
        text += f"; {counted(self._units, 'read unit')}"
        money = query_usd(self._units, 0, self._described)
        self._count.text = text + (f", {money}" if money else "")
        better = better_index(self._form, self._described)
        self._plan.text = plan_of(operation, request) + (f" {better}" if better else "")
        is_costly = operation == "Scan" and bool(request.get("FilterExpression") or self._next)
        self._plan.classes(add="costly" if is_costly else "", remove="" if is_costly else "costly")
        self._plan.set_visibility(is_costly or "FilterExpression" in request)
        self._more.set_enabled(self._next is not None)
        self._review.set_visibility(bool(staged))
        self._review.text = f"Review {counted(len(staged), 'change')}"
        if staged:
            self._shell.hold(self._may_drop)
        else:
            self._shell.release()

    def _select(self, numbers: list[int]) -> None:
        self._selected = numbers
        for button, operation in zip(self._one, ("PutItem", ""), strict=True):
            button.set_enabled(len(numbers) == 1 and operation not in self._denied)
        self._edit_button.set_enabled(bool(numbers) and "UpdateItem" not in self._denied)
        self._edit_button.text = f"Edit {len(numbers):,}" if len(numbers) > 1 else "Edit"
        self._delete_button.set_enabled(bool(numbers) and "DeleteItem" not in self._denied)
        self._delete_button.text = f"Delete {len(numbers):,}" if len(numbers) > 1 else "Delete"

    async def _may_drop(self) -> bool:
        """Waits until staged changes are written or may be dropped. Returns whether none is left to lose."""
        number = len(self._staging.changes)
        said = f"{number:,} changes are" if number > 1 else "1 change is"
        answer = await chosen(
            "Not written yet",
            f"{said} staged here and not written.",
            {"drop": "Drop", "review": "Review and write", "stay": "Stay here"},
        )
        if answer == "review":
            await self._review_changes()
            return not self._staging.changes
        return answer == "drop"

    # --- Reading ---

    async def first(self) -> None:
        """Runs the query of the address."""
        try:
            await self._read(*request_of(self._form, self._described))
        except Failure:
            self._show()
            raise

    async def run(self) -> None:
        try:
            request = request_of(self._form, self._described)
        except ValueMistake as mistake:
            complain(Failure("", str(mistake)))
            return
        if not await self._shell.may_leave():
            return
        self._shell.show_address(self.address)
        await self._read(*request)
        self._query.remember()

    @property
    def address(self) -> str:
        """The address of the present query."""
        query = urlencode(query_of_form(self._form))
        return table_path(self._form.table, "items") + (f"?{query}" if query else "")

    async def _read(self, operation: str, request: dict[str, Any]) -> None:
        self._request = operation, request
        self._staging.clear()
        self._units, self._examined, self._next = 0, 0, None
        self._select([])
        await self._page(request)

    async def _next_page(self) -> None:
        await self._page({**self._request[1], "ExclusiveStartKey": self._next})

    async def _page(self, request: dict[str, Any]) -> None:
        answer = await self._session.endpoint.call(self._request[0], request)
        self._staging.add_read(answer["Items"])
        self._examined += answer["ScannedCount"]
        self._units += answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
        self._next = answer.get("LastEvaluatedKey")
        self._show()

    # --- Changing ---

    async def _open(self, number: int) -> None:
        item = self._staging.item(number)
        after = await edited(key_text(item, self._keys), item, self._keys)
        if after is not None:
            self._staging.stage(number, after)
            self._show()

    async def _new(self) -> None:
        types = types_of(self._described)
        item: Item = {n: value_of(types[n], "0" if types[n] == "N" else "") for n in self._keys}
        await self._add("New item", item)

    async def _add(self, title: str, item: Item) -> None:
        after = await edited(title, item, self._keys)
        if after is not None:
            self._staging.add(after)
            self._show()

    async def _edit_selected(self) -> None:
        """Opens the editor of the selected item; for several, asks for one attribute of all of them."""
        if len(self._selected) == 1:
            await self._open(self._selected[0])
            return
        edit = await bulk_edit_of(f"Edit {len(self._selected):,} items", self._keys)
        if edit is not None:
            for number in self._selected:
                self._staging.stage(number, edit(self._staging.item(number)))
            self._show()

    def _edit_cell(self, number: int, name: str, text: str) -> None:
        """Stages what was typed into a cell. It keeps its type; a new one has the type of its column."""
        item = self._staging.item(number)
        kinds = [type_of(row.item[name]) for row in self._staging.rows() if name in row.item]
        kind = type_of(item[name]) if name in item else max(kinds, key=kinds.count, default="S")
        try:
            if text or name in item:
                self._staging.stage(number, {**item, name: value_of(kind, text)})
        except ValueMistake as mistake:
            complain(Failure("", f"{name}: {mistake}"))
        self._show()

    def _copy_cell(self, number: int, name: str) -> None:
        value = self._staging.item(number).get(name)
        copied(text_of(value) if value is not None else "")

    async def _duplicate(self) -> None:
        await self._add("Duplicate: give it another key", dict(self._staging.item(self._selected[0])))

    def _delete(self) -> None:
        for number in self._selected:
            self._staging.stage(number, None)
        self._show()

    async def _review_changes(self) -> None:
        match await reviewed(self._staging, self._keys):
            case "write":
                await self._write()
            case "discard":
                self._staging.changes.clear()
                self._show()

    async def _write(self) -> None:
        """Writes what is staged. What fails stays staged; for items that have changed since it asks."""
        written, conflicts = 0, []
        for number, change in list(self._staging.changes.items()):
            request = write_of(self._form.table, self._keys, change.before, change.after)
            try:
                if request is not None:
                    await self._session.endpoint.call(*request)
            except Failure as failure:
                if failure.code == "ConditionalCheckFailedException":
                    conflicts.append(number)
                else:
                    complain(failure)
                continue
            written += 1
            self._staging.written(number)
        self._show()
        if written:
            notice(f"{written:,} written")
        is_settled = False
        for at, number in enumerate(conflicts):
            is_settled |= await self._settle(number, len(conflicts) - at - 1)
        if is_settled and self._staging.changes:
            await self._review_changes()

    async def _settle(self, number: int, left: int) -> bool:
        """Asks what becomes of a conflict. Returns whether something is to be written for it."""
        change = self._staging.changes[number]
        key = {name: (change.before or change.after or {})[name] for name in self._keys}
        request = {"TableName": self._form.table, "Key": key, "ConsistentRead": True}
        theirs = (await self._session.endpoint.call("GetItem", request)).get("Item")
        conflict = StagedConflict(number, change.before, change.after, theirs)
        how = await settled(conflict, self._keys, left)
        if how is not None:
            resolve(self._staging, conflict, how)
            self._show()
        return how in ("mine", "merge")

    def _draw_more(self, box: ui.column, numbers: list[int]) -> None:
        """Draws what can be done with the first of some items: follow it to its collections, copy it."""
        if not numbers:
            return
        item = self._staging.item(numbers[0])
        box.clear()
        with box:
            for form in collections_of(item, self._described):
                where = f"index {form.index}" if form.index else "the table"
                path = items_path(form.table, form.index, form.partition)
                ui.menu_item(f"Query {where} for {visible(form.partition)[:40]}", partial(go, path))
            ui.menu_item("Copy as DynamoDB JSON", lambda: copied(item_text(item)))
            ui.menu_item("Copy as plain JSON", lambda: copied(plain_text(item)))

    # --- Columns and files ---

    def _draw_columns(self) -> None:
        self._column_box.clear()
        with self._column_box:
            for name in self._grid.names:
                ui.checkbox(
                    name,
                    value=name not in self._hidden,
                    on_change=lambda event, name=name: self._hide(name, not event.value),
                )

    def _hide(self, name: str, hidden: bool) -> None:
        self._hidden = [each for each in self._hidden if each != name] + [name] * hidden
        self._show()

    def _save(self, form: str) -> None:
        items = self._grid.items
        if form == "json":
            ui.download.content(orjson.dumps(items, option=orjson.OPT_INDENT_2), f"{self._form.table}.json")
            return
        ui.download.content(csv_text(items).encode(), f"{self._form.table}.csv")

    def _pick_file(self) -> None:
        self._file.run_method("pickFiles")

    async def _load(self, name: str, content: bytes) -> None:
        """Stages the items of a file, once its preview was seen."""
        types = types_of(self._described)
        found = await previewed(FileOfItems(name, content), types, "Stage {} items")
        self._stage_new(found or [])

    async def _generate(self) -> None:
        """Stages items like those that are shown."""
        with ui.dialog() as dialog, ui.card().classes("wide narrow"):
            heading("Generated items")
            note("Like those that are shown: the same entities and shapes, other keys, numbers and days.")
            count = ui.number("Items", value=20, min=1, max=GENERATED_MAX, format="%d")
            seed = ui.number("Seed: the same one makes the same items", value=1, min=0, format="%d")
            dialog_end(dialog, "Stage", lambda: dialog.submit((int(count.value or 0), int(seed.value or 0))))
        wanted = await dialog
        if wanted:
            like, types = list(self._staging.read.values()), types_of(self._described)
            self._stage_new(generated(like, self._keys, types, min(wanted[0], GENERATED_MAX), wanted[1]))

    def _stage_new(self, items: list[Item]) -> None:
        for item in items:
            self._staging.add(item)
        if items:
            self._show()
