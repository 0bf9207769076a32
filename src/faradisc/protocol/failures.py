"""Exceptions of a request as errors of the API.

An `ApiError` is answered as it is. A `StorageError` comes from the disk: it is logged in a line and
answered with a 500, after which an SDK tries again. Any other exception is a bug of this program: it is
logged with the request id and its traceback, and answered with a 500 without detail.
"""

from __future__ import annotations

import logging

from faradisc.errors import ApiError, InternalServerError, StorageError, UnsupportedOperation

log = logging.getLogger("faradisc.protocol")

RAISE_UNEXPECTED = False
"""Tests set this: exceptions that are bugs are then raised instead of answered with a 500."""


def as_api_error(error: Exception, request_id: bytes) -> ApiError:
    """Returns the error that a request is answered with, for the exception that is being handled.

    Neither it nor `error` refers to frames afterwards (see `release`).
    """
    if isinstance(error, ApiError):
        release(error)
        return error
    if isinstance(error, StorageError):
        log.error("request %s failed: %s: %s", request_id.decode(), type(error).__name__, error)
    elif RAISE_UNEXPECTED:
        raise error
    else:
        log.exception("request %s failed", request_id.decode())
    release(error)
    return InternalServerError()


def release(error: BaseException | None) -> None:
    """Drops the tracebacks of an exception and of those it followed.

    A frame that keeps its exception in a local is in a cycle with it, and keeps the request and its body
    until the collector runs. Such a frame can be anywhere below, so all are let go here.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def not_offered(operation: str) -> UnsupportedOperation:
    """Returns the rejection of an operation that this version lacks (docs/differences.md)."""
    return UnsupportedOperation(f"{operation} is not offered by this version of Faradisc.")
