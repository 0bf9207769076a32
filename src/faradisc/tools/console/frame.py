"""What all pages of the console share: the session of a browser, navigation, colours, messages, the palette.

`console_page` makes a function the content of a page: it waits for the browser, gives the function the
session, draws the frame around it, and shows an error of the endpoint as the service words it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import app, ui
from nicegui.elements.dialog import Dialog

from faradisc.tools.console.endpoint import Endpoint, Failure, Key
from faradisc.tools.console.parts import heading

FOCUSABLE = """<script>
new MutationObserver(() => {
  for (const box of document.querySelectorAll(".q-table__middle:not([tabindex])")) box.tabIndex = 0;
}).observe(document, {childList: true, subtree: true});
</script>"""
"""Lets the keyboard scroll tables that are wider than the page."""
STYLE = Path(__file__).with_name("style.css").read_text()

CONNECT_S_MAX = 10.0
"""Seconds in which a browser connects after it has fetched a page. What fetches pages and never connects gets
no session, no content and no memory; only then is the page built."""
EXPIRED = ("UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationToken")
"""Errors after which the console asks for a key."""
EXPIRED_MORE = ("MissingAuthenticationTokenException", "InvalidClientTokenId", "ExpiredTokenException")


@dataclass(slots=True)
class Session:
    """What the console knows of one browser. It stays in memory; nothing of it is written anywhere."""

    url: str | None
    region: str
    key: Key | None = None
    dark: bool | None = None
    endpoint: Endpoint = field(init=False)
    admin: bool | None = None
    """Whether the admin API answers; None: not asked yet."""

    def __post_init__(self) -> None:
        self.connect(self.region, self.key)

    def connect(self, region: str, key: Key | None) -> None:
        self.region, self.key, self.admin = region, key, None
        self.endpoint = Endpoint(self.url, region, key)

    async def has_admin(self) -> bool:
        if self.admin is None:
            self.admin = await self.endpoint.has_admin()
        return self.admin


class Sessions:
    """The sessions by browser, the newest SESSIONS_MAX of them."""

    SESSIONS_MAX = 200

    def __init__(self) -> None:
        self.url: str | None = None
        self.region = "us-east-1"
        self._found: dict[str, Session] = {}

    def current(self) -> Session:
        browser = app.storage.browser["id"]
        session = self._found.pop(browser, None) or Session(self.url, self.region)
        self._found[browser] = session
        if len(self._found) > self.SESSIONS_MAX:
            del self._found[next(iter(self._found))]
        return session


SESSIONS = Sessions()

PageBody = Callable[..., Awaitable[None]]


def console_page(path: str, title: str) -> Callable[[PageBody], PageBody]:
    """Makes `body(session, ...)` the page of a path. Parameters of the path follow the session."""

    def decorate(body: PageBody) -> PageBody:
        @functools.wraps(body)
        async def page(**arguments: str) -> None:
            ui.add_css(STYLE)
            ui.add_head_html(FOCUSABLE)
            await ui.context.client.connected(CONNECT_S_MAX)
            session = SESSIONS.current()
            with frame(session, title, arguments.get("table")):
                await shown(functools.partial(body, session, **arguments))

        signature = inspect.signature(body)
        page.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each for name, each in signature.parameters.items() if name != "session"]
        )
        ui.page(path, title=f"{title} · Faradisc")(page)
        return page

    return decorate


async def shown(body: Callable[[], Awaitable[None]]) -> None:
    """Runs the content of a page; an error of the endpoint becomes a sentence on the page."""
    try:
        await body()
    except Failure as failure:
        with ui.card().classes("failure w-full"):
            heading(failure.code or "No answer")
            ui.label(failure.message)
            if failure.code in EXPIRED or failure.code in EXPIRED_MORE:
                ui.button("Enter an access key", on_click=lambda: ui.navigate.to("/key"))


@contextmanager
def frame(session: Session, title: str, table: str | None) -> Iterator[None]:
    """Draws header and navigation around the content."""
    ui.button.default_props("no-caps unelevated")
    ui.toggle.default_props("no-caps unelevated")
    ui.colors(
        primary="#3b5bdb",
        secondary="#495057",
        accent="#7048e8",
        positive="#2b8a3e",
        negative="#c92a2a",
        warning="#b35309",
    )
    dark = ui.dark_mode(session.dark)
    if session.dark is None:
        ui.timer(0.05, lambda: _probe_dark(session), once=True)
    palette = _palette(session)
    drawers: list[ui.left_drawer] = []
    with ui.header().classes("top items-center gap-2"):
        ui.button(icon="menu", on_click=lambda _: drawers[0].toggle()).props(
            "flat round dense color=white aria-label=Navigation"
        )
        ui.link("Faradisc", "/").classes("brand")
        ui.label(session.url or "Amazon DynamoDB").classes("endpoint ellipsis")
        ui.label(session.region).classes("region")
        ui.space()
        ui.button("Go to", icon="search", on_click=palette.open).props(
            "flat dense color=white aria-label='Go to (Ctrl K)'"
        )

        def toggle() -> None:
            session.dark = not session.dark
            dark.set_value(session.dark)

        ui.button(icon="contrast", on_click=toggle).props(
            "flat round dense color=white aria-label='Dark or light'"
        )
    with (
        ui.left_drawer(value=False, bordered=True)
        .props("width=220 breakpoint=900 show-if-above")
        .classes("side") as drawer
    ):
        drawers.append(drawer)
        for name, icon, target in _places(session):
            _link(name, icon, target)
        if table is not None:
            ui.separator()
            ui.label(table).classes("side-title ellipsis")
            for name, icon, target in _places_of(table):
                _link(name, icon, target)
    ui.keyboard(on_key=lambda event: palette.open() if _opens_palette(event) else None, ignore=[])
    with ui.column().classes("page w-full"):
        ui.label(title if table is None else f"{table}: {title.lower()}").classes("title").props(
            "role=heading aria-level=1"
        )
        yield


async def _probe_dark(session: Session) -> None:
    """Remembers whether the browser prefers dark pages."""
    query = "return window.matchMedia('(prefers-color-scheme: dark)').matches"
    session.dark = bool(await ui.run_javascript(query, timeout=10))


def _opens_palette(event: Any) -> bool:
    return bool(event.action.keydown and event.key == "k" and (event.modifiers.ctrl or event.modifiers.meta))


def _link(name: str, icon: str, target: str) -> None:
    with ui.link(target=target).classes("side-link"):
        ui.icon(icon).props("aria-hidden=true")
        ui.label(name)


def _places(session: Session) -> list[tuple[str, str, str]]:
    return [
        ("Tables", "table_rows", "/"),
        ("PartiQL", "terminal", "/partiql"),
        ("Operations", "settings_backup_restore", "/operations"),
        ("Advice", "lightbulb", "/advice"),
        ("Access key", "key", "/key"),
    ]


def _places_of(table: str) -> list[tuple[str, str, str]]:
    return [
        ("Overview", "info", table_path(table)),
        ("Items", "grid_on", table_path(table, "items")),
        ("Design", "account_tree", table_path(table, "design")),
        ("Stream", "stream", table_path(table, "stream")),
        ("Throughput", "local_fire_department", table_path(table, "throughput")),
        ("Backups", "history", table_path(table, "backups")),
    ]


def table_path(table: str, page: str = "") -> str:
    return f"/tables/{quote(table, safe='')}" + (f"/{page}" if page else "")


def items_path(table: str, index: str = "", partition: str = "", sort: str = "") -> str:
    """Returns the address of a query of a table or index."""
    chosen = {"index": index, "partition": partition, "sort": sort}
    return f"{table_path(table, 'items')}?{urlencode({n: v for n, v in chosen.items() if v})}"


def _palette(session: Session) -> Dialog:
    """Returns the dialog that goes to any page or table by its name."""
    targets: dict[str, str] = {name: target for name, _, target in _places(session)}
    rows: list[Any] = []
    with ui.dialog() as dialog, ui.card().classes("palette"):
        search = (
            ui.input(placeholder="Page or table", on_change=lambda _: rows[0].refresh())
            .props("autofocus outlined dense aria-label='Page or table'")
            .classes("w-full")
        )

        def matches() -> list[str]:
            text = (search.value or "").lower()
            return [name for name in targets if text in name.lower()][:12]

        @ui.refreshable
        def listed() -> None:
            for name in matches():
                ui.link(name, targets[name]).classes("palette-link")

        rows.append(listed)
        listed()
        search.on("keydown.enter", lambda: ui.navigate.to(targets[matches()[0]]) if matches() else None)

    async def opened() -> None:
        if not dialog.value:
            return
        try:
            for name in await session.endpoint.tables():
                for page, _, target in _places_of(name):
                    targets[f"{name}: {page.lower()}"] = target
        except Failure as failure:
            if failure.code != "AccessDeniedException":
                complain(failure)
        listed.refresh()

    dialog.on_value_change(opened)
    return dialog


def complain(failure: Failure) -> None:
    """Shows an error of the endpoint as a message that stays until it is closed."""
    ui.notify(str(failure), type="negative", timeout=0, close_button="Close", multi_line=True)


def guarded(action: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Returns the action of a button, with errors of the endpoint shown as messages."""

    @functools.wraps(action)
    async def run(*arguments: Any) -> Any:
        try:
            return await action(*arguments)
        except Failure as failure:
            complain(failure)

    return run


async def confirmed(question: str, action: str, typed: str | None = None) -> bool:
    """Waits for the answer of a dialog. typed: a name that must be typed before the action can be chosen."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question)
        if typed is not None:
            text = ui.input(f"Type {typed} to confirm").classes("w-full").props("autofocus")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat")
            agreed = ui.button(action, on_click=lambda: dialog.submit(True)).props("color=negative")
            if typed is not None:
                agreed.bind_enabled_from(text, "value", lambda value: value == typed)
    return bool(await dialog)
