"""The continuous copy of the server, or what a standby has of it, for the pages Servers and Start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from faradisc.tools.console.drawing import Card
from faradisc.tools.console.endpoint import Failure
from faradisc.tools.console.sessions import Session
from faradisc.tools.console.values import visible

LATE_S: Final = 10.0
"""A copy that is further behind is shown as late."""


async def copy_of(session: Session) -> dict[str, Any]:
    """Returns the document of the server's copy; nothing where it has none, or this key may not see it."""
    if not await session.has_admin():
        return {}
    try:
        found: dict[str, Any] = await session.endpoint.admin("copy")
    except Failure:
        return {}
    return found


def copy_card(copy: Mapping[str, Any]) -> Card:
    """Returns the card of a copy: where it is, how far behind, its last segment, what is wrong."""
    standby = copy["role"] == "standby"
    behind_s = float(copy["late_s" if standby else "lag_s"])
    state = "bad" if copy["fault"] else "late" if behind_s > LATE_S else "ok"
    stored = "none since the start"
    if copy["time_ns"]:
        stored = f"{datetime.fromtimestamp(copy['time_ns'] / 1e9, UTC):%Y-%m-%d %H:%M:%S}Z"
    lines = [("behind", f"{behind_s:,.1f} s"), ("groups", f"{copy['number']:,}"), ("last segment", stored)]
    title = visible(f"{'Follows' if standby else 'Copy at'} {copy['place']}")
    return Card("c:", title, "", state, lines=lines, note=visible(str(copy["fault"])))
