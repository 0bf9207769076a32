"""The policy of a table or a stream, as it is stored."""

from __future__ import annotations

from faradisc.records import dataclass


@dataclass(frozen=True, slots=True)
class ResourcePolicy:
    document: str
    """In canonical form (policy/documents.py); older releases stored it as it was put."""
    revision: str
