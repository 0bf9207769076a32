"""Tools that judge: throttles, advice, plans."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from faradisc.clock import SystemClock
from faradisc.tools.advisor.report import to_json
from faradisc.tools.advisor.rules import advise
from faradisc.tools.advisor.serving import of_endpoint
from faradisc.tools.advisor.traffic import Traffic
from faradisc.tools.console.endpoint import Failure, ServerEndpoint
from faradisc.tools.mcp.reading import READS
from faradisc.tools.planner.plan_file.loading import load_plans
from faradisc.tools.planner.results.outcome import PlanOutcome
from faradisc.tools.planner.run import run
from faradisc.tools.traces.errors import PlanError

Hours = Annotated[int, Field(ge=1, le=24, description="Of the endpoint's metrics.")]
VARIANTS_MAX = 10


def add_judging(server: MCPServer, endpoint: ServerEndpoint) -> None:
    async def measured(hours: int) -> Traffic:
        now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
        try:
            return await of_endpoint(endpoint, Failure, now=now, source=endpoint.url or "aws", hours=hours)
        except Failure as failure:
            raise ToolError(str(failure)) from None

    @server.tool(annotations=READS)
    async def throttles(hours: Hours = 3) -> dict[str, Any]:
        """Consumed units, throttled requests and hot keys of all tables and indexes in the last hours."""
        traffic = await measured(hours)
        resources = [
            {
                "resource": table.resource(index),
                "direction": "read" if direction == "R" else "write",
                "units": demand.half_units / 2,
                "requests": demand.requests,
                "throttled": demand.throttled,
                "hot_keys": [
                    {"key": key.name, "units_per_s": key.peak_units, "limit": key.limit_units}
                    for key in demand.keys
                ],
            }
            for table in traffic.tables.values()
            for (index, direction), demand in table.demands.items()
            if demand.half_units or demand.throttled
        ]
        return {"hours": hours, "resources": resources, "notes": traffic.notes}

    @server.tool(annotations=READS)
    async def advice(hours: Hours = 3) -> dict[str, Any]:
        """What to change in tables and traffic: evidence, effect in units and dollars, the change as code."""
        traffic = await measured(hours)
        return to_json(traffic, advise(traffic))

    @server.tool(annotations=READS)
    async def plan(
        plan: Annotated[str, Field(description="YAML: duration, tables, traffic, budgets; see planning.md.")],
    ) -> dict[str, Any]:
        """Runs a plan of tables and traffic in virtual time: does it hold, throttles, hot keys, and the cost
        of a month. Touches no endpoint."""
        try:
            plans = load_plans(plan, "plan")
            if len(plans) > VARIANTS_MAX:
                raise ToolError(f"A plan has at most {VARIANTS_MAX} variants here.")
            outcomes = [await asyncio.to_thread(run, each) for each in plans]
        except PlanError as mistake:
            raise ToolError(str(mistake)) from None
        return {"plans": [_summary(outcome) for outcome in outcomes]}


def _summary(outcome: PlanOutcome) -> dict[str, Any]:
    whole = outcome.to_json()
    members = ("headline", "verdict", "totals", "hot_keys", "costs", "budgets", "assumptions")
    return {"title": outcome.title, **{name: whole[name] for name in members}}
