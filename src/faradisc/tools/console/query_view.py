"""The query builder as it is drawn: keys, filters, the request as code, queries that the browser keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

import orjson
from nicegui import ui

from faradisc.tools.console.copy_as import boto3_code, cli_code, javascript_code, partiql_code
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.files import show_codes
from faradisc.tools.console.messages import complain, guarded
from faradisc.tools.console.parts import from_browser, heading
from faradisc.tools.console.queries import (
    FILTER_OPERATORS,
    SORT_OPERATORS,
    Form,
    Term,
    choices,
    request_of,
    schema_of,
    types_of,
)
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.values import TYPES, ValueMistake

_ENTER: Final = """(event) => {
  if (event.target.tagName === "INPUT" && !event.target.closest(".q-select")) emit();
}"""
"""Enter in any field of a query runs it; in a list of choices it chooses."""
_HISTORY: Final = "'faradisc.queries'"


class QueryView:
    """The inputs of a query."""

    def __init__(
        self, session: Session, form: Form, described: dict[str, Any], run: Callable[[], Awaitable[None]]
    ) -> None:
        """run: runs the query that the form says."""
        self._session = session
        self._form = form
        self._described = described
        self._run = run

    def draw(self) -> None:
        self._box = ui.column().classes("w-full gap-2")
        self._box.on("keydown.enter", guarded(self._run), js_handler=_ENTER)
        self._draw_form()

    def _draw_form(self) -> None:
        """Draws the query as the form says; again when the form was replaced."""
        form, types = self._form, types_of(self._described)
        self._box.clear()
        with self._box:
            with ui.row().classes("w-full items-end gap-2"):

                @ui.refreshable
                def keys() -> None:
                    names = schema_of(self._described, form.index)
                    ui.input(f"{names[0]} ({types[names[0]]})").bind_value(form, "partition").classes(
                        "w-48 mono-field"
                    )
                    if len(names) > 1:
                        with ui.row().classes("joined gap-0 no-wrap items-end"):
                            operator = ui.select(list(SORT_OPERATORS)).bind_value(form.sort, "operator")
                            operator.style("width: 78px").props(f"aria-label='Operator of {names[1]}'")
                            text = ui.input(f"{names[1]} ({types[names[1]]})").bind_value(form.sort, "text")
                            text.classes("w-48 mono-field")
                        ui.input("and").bind_value(form.sort, "second").classes(
                            "w-32 mono-field"
                        ).bind_visibility_from(form.sort, "operator", lambda op: op == "between")

                source = ui.select(self._sources(), label="Table or index", on_change=keys.refresh)
                source.bind_value(form, "index").style("min-width: 160px")
                keys()
                ui.button("Run", icon="play_arrow", on_click=guarded(self._run))
                more = ui.button("Filters", icon="filter_list").props("flat")
                ui.button("Copy as", icon="code", on_click=self._copy).props("flat")
                ui.button("History", icon="history", on_click=guarded(self._history)).props("flat")
            has_more = bool(form.filters or form.columns or form.descending or form.consistent)
            with ui.column().classes("w-full gap-2") as box:
                self._draw_filters(source)
            box.set_visibility(has_more)
            more.on_click(lambda: box.set_visibility(not box.visible))

    def _draw_filters(self, source: ui.select) -> None:
        form = self._form
        filters = ui.column().classes("w-full gap-1")

        def draw(term: Term) -> None:
            def remove() -> None:
                form.filters.remove(term)
                row.delete()

            with filters, ui.row().classes("items-end gap-2") as row:
                ui.input("Attribute").bind_value(term, "name").classes("w-40 mono-field")
                ui.select(list(FILTER_OPERATORS)).bind_value(term, "operator").classes("w-36").props(
                    "aria-label=Operator"
                )
                ui.select({k: TYPES[k] for k in ("S", "N", "BOOL", "B", "NULL")}).bind_value(
                    term, "kind"
                ).classes("w-28").props("aria-label=Type")
                ui.input("Value").bind_value(term, "text").classes("w-48 mono-field")
                ui.input("and").bind_value(term, "second").classes("w-32 mono-field").bind_visibility_from(
                    term, "operator", lambda op: op == "between"
                )
                ui.button(icon="close", on_click=remove).props("flat round aria-label='Remove filter'")

        def add() -> None:
            form.filters.append(Term())
            draw(form.filters[-1])

        for term in form.filters:
            draw(term)
        with ui.row().classes("items-end gap-3"):
            ui.button("Add filter", icon="add", on_click=add).props("flat")
            ui.input("Attributes to return, separated by commas").bind_value(form, "columns").classes("w-72")
            ui.checkbox("Descending").bind_value(form, "descending")
            consistent = ui.checkbox("Consistent read").bind_value(form, "consistent")
            consistent.on_value_change(lambda: source.set_options(self._sources(), value=form.index))

    def _sources(self) -> dict[str, str]:
        """Returns the table and its indexes with what speaks against them."""
        found = choices(self._described, self._form.consistent)
        return {
            c.index: c.title + (f" – {c.unsuitable or c.note}" * bool(c.unsuitable or c.note)) for c in found
        }

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
        show_codes("The request as code", codes)

    # --- History and saved queries, in the browser ---

    def remember(self, name: str = "") -> None:
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
        script = f"return JSON.parse(localStorage.getItem({_HISTORY}) || '[]')"
        found = await from_browser(script, [])
        mine = [each for each in found if each["form"]["table"] == self._form.table]
        with ui.dialog() as dialog, ui.card().classes("wide"):
            heading("Queries of this table, newest first")
            with ui.row().classes("w-full items-end no-wrap"):
                name = ui.input("Name for the present query, to save it").classes("grow")
                ui.button("Save", on_click=lambda: self.remember(name.value or "")).props("outline")
            with ui.column().classes("dialog-body gap-0"):
                for each in mine:
                    form = each["form"]
                    title = each.get("name") or " ".join(
                        filter(None, (form["index"] or "table", form["partition"], form["sort"]["text"]))
                    )
                    filters = f", {len(form['filters'])} filters" if form["filters"] else ""
                    ui.button(f"{title}{filters}", on_click=lambda form=form: dialog.submit(form)).props(
                        "flat no-caps align=left"
                    ).classes("w-full")
        picked = await dialog
        if picked:
            terms = {"sort": Term(**picked["sort"]), "filters": [Term(**term) for term in picked["filters"]]}
            for name_of, value in {**picked, **terms}.items():
                setattr(self._form, name_of, value)
            self._draw_form()
            await self._run()
