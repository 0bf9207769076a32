"""A table of one endpoint into a table of another, page by page, masked on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.exchange.masking import Masker
from faradisc.tools.transfer.progress import Progress
from faradisc.tools.transfer.putting import Gone, Putter
from faradisc.tools.transfer.scanning import Page, State, walk
from faradisc.tools.transfer.tables import definition_of, describe, key_names_of, make
from faradisc.tools.transfer.wire import Endpoint


def copy_table(
    source: Endpoint,
    target: Endpoint,
    names: tuple[str, str],
    *,
    masker: Masker,
    segments: int,
    state_path: Path | None,
    progress: Progress,
) -> int:
    """The number of items copied. The target table is made like the source where it is missing.

    Raises: Gone for items that the target refuses; Refused, Unreachable, BadState, BadRules.
    """
    described = describe(source, names[0])
    keys = key_names_of(described)
    masker.check_keys(keys)
    make(target, definition_of(described, names[1]))
    progress.total = described.get("ItemCount")
    state = State(state_path, {"from": described["TableArn"], "to": names[1], "segments": segments})
    putters = [Putter(target, names[1], keys) for _ in range(segments)]

    def visit(segment: int, items: Page) -> None:
        masked = [masker.masked(item) for item in items] if masker else items
        refused = putters[segment].put({"PutRequest": {"Item": item}} for item in masked)
        if refused:
            request, reason = refused[0]
            raise Gone(f"{names[1]} refuses an item: {reason}: {_shown(request)}")
        progress.add(len(items), len(orjson.dumps(items)), len(items))

    walk(source, names[0], segments, visit, state)
    state.forget()
    return progress.items


def _shown(request: dict[str, Any]) -> str:
    return orjson.dumps(request).decode()[:200]
