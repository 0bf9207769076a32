"""`faradisc plan --from`: asks an endpoint for the plan of what it has and does."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta


def plan_from(url: str, region: str | None, *, hours: int, tables: tuple[str, ...]) -> str:
    """Returns the text of a plan. Raises PlanError for an endpoint that does not answer."""
    from faradisc.clock import SystemClock  # noqa: PLC0415 - slow to import
    from faradisc.tools.advisor.plan_of_endpoint import plan_of  # noqa: PLC0415
    from faradisc.tools.advisor.serving import of_endpoint  # noqa: PLC0415
    from faradisc.tools.console.endpoint import Failure, ServerEndpoint  # noqa: PLC0415
    from faradisc.tools.traces.errors import PlanError  # noqa: PLC0415

    chosen = region or os.environ.get("AWS_REGION") or "us-east-1"
    endpoint = ServerEndpoint(None if url == "aws" else url, chosen, None)

    async def ask() -> str:
        now = datetime.fromtimestamp(SystemClock().now_ns() / 1e9, UTC)
        traffic = await of_endpoint(endpoint, Failure, now=now, source=url, hours=hours)
        missing = [name for name in tables if name not in traffic.tables]
        if missing or not traffic.tables:
            what = f"there is no table {missing[0]!r}" if missing else "there are no tables"
            raise PlanError(url, None, what, f"Known: {', '.join(sorted(traffic.tables)) or 'none'}.")
        start = now.replace(second=0, microsecond=0) + timedelta(minutes=1) - timedelta(hours=hours)
        return await plan_of(endpoint, traffic, Failure, start.strftime("%Y-%m-%dT%H:%M:%SZ"), tables)

    try:
        return asyncio.run(ask())
    except Failure as failure:
        raise PlanError(
            url, None, str(failure).rstrip("."), "Check the address and the credentials."
        ) from None
