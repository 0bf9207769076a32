"""The frame around all pages: header, rail with the tables, tabs of a table, palette, keys.

One page of NiceGUI for each address draws it once; then links change the content inside (`shell`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import orjson
from fastapi import Request
from fastapi.responses import HTMLResponse
from nicegui import __version__, app, background_tasks, ui
from nicegui.dependencies import esm_modules
from nicegui.element import Element
from nicegui.functions.refreshable import RefreshableContainer

from faradisc.charts.style import DARK, LIGHT
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.export_view import register_downloads
from faradisc.tools.console.messages import Messages
from faradisc.tools.console.navigation import PLACES, TABS, grouped, palette_entries, table_path
from faradisc.tools.console.parts import dialog_of, icon_button, note
from faradisc.tools.console.sessions import SESSIONS, Session
from faradisc.tools.console.shell import PAGES, SHELL, ConsolePage, Shell

_HERE: Final = Path(__file__).parent
STYLE: Final = f":root{{{LIGHT}}}.body--dark{{{DARK}}}" + (_HERE / "style.css").read_text()
"""The colours of the planner's report, then what is the console's own."""
SCRIPT: Final = f"<script>{(_HERE / 'shell.js').read_text()}</script>"
CONNECT_S_MAX: Final = 10.0
"""Seconds in which a browser connects after it has fetched a page. What fetches pages and never connects gets
no session, no content and no memory; only then is the page built."""
KEYS: Final = {
    "Ctrl K": "go to a page, a table or an action",
    "?": "these keys",
    "/": "the quick filter of the page",
    "Enter": "in a query: run it; in the grid: edit the item",
    "Ctrl Enter": "in PartiQL: run",
    "Escape": "close a dialog",
}


class Rail(Element, component="rail.js"):
    """The tables in the rail."""

    def show(self, names: list[str], recent: list[str], table: str | None, page: str) -> None:
        self._props["groups"] = grouped(names)
        self._props["recent"] = [name for name in recent if name in names]
        self._props["current"] = table
        self._props["tab"] = f"/{page}" if page else ""
        self.update()


class Palette(Element, component="palette.js"):
    """Goes to what its entries name (navigation.py)."""

    def __init__(self, actions: Iterable[str]) -> None:
        super().__init__()
        self._props["entries"] = palette_entries(actions)
        self._props["tabs"] = TABS

    def show(self, names: list[str]) -> None:
        if names != self._props.get("tables"):
            self._props["tables"] = names
            self.update()


def register() -> None:
    """Makes each address of a page one of NiceGUI, which draws the frame and the page in it."""
    for page in PAGES:
        ui.page(page.path, title=f"{page.title} · Faradisc")(_served)
    register_downloads()
    app.add_exception_handler(404, _no_page)


def _preloads(path: str) -> str:
    """Returns links to the scripts that the page of a path will need once its browser has connected."""
    elements: list[type[Element]] = [ui.colors, ui.dark_mode, ui.header, ui.link, ui.timer, Rail, Palette]
    files = []
    if path == "/tables" or path.endswith("/items"):
        elements += [ui.aggrid, ui.input, ui.select, ui.upload, RefreshableContainer]
        grid = next(key for key, each in esm_modules.items() if each.name == "nicegui-aggrid")
        files = [f"esm/{grid}/index.js", "static/utils/dynamic_properties.js"]
    files += [f"components/{element.component.key}" for element in elements if element.component]
    return "".join(f'<link rel="modulepreload" href="/_nicegui/{__version__}/{file}">' for file in files)


async def _no_page(request: Request, _: Exception) -> HTMLResponse:
    text = (
        f"<!doctype html><html lang=en><title>Faradisc</title><style>:root{{{LIGHT}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}body{{background:var(--paper);color:var(--ink);"
        "font:14px Inter,system-ui,sans-serif;margin:4rem auto;max-width:32rem}a{color:inherit}</style>"
        "<h1>There is no such page</h1><p><a href='/'>Start</a> · <a href='/tables'>Tables</a></html>"
    )
    return HTMLResponse(text, 404)


async def _served(request: Request) -> None:
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    ui.add_css(STYLE)
    ui.add_head_html(SCRIPT + _preloads(request.url.path))
    await ui.context.client.connected(CONNECT_S_MAX)
    await PageFrame(SESSIONS.current()).draw(address)


class PageFrame:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._shell = Shell(session, ui.context.client)
        self._shell.client.storage[SHELL] = self._shell
        self._names: list[str] = []
        self._place: tuple[ConsolePage | None, str | None] = (None, None)

    async def draw(self, address: str) -> None:
        ui.button.default_props("no-caps unelevated")
        ui.toggle.default_props("no-caps unelevated toggle-color=picked toggle-text-color=picked")
        for element in (ui.checkbox, ui.switch):
            element.default_props("dense size=32px")
        ui.colors(
            primary="#4f46e5", secondary="#57534e", accent="#4f46e5", positive="#2b8a3e", negative="#d1242f",
            warning="#b35309",
        )  # fmt: skip
        self._dark = ui.dark_mode(self._session.dark)
        ui.on("go", self._go)
        ui.on("keys", self._show_keys)
        self._draw_header()
        self._draw_rail()
        self._palette = Palette(_ACTIONS)
        self._palette.on("pick", lambda event: self._act(event.args))
        with ui.column().classes("page w-full"):
            self._tabs = ui.element("nav").classes("tabs").props('aria-label="Pages of the table"')
            self._shell.content = ui.column().classes("content w-full")
        Messages(self._shell)
        self._shell.on_place = self._show_place
        ui.timer(0.05, self._connected, once=True)
        await self._shell.draw(address)

    def _draw_header(self) -> None:
        with ui.header().classes("top items-center gap-2"):
            icon_button("menu", "Navigation", lambda _: self._drawer.toggle()).props("round").classes("lt-md")
            ui.link("Faradisc", "/").classes("brand")
            self._title = ui.label("").classes("title ellipsis").props("role=heading aria-level=1")
            ui.space()
            with ui.link(target="/key").classes("who").props("aria-label='Sign in'"):
                ui.label(self._session.url or "Amazon DynamoDB").classes("endpoint ellipsis")
                ui.label(self._session.region).classes("region")
                self._who = ui.label("").classes("caller ellipsis")
            open_palette = "() => document.dispatchEvent(new CustomEvent('palette'))"
            ui.button("Go to", icon="search").props("flat dense aria-label='Go to (Ctrl K)'").on(
                "click", js_handler=open_palette
            )
            icon_button("help_outline", "Keys", self._show_keys).props("round").classes("gt-sm")
            icon_button("contrast", "Dark or light", self._toggle_dark).props("round")

    def _draw_rail(self) -> None:
        with (
            ui.left_drawer(value=False, bordered=True)
            .props("width=216 breakpoint=1023 show-if-above")
            .classes("side") as self._drawer
        ):
            self._places = ui.element("nav").props("aria-label=Pages").classes("w-full")
            self._rail = Rail()

    async def _go(self, event: Any) -> None:
        await self._shell.go(str(event.args["path"]), event.args["how"])

    def _show_place(self, page: ConsolePage | None, table: str | None) -> None:
        """Marks the place that is shown, and names it in the header."""
        self._place = page, table
        name = page.title if page else "Nothing here"
        self._title.text = f"{table} / {name}" if table else name
        self._shell.client.title = shown = f"{self._title.text} · Faradisc"
        self._shell.client.run_javascript(f"document.title = {orjson.dumps(shown).decode()}")
        self._places.clear()
        with self._places:
            for title, icon, target in PLACES:
                on = " on" if page is not None and table is None and page.path == target else ""
                with ui.link(target=target).classes(f"side-link{on}") as link:
                    ui.icon(icon).props("aria-hidden=true")
                    ui.label(title)
                if on:
                    link.props("aria-current=page")
        self._tabs.clear()
        self._tabs.set_visibility(table is not None)
        if table is not None:
            with self._tabs:
                for title, end in TABS.items():
                    link = ui.link(title, table_path(table, end)).classes("tab")
                    if title == name:
                        link.classes("on").props("aria-current=page")
        self._show_tables()
        place = "document.querySelector('.tab.on')?.scrollIntoView({inline: 'nearest', block: 'nearest'})"
        self._shell.client.run_javascript(f"setTimeout(() => {place}, 50)")
        is_new = table is not None and table not in self._names
        if not self._names or is_new or (page is not None and page.path == "/tables"):
            background_tasks.create(self._renew_tables(), name="tables of the rail")

    async def _renew_tables(self) -> None:
        try:
            self._names = await self._session.endpoint.tables()
        except Failure:
            # The page says so, or it needs no list. What a key opens that may not list tables may be one.
            self._names = [self._place[1]] if self._place[1] else []
        self._show_tables()

    def _show_tables(self) -> None:
        page, table = self._place
        self._rail.show(self._names, self._session.recent, table, TABS.get(page.title, "") if page else "")
        self._palette.show(self._names)

    async def _connected(self) -> None:
        if self._session.dark is None:
            query = "return window.matchMedia('(prefers-color-scheme: dark)').matches"
            try:
                self._session.dark = bool(await ui.run_javascript(query, timeout=10))
            except TimeoutError:
                # The tab was closed before it answered.
                return
            self._apply_dark()
        self._who.text = await self._session.caller()

    def _apply_dark(self) -> None:
        self._dark.set_value(self._session.dark)
        for follow in self._shell.on_dark:
            follow(bool(self._session.dark))

    def _toggle_dark(self) -> None:
        self._session.dark = not self._session.dark
        self._apply_dark()

    def _show_keys(self) -> None:
        with self._shell.client.layout, dialog_of("Keys", narrow=True) as dialog:
            with ui.element("dl").classes("keys"):
                for key, meaning in KEYS.items():
                    with ui.element("dt"):
                        ui.label(key).classes("key")
                    with ui.element("dd"):
                        ui.label(meaning)
            note("Links, Back and Forward stay inside this page; its address holds the query.")
            with ui.row().classes("dialog-end"):
                ui.button("Close", on_click=dialog.close).props("flat")

    async def _act(self, name: str) -> None:
        match name:
            case "Dark or light":
                self._toggle_dark()
            case "Create table":
                await self._shell.go("/tables?create=1")
            case "Keys":
                self._show_keys()


_ACTIONS: Final = ("Create table", "Dark or light", "Keys")
