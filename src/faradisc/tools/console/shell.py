"""One page that changes inside: which content belongs to an address, and how one gives way to the next.

NiceGUI's own `ui.sub_pages` draws a page again whenever its query changes, and cannot ask before it leaves
one. Here an address may change without that (`show_address`), and a page may hold unwritten work (`hold`):
then Run, links and Back ask first, and the browser asks before the tab is closed or loaded again.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
from nicegui import Client, background_tasks, ui

from faradisc.records import dataclass
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.failures import EXPIRED, explained
from faradisc.tools.console.parts import heading, note
from faradisc.tools.console.sessions import Session

PageBody = Callable[..., Awaitable[None]]
How = Literal["push", "back", "replace"]


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A kind of page. Parameters of `body`: the session, those of the path, `query` for what follows "?"."""

    path: str
    title: str
    body: PageBody

    def arguments(self, path: str) -> dict[str, str] | None:
        """Returns the parameters of a path; None when it is another page's."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        found = re.fullmatch(pattern, path)
        return {name: unquote(text) for name, text in found.groupdict().items()} if found else None


PAGES: list[ConsolePage] = []


def console_page(path: str, title: str) -> Callable[[PageBody], PageBody]:
    """Makes `body(session, ...)` the content of a path."""

    def decorate(body: PageBody) -> PageBody:
        PAGES.append(ConsolePage(path, title, body))
        return body

    return decorate


class Shell:
    """The page of one browser tab: what is shown in it, and what is held back."""

    def __init__(self, session: Session, client: Client) -> None:
        self.session = session
        self.client = client
        self.address = ""
        self.content: Any = None
        """The element in which pages are drawn."""
        self.messages: Any = None
        self.on_place: Callable[[ConsolePage | None, str | None], None] = lambda page, table: None
        """Called with the page and the table that are shown next."""
        self.on_dark: list[Callable[[bool], Any]] = []
        """Called when the colours change; of the present page."""
        self._held: Callable[[], Awaitable[bool]] | None = None
        self._building: asyncio.Task[Any] | None = None

    # --- Going to a page ---

    async def go(self, address: str, how: How = "push") -> None:
        """Shows the page of an address, once the present one agrees to be left."""
        if not await self.may_leave():
            if how == "back":
                self._history("pushState", self.address)
            return
        if self._building is not None and self._building is not asyncio.current_task():
            self._building.cancel()
        if how != "back":
            is_new = how == "push" and address != self.address
            self._history("pushState" if is_new else "replaceState", address)
        self._building = background_tasks.create(self.draw(address), name=f"page {address}")

    async def again(self) -> None:
        """Draws the present page again."""
        await self.go(self.address, "replace")

    def show_address(self, address: str) -> None:
        """Changes the address of the present page without drawing it."""
        if address != self.address:
            self._history("pushState", address)
            self.address = address

    def _history(self, method: str, address: str) -> None:
        self.client.run_javascript(f"history.{method}(null, '', {orjson.dumps(address).decode()})")

    async def draw(self, address: str) -> None:
        """Draws the page of an address in place of the present one."""
        self.address = address
        self.release()
        self.on_dark.clear()
        parts = urlsplit(address)
        page, arguments = next(
            ((each, found) for each in PAGES if (found := each.arguments(parts.path)) is not None), (None, {})
        )
        table = arguments.get("table")
        if table is not None:
            self.session.opened(table)
        self.on_place(page, table)
        self.content.clear()
        with self.content:
            if page is None:
                heading("There is no such page")
                ui.link("Start", "/")
                return
            given: dict[str, Any] = dict(arguments)
            if "query" in inspect.signature(page.body).parameters:
                given["query"] = parse_qsl(parts.query, keep_blank_values=True)
            await self.shown(lambda: page.body(self.session, **given))

    async def shown(self, body: Callable[[], Awaitable[None]]) -> None:
        """Runs the content of a page; an error of the endpoint becomes a card with what to do."""
        try:
            await body()
        except Failure as failure:
            if failure.code == "ResourceNotFoundException":
                self.session.recent[:1] = []
            said = explained(failure, self.session.url)
            with ui.card().classes("failure w-full").props("role=alert"):
                heading(said.title)
                if said.sentence:
                    ui.label(said.sentence)
                note(said.detail).classes("mono")
                with ui.row():
                    ui.button("Retry", icon="refresh", on_click=self.again).props("outline")
                    if failure.code in EXPIRED or not failure.code:
                        ui.button("Sign in", on_click=lambda: self.go("/key"))

    # --- Unwritten work ---

    def hold(self, question: Callable[[], Awaitable[bool]]) -> None:
        """Asks before the page is left. question: waits for the answer; whether the work may be dropped."""
        if self._held is None:
            self.client.run_javascript("window.faradiscStaged = true")
        self._held = question

    def release(self) -> None:
        if self._held is not None:
            self.client.run_javascript("window.faradiscStaged = false")
        self._held = None

    async def may_leave(self) -> bool:
        """Waits until the page may be left, or its work dropped. Returns whether it may."""
        if self._held is None:
            return True
        if not await self._held():
            return False
        self.release()
        return True


SHELL: Final = "shell"


def current_shell() -> Shell:
    """Returns the shell of the browser tab whose event or page is handled."""
    found: Shell = ui.context.client.storage[SHELL]
    return found


def go(address: str) -> None:
    """Goes to an address inside the shell, after the present handler."""
    shell = current_shell()
    background_tasks.create(_in_client(shell, address), name=f"go {address}")


async def _in_client(shell: Shell, address: str) -> None:
    with shell.client.layout:
        await shell.go(address)


POLL_S: Final = 1.5


def follow(ask: Callable[[], Awaitable[Any]], shown: Any, state: Callable[[Any], Any]) -> None:
    """Draws the present page again as soon as something has another state than the one shown.

    ask: asks for it; state: what of the answer matters. An answer that fails counts as another state.
    """
    shell = current_shell()

    async def look() -> None:
        try:
            now = state(await ask())
        except Failure:
            now = None
        if now != shown:
            timer.deactivate()
            await shell.again()

    timer = ui.timer(POLL_S, look)
