"""ListGlobalTables, DescribeGlobalTable and DescribeGlobalTableSettings.

There are no global tables here. Who looks for one gets the service's answer for an account that has none;
what would make or change one is not offered.
"""

from __future__ import annotations

from typing import Any

from faradisc.errors import GlobalTableNotFoundException
from faradisc.operations.call import Backend, Call


async def list_global_tables(backend: Backend, call: Call) -> dict[str, Any]:
    return {"GlobalTables": []}


async def describe_global_table(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException


async def describe_global_table_settings(backend: Backend, call: Call) -> dict[str, Any]:
    raise GlobalTableNotFoundException
