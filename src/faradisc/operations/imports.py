"""ImportTable, DescribeImport and ListImports."""

from __future__ import annotations

from typing import Any

from faradisc.engine.exchange.task_store import IMPORT
from faradisc.engine.tables.definition import reject_unsupported, table_definition
from faradisc.engine.tables.vector_definition import add_vector_indexes
from faradisc.errors import ImportConflictException, ImportNotFoundException, ValidationException
from faradisc.limits import IMPORTS_RUNNING_MAX
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.operations.echo import FORMAT_OPTIONS, S3_SOURCE, TABLE_PARAMETERS, echoed
from faradisc.operations.exchanges import (
    PAGE_SIZE,
    begin,
    begun_before,
    check_libraries,
    check_running,
    check_task_arn,
    describe,
    locations_of,
    names_of,
    page_of,
)

_LOG_GROUP = "/aws-dynamodb/imports"
_SUMMARISED = ("S3BucketSource", "CloudWatchLogGroupArn", "InputFormat")


async def import_table(backend: Backend, call: Call) -> dict[str, Any]:
    """Starts to create a table from the objects of a bucket.

    Checks: object storage exists -> client token -> CSV options -> definition of the table -> running
    imports -> table name taken. The job finds errors of bucket and objects, and DescribeImport shows them.
    The table is CREATING until the import has ended (engine/exchange/importing.py).
    """
    request = call.request
    locations_of(backend)
    before = begun_before(backend, call, IMPORT, ImportConflictException)
    if before is not None:
        return {"ImportTableDescription": describe(before)}
    _check_options(request)
    parameters = request["TableCreationParameters"]
    definition = table_definition(parameters)
    add_vector_indexes(definition, parameters)
    reject_unsupported(parameters)
    check_running(backend, IMPORT, IMPORTS_RUNNING_MAX)
    name = parameters["TableName"]
    settings = {
        "owner_job": "import",
        "sealing": await backend.encryption.of_new_table(
            parameters.get("SSESpecification"), name, call.region, call.account
        ),
    }
    table = await backend.catalog.create(name, call.region, call.account, definition, settings)
    shown = {
        "TableId": table.state.table_id,
        "S3BucketSource": {"S3BucketOwner": call.account, **echoed(request["S3BucketSource"], S3_SOURCE)},
        "CloudWatchLogGroupArn": f"arn:aws:logs:{call.region}:{call.account}:log-group:{_LOG_GROUP}:*",
        "InputFormat": request["InputFormat"],
        "InputCompressionType": request.get("InputCompressionType", "NONE"),
        "TableCreationParameters": echoed(parameters, TABLE_PARAMETERS),
        "ErrorCount": 0,
        "ProcessedSizeBytes": 0,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    if "InputFormatOptions" in request:
        shown["InputFormatOptions"] = echoed(request["InputFormatOptions"], FORMAT_OPTIONS)
    task = await begin(backend, call, IMPORT, table.arn, shown)
    return {"ImportTableDescription": describe(task)}


def _check_options(request: dict[str, Any]) -> None:
    """Raises ValidationException."""
    csv = request.get("InputFormatOptions", {}).get("Csv")
    if csv is not None and request["InputFormat"] != "CSV":
        raise ValidationException(
            "Invalid Request: Unsupported InputFormatOptions for the given input format: "
            f"{request['InputFormat']}."
        )
    headers = (csv or {}).get("HeaderList", [])
    if len(set(headers)) != len(headers):
        raise ValidationException("InputFormatOptions.Csv.HeaderList contains duplicates")
    check_libraries(request["InputFormat"], request.get("InputCompressionType", "NONE"))


async def describe_import(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the progress or result of an import."""
    arn = call.request["ImportArn"]
    check_task_arn(backend, call, IMPORT, arn)
    task = backend.exchange.tasks.find(IMPORT, arn)
    if task is None:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return {"ImportTableDescription": describe(task)}


async def list_imports(backend: Backend, call: Call) -> dict[str, Any]:
    """Returns the imports of the last 90 days, newest first."""
    page, more = page_of(backend, call, IMPORT, call.request.get("PageSize", PAGE_SIZE))
    summaries = [
        {
            **names_of(task),
            "TableArn": task.table_arn,
            **{member: task.shown[member] for member in _SUMMARISED},
            **task.times(),
        }
        for task in page
    ]
    return {"ImportSummaryList": summaries, **more}
