"""ListTables: names in order, at most 100 a page."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from faradisc.limits import LIST_TABLES_PAGE_MAX
from faradisc.operations.call import Backend, Call


async def list_tables(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    names = backend.catalog.names(call.region, call.account)
    start = request.get("ExclusiveStartTableName")
    first = bisect_right(names, start) if start is not None else 0
    page = names[first : first + request.get("Limit", LIST_TABLES_PAGE_MAX)]
    result: dict[str, Any] = {"TableNames": page}
    if first + len(page) < len(names):
        result["LastEvaluatedTableName"] = page[-1]
    return result
