"""Clients of a database that the whole process shares."""

from __future__ import annotations

import os
import threading
from typing import Any

from faradisc.local.database import LocalDatabase

_lock = threading.Lock()
_shared: dict[str | None, LocalDatabase] = {}
"""By real path; None is the database in memory."""


def database(path: str | os.PathLike[str] | None = None) -> LocalDatabase:
    """Returns the process's shared database in memory, or in the directory `path`.

    Opens it at its first use, and again after it was closed. Raises StorageError when the directory cannot be
    used.
    """
    key = None if path is None else os.path.realpath(path)
    with _lock:
        known = _shared.get(key)
        if known is None or known.closed:
            known = _shared[key] = LocalDatabase(key)
        return known


def client(
    service_name: str,
    region_name: str | None = None,
    *,
    database: LocalDatabase | None = None,
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Returns a boto3 client whose requests never leave the process.

    service_name: "dynamodb", "dynamodbstreams", "application-autoscaling" or "cloudwatch".
    database: default: the shared one, in memory or in the directory `path`.
    options: of `boto3.client`.

    Raises ValueError for another service, or for `database` and `path` together; StorageError.
    """
    return _chosen(database, path).client(service_name, region_name, **options)


def resource(
    service_name: str,
    region_name: str | None = None,
    *,
    database: LocalDatabase | None = None,
    path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Returns a boto3 resource whose requests never leave the process; see `client`."""
    return _chosen(database, path).resource(service_name, region_name, **options)


def reset() -> None:
    """Drops every table of the shared database in memory; databases in directories keep theirs."""
    with _lock:
        known = _shared.get(None)
    if known is not None and not known.closed:
        known.reset()


def _chosen(given: LocalDatabase | None, path: str | os.PathLike[str] | None) -> LocalDatabase:
    if given is None:
        return database(path)
    if path is not None:
        raise ValueError("give a database or a path, not both")
    return given
