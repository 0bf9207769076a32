"""Copies a table of one endpoint into a table of another, page by page, with masking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from faradisc.engine.formats.masking import Masker
from faradisc.tools.transfer.endpoints import Endpoint
from faradisc.tools.transfer.progress import Progress
from faradisc.tools.transfer.putting import Putter, TableUnusable
from faradisc.tools.transfer.scanning import Page, State, scan
from faradisc.tools.transfer.tables import create_missing, definition_of, describe, key_names_of


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
    """Creates the target table if it is missing, and copies the items. Returns their number.

    Raises TableUnusable for items that the target rejects; RequestRejected, Unreachable, BadState, BadRules.
    """
    described = describe(source, names[0])
    keys = key_names_of(described)
    masker.check_keys(keys)
    create_missing(target, definition_of(described, names[1]))
    progress.total = described.get("ItemCount")
    state = State(state_path, {"from": described["TableArn"], "to": names[1], "segments": segments})
    putters = [Putter(target, names[1], keys) for _ in range(segments)]

    def copy_page(segment: int, items: Page) -> None:
        masked = [masker.masked(item) for item in items] if masker else items
        rejected = putters[segment].put({"PutRequest": {"Item": item}} for item in masked)
        if rejected:
            request, reason = rejected[0]
            shown = orjson.dumps(request).decode()[:200]
            raise TableUnusable(f"{names[1]} rejects an item: {reason}: {shown}")
        progress.add(len(items), len(orjson.dumps(items)), len(items))

    scan(source, names[0], segments, copy_page, state)
    state.delete()
    return progress.items


def compare_counts(source: Endpoint, target: Endpoint, names: tuple[str, str]) -> int:
    """Counts the items of both tables, a read of all of them. Returns the number.

    Raises TableUnusable if the numbers differ.
    """
    counts = [count(source, names[0]), count(target, names[1])]
    if counts[0] != counts[1]:
        raise TableUnusable(f"{names[0]} has {counts[0]:,} items, its copy {names[1]} has {counts[1]:,}.")
    return counts[0]


def count(endpoint: Endpoint, table: str) -> int:
    """Returns the number of items, by a strongly consistent Scan. Raises RequestRejected, Unreachable."""
    request: dict[str, Any] = {"TableName": table, "Select": "COUNT", "ConsistentRead": True}
    total: int = 0
    while True:
        answer = endpoint.call("Scan", request)
        total += int(answer["Count"])
        if "LastEvaluatedKey" not in answer:
            return total
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
