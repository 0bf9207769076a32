"""The stored state of a table's encryption, part of the table's state in the catalog."""

from __future__ import annotations

from faradisc.records import dataclass

CONTEXT_TABLE = "aws:dynamodb:tableName"
CONTEXT_ACCOUNT = "aws:dynamodb:subscriberId"
"""Names in the encryption context that a wrapped data key is bound to. Source: iam.md section 9.3."""


@dataclass(slots=True)
class SealState:
    """Present from the first time that a table has a key of its own."""

    key_arn: str
    """The master key that wraps the data keys."""
    context: dict[str, str]
    """The encryption context of the wrapped keys."""
    keys: list[str | None]
    """The wrapped data keys, base64; a sealed row names its key by position. The last one seals. None: lost
    with its master key, after nothing needed it any more."""
    enabled: bool = True
    """False after a switch back to the default encryption: rows are written as they are."""
    switching: bool = False
    """The table is UPDATING because of a change of its key."""
    converting: bool = False
    """A job still rewrites the rows from before `enabled` changed (engine/encryption/converting.py)."""
    plain_entries_until_ns: int = 0
    """Until then the logs may have entries from before the encryption, which are never rewritten."""
    hashed_keys: bool = False
    """Whether the table was created encrypted: its row keys then have hashes of the partition keys."""
    inaccessible_ns: int | None = None
    """When it was found that the master key cannot be used; None: it can."""
