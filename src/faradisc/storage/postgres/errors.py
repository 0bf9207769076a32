"""Errors of PostgreSQL and of the way to it, as sentences."""

from __future__ import annotations

from faradisc.errors import StorageError
from faradisc.storage.api import Full, IOFailed

NO_LIBRARY = "PostgreSQL needs a library: pip install 'faradisc[postgres]'."

DISK_FULL = "53100"
READ_ONLY = "25006"
STARTING = "57P03"
CALLER_UNKNOWN = "FD001"
NOT_HERE = "FD002"
ABSENT = "42704"
"""A prepared transaction of that name does not exist."""
_SENTENCES = {
    DISK_FULL: "PostgreSQL has no room left on its disk",
    READ_ONLY: "PostgreSQL is a read-only standby; with several hosts, add target_session_attrs=read-write",
    STARTING: "PostgreSQL starts, recovers or stops",
    "28P01": "PostgreSQL rejects the password",
    "28000": "PostgreSQL rejects the user",
    "3D000": "the database of the address does not exist",
    "42501": "the user lacks a right",
    "53300": "PostgreSQL has no free connection",
}


class NotYet(IOFailed):
    """PostgreSQL runs but accepts no connections, as for some seconds after a crash."""


class Moved(StorageError):
    """A part is at another place than the placement map of this process says. Nothing was done."""


def sqlstate(error: BaseException) -> str:
    """Returns the five characters of an error that PostgreSQL reported; "" of any other."""
    return getattr(error, "sqlstate", None) or ""


def breaks_connection(error: BaseException) -> bool:
    """Whether nothing more can be sent: the connection, or the server, has ended."""
    state = sqlstate(error)
    return not state or state.startswith(("08", "57P")) or state == CALLER_UNKNOWN


def translated(error: Exception) -> StorageError:
    """Returns the error of a call, for an exception of the library or of the network."""
    if isinstance(error, StorageError):
        return error
    state = sqlstate(error)
    text = str(error).partition("\n")[0]  # without details and hints
    if state == NOT_HERE:
        return Moved()
    if state in _SENTENCES:
        kind = {DISK_FULL: Full, STARTING: NotYet}.get(state, IOFailed)
        return kind(f"{_SENTENCES[state]}: {text}.")
    if state:
        return IOFailed(f"PostgreSQL: {text} ({state}).")
    if isinstance(error, ValueError):
        return StorageError(f"The address of PostgreSQL cannot be used: {error}.")
    if type(error).__name__ == "TargetServerAttributeNotMatched":
        return IOFailed("No server of the address accepts writes: it is a read-only standby.")
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return IOFailed(f"PostgreSQL does not answer: {reason}.")
