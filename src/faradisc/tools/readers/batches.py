"""BatchWriteItem requests, with or without RequestItems, and lists of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from faradisc.tools.readers.seed import InlineItem, LocatedError, Location, Seed, SeedError, line_of


def puts_of(document: Any) -> Iterator[tuple[str, Any]]:
    """Yields (table, item) of the puts of a request, or a list of requests. Raises SeedError."""
    for request in document if isinstance(document, list) else [document]:
        tables = request.get("RequestItems", request) if isinstance(request, Mapping) else None
        if not isinstance(tables, Mapping):
            raise SeedError("a BatchWriteItem request must be an object.")
        for table, requests in tables.items():
            for each in requests if isinstance(requests, list) else ():
                put = each.get("PutRequest") if isinstance(each, Mapping) else None
                if not isinstance(put, Mapping) or not isinstance(put.get("Item"), Mapping):
                    raise SeedError(f"{table}: only requests with PutRequest and Item are read.")
                yield str(table), put["Item"]


def read_batches(document: Any, text: str, file: str) -> Seed:
    """Returns the items of requests, with the line at which their table begins."""
    seed = Seed()
    lines: dict[str, Location] = {}
    try:
        for table, item in puts_of(document):
            if table not in lines:
                lines[table] = Location(file, line_of(text, rf"{re.escape(json.dumps(table))}\s*:"))
            seed.items.append(InlineItem(lines[table], table, dict(item)))
    except SeedError as error:
        seed.errors.append(LocatedError(Location(file, 1), error.text))
    return seed
