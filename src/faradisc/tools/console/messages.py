"""Messages to the user: errors that stay until they are closed, notices that pass, questions.

They lie in one corner, at most MESSAGES_MAX of them, so they never cover the grid; equal ones are counted.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final

from nicegui import ui

from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.failures import explained
from faradisc.tools.console.parts import heading, icon_button, note
from faradisc.tools.console.shell import Shell, current_shell

MESSAGES_MAX: Final = 3
NOTICE_S: Final = 5.0


class Messages:
    """The corner of one browser tab."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._box = ui.element("div").classes("messages").props("aria-live=polite")
        self._shown: list[tuple[str, ui.card, ui.label]] = []
        shell.messages = self

    def show(
        self, title: str, sentence: str, detail: str, style: str, retry: Callable[..., Any] | None = None
    ) -> ui.card:
        text = f"{title} {sentence} {detail}"
        for known, card, counted in self._shown:
            if known == text:
                counted.text = f"{int(counted.text.strip('×') or 1) + 1}×"
                return card
        with self._box, ui.card().classes(f"message {style}").props("role=status") as card:
            with ui.row().classes("w-full no-wrap items-start gap-2"):
                ui.label(title).classes("message-title grow")
                counted = ui.label("").classes("soft")
                icon_button("close", "Close message", lambda: self._close(card)).props("round")
            if sentence:
                ui.label(sentence)
            if detail:
                note(detail).classes("mono message-detail")
            if retry is not None:

                async def again() -> None:
                    self._close(card)
                    await retry()

                ui.button("Retry", icon="refresh", on_click=again).props("outline dense")
        self._shown.append((text, card, counted))
        for _, old, _ in self._shown[:-MESSAGES_MAX]:
            self._close(old)
        return card

    def _close(self, card: ui.card) -> None:
        if any(each is card for _, each, _ in self._shown):
            self._shown = [entry for entry in self._shown if entry[1] is not card]
            card.delete()

    def notice(self, text: str) -> None:
        """Shows a sentence that passes."""
        card = self.show(text, "", "", "notice")
        with card:
            ui.timer(NOTICE_S, lambda: self._close(card), once=True)

    def complain(self, failure: Failure, retry: Callable[..., Any] | None = None) -> None:
        """Shows an error until it is closed."""
        said = explained(failure, self._shell.session.url)
        self.show(said.title, said.sentence, said.detail, "error", retry)


def complain(failure: Failure) -> None:
    current_shell().messages.complain(failure)


def notice(text: str) -> None:
    current_shell().messages.notice(text)


def guarded(action: Callable[..., Awaitable[Any]], *, retry: bool = False) -> Callable[..., Awaitable[Any]]:
    """Returns the action of a button, with errors of the endpoint shown as messages.

    retry: the message offers to do it again, where that does no harm.
    """

    @functools.wraps(action)
    async def run(*arguments: Any) -> Any:
        shell = current_shell()
        try:
            return await action(*arguments)
        except Failure as failure:
            again = functools.partial(run, *arguments) if retry else None
            shell.messages.complain(failure, again)

    return run


async def confirmed(question: str, action: str, typed: str | None = None) -> bool:
    """Waits for the answer of a dialog. typed: a name that must be typed before the action can be chosen."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question).classes("question")
        if typed is not None:
            text = ui.input(f"Type {typed} to confirm").classes("w-full").props("autofocus")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat")
            agreed = ui.button(action, on_click=lambda: dialog.submit(True)).props("color=negative")
            if typed is not None:
                agreed.bind_enabled_from(text, "value", lambda value: value == typed)
                text.on("keydown.enter", lambda: dialog.submit(True) if text.value == typed else None)
    return bool(await dialog)


async def chosen(title: str, sentence: str, options: dict[str, str]) -> str | None:
    """Waits for one of several answers. options: words of the buttons by answer, the last one the safest.

    Returns None when the dialog is closed without an answer.
    """
    with ui.dialog() as dialog, ui.card():
        heading(title)
        ui.label(sentence).classes("question")
        with ui.row().classes("w-full justify-end"):
            for at, (answer, words) in enumerate(options.items()):
                safest = at == len(options) - 1
                ui.button(words, on_click=lambda answer=answer: dialog.submit(answer)).props(
                    "" if safest else "flat"
                )
    return await dialog  # type: ignore[no-any-return]
