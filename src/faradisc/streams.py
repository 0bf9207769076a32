"""`faradisc.streams`: read a table's stream with consumer groups, checkpoints and retries.

The names come from `faradisc.tools.consumers`, which needs boto3; importing this module does not import it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faradisc.tools.consumers import Consumer, ConsumerSettings, consume

__all__ = ["Consumer", "ConsumerSettings", "consume"]


def __getattr__(name: str) -> Any:
    """Returns the public name from `faradisc.tools.consumers`; raises AttributeError for any other name."""
    if name in __all__:
        return getattr(import_module("faradisc.tools.consumers"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
