"""Streams: what was changed in a table, in order, for 24 hours. Knows the store, not the tables.

Users find `consume` here, which reads streams as any client does. It lives in `faradisc.consumers`, above
everything else, and is fetched from there when it is asked for: the one name that points upwards, at the
time of use and never at import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faradisc.consumers import Consumer as Consumer
    from faradisc.consumers import ConsumerSettings as ConsumerSettings
    from faradisc.consumers import consume as consume

_FROM_ABOVE = frozenset({"Consumer", "ConsumerSettings", "consume"})


def __getattr__(name: str) -> Any:
    if name in _FROM_ABOVE:
        return getattr(import_module("faradisc.consumers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
