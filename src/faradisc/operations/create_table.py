"""CreateTable: start to create a table.

Checks: definition (engine/tables/definition.py) -> settings that are not supported -> tags -> name taken. The
answer shows the table CREATING; it is ACTIVE after the transition time.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.tables.definition import checked_tags, reject_unsupported, table_definition
from faradisc.engine.tables.description import describe_table
from faradisc.engine.tables.state import StreamSetting
from faradisc.engine.tables.vector_definition import add_vector_indexes
from faradisc.operations.call import Backend, Call


async def create_table(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    name = request["TableName"]
    if name.startswith("arn:"):
        _, name = backend.catalog.resolve(name, call.region, call.account)
    definition = table_definition(request)
    add_vector_indexes(definition, request)
    reject_unsupported(request)
    settings: dict[str, Any] = {
        "deletion_protection": request.get("DeletionProtectionEnabled", False),
        "table_class": request.get("TableClass"),
    }
    if definition.stream_view_type is not None:
        settings["stream"] = StreamSetting(definition.stream_view_type)
    if "Tags" in request:
        settings["tags"] = checked_tags(request["Tags"], {})
    table = await backend.catalog.create(name, call.region, call.account, definition, settings)
    return {"TableDescription": await describe_table(backend.store, table, backend.clock.now_ns())}
