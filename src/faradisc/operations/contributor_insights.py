"""Contributor Insights: the keys of a table or index that are read, written and throttled most.

UpdateContributorInsights enables or disables them; DescribeContributorInsights and ListContributorInsights
show their state. The service shows the keys in the CloudWatch console; here `/_faradisc/capacity/TABLE` does.

Source: new-features.md section 8; capacity.md section 2.14. Assumed: the texts of errors.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

from faradisc.clock import epoch_seconds
from faradisc.engine.tables.table import Table
from faradisc.engine.throughput.meter import InsightsSetting
from faradisc.errors import ResourceNotFoundException, ValidationException
from faradisc.metrics.contributor_insights import Insights, Mode
from faradisc.model.values.schema import KeySchema
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call

DEFAULT_MODE: Final = "ACCESSED_AND_THROTTLED_KEYS"
PAGE_MAX = 100


async def update_contributor_insights(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    table, index = _target(backend, call)
    enable = request["ContributorInsightsAction"] == "ENABLE"
    before = table.meter.insights_settings.get(index)
    mode: Mode = request.get("ContributorInsightsMode", DEFAULT_MODE)
    if before is not None and not enable:
        mode = before.mode
    if enable:
        _check_active(table, index)
    if not enable and (before is None or not before.enabled):
        raise ValidationException("Contributor Insights is not enabled for the given resource")
    now_ns = backend.clock.now_ns()
    setting = InsightsSetting(mode, now_ns, enabled=enable)
    insights = None
    if enable:
        schema = table.key if index is None else _index_key(table, index)
        name = table.name if index is None else f"{table.name}-{index}"
        # A change of mode keeps the rules that both modes have, with their names.
        present = table.meter.insights.get(index)
        created_ms = present.created_ms if present is not None else now_ns // 1_000_000
        insights = Insights(name, created_ms, sort_key=bool(schema.range), mode=mode)
    await backend.catalog.throughput.watch(table.meter, index, setting, insights)
    return _described(backend, table, index)


async def describe_contributor_insights(backend: Backend, call: Call) -> dict[str, Any]:
    table, index = _target(backend, call)
    described = _described(backend, table, index)
    setting = table.meter.insights_settings.get(index)
    if setting is not None:
        described["LastUpdateDateTime"] = epoch_seconds(setting.changed_ns)
    insights = table.meter.insights.get(index)
    if insights is not None:
        described["ContributorInsightsRuleList"] = insights.rule_names()
    return described


async def list_contributor_insights(backend: Backend, call: Call) -> dict[str, Any]:
    request = call.request
    most = request.get("MaxResults", PAGE_MAX)
    if not 1 <= most <= PAGE_MAX:
        raise ValidationException(f"MaxResults must be between 1 and {PAGE_MAX}")
    named = request.get("TableName")
    names = [named] if named is not None else backend.tables.names(call.region, call.account)
    summaries = []
    for name in names:
        table = backend.tables.for_control(name, call.region, call.account)
        indexes = [None, *(each.name for each in table.global_indexes)]
        settings = table.meter.insights_settings
        summaries += [_described(backend, table, i) for i in indexes if i in settings and settings[i].enabled]
    begin = _position(request["NextToken"], len(summaries)) if "NextToken" in request else 0
    result: dict[str, Any] = {"ContributorInsightsSummaries": summaries[begin : begin + most]}
    if begin + most < len(summaries):
        result["NextToken"] = urlsafe_b64encode(str(begin + most).encode()).decode()
    return result


def _target(backend: Backend, call: Call) -> tuple[Table, str | None]:
    """Returns the table, and the global index if one is named. Raises ResourceNotFoundException."""
    table = backend.table_for_control(call)
    index = call.request.get("IndexName")
    if index is not None and index not in table.meter.indexes:
        raise ResourceNotFoundException(
            f"Requested resource not found: Index: {index} not found for table: {table.name}"
        )
    return table, index


def _check_active(table: Table, name: str | None) -> None:
    """Raises ValidationException."""
    index = None if name is None else table.index(name)
    what = "Index" if index is not None and index.status != "ACTIVE" else "Table"
    if what == "Index" or table.state.status == "CREATING":
        raise ValidationException(
            "Table or Index is not in a valid state to update Key Access Insights: "
            f"{what}Status must be ACTIVE to enable ContributorInsights."
        )


def _index_key(table: Table, name: str) -> KeySchema:
    index = table.index(name)
    assert index is not None
    return index.schema.key


def _described(backend: Backend, table: Table, index: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {"TableName": table.name}
    if index is not None:
        described["IndexName"] = index
    setting = table.meter.insights_settings.get(index)
    if setting is None:
        return {**described, "ContributorInsightsStatus": "DISABLED"}
    until_ns = setting.changed_ns + backend.tables.transition_ns
    changing = not backend.tables.short and backend.clock.now_ns() < until_ns
    status = setting.status(changing=changing)
    return {**described, "ContributorInsightsStatus": status, "ContributorInsightsMode": setting.mode}


def _position(token: str, count: int) -> int:
    """Raises ValidationException for a token that no page has returned."""
    try:
        position = int(urlsafe_b64decode(token.encode()))
    except ValueError:
        position = -1
    if not 0 <= position <= count:
        raise ValidationException("The provided NextToken is invalid")
    return position
