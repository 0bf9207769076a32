"""Streams: what was changed in a table, in order, for 24 hours. Knows the store, not the tables.

Users find `consume` here, which reads streams as any client does. It lives in `faradisc.consumers`, which
knows nothing of the database but needs an SDK, so it is fetched when somebody asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faradisc.consumers import Consumer as Consumer
    from faradisc.consumers import ConsumerSettings as ConsumerSettings
    from faradisc.consumers import consume as consume

_FROM_CONSUMERS = frozenset({"Consumer", "ConsumerSettings", "consume"})


def __getattr__(name: str) -> Any:
    if name in _FROM_CONSUMERS:
        return getattr(import_module("faradisc.consumers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
