"""Handlers of batches.

A handler receives an event (events.py) and may answer with `batchItemFailures`. An exception means failure. A
Python callable takes the event, or the event and a context as Lambda functions do; an HTTP endpoint receives
a POST.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

from faradisc.records import dataclass
from faradisc.tools.consumers.events import Event
from faradisc.tools.consumers.posting import Poster

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Context:
    """The second argument of handlers with two parameters."""

    group: str
    stream_arn: str
    shard_id: str
    worker: str


Invoke = Callable[[Event, Context], Any]


def invoker(handler: Handler | str) -> Invoke:
    """Returns a function for a callable, `module:function`, or the http:// or https:// URL of an endpoint.

    Raises ValueError for anything else.
    """
    if isinstance(handler, str):
        if handler.startswith(("http://", "https://")):
            return HttpHandler(handler)
        handler = named(handler)
    if not callable(handler):
        raise ValueError(f"the handler {handler!r} cannot be called")
    if _takes_context(handler):
        return handler
    single = handler
    return lambda event, context: single(event)


def named(name: str) -> Handler:
    """Returns the function with the name `package.module:function`. Raises ValueError."""
    module_name, separator, path = name.partition(":")
    if not separator or not module_name or not path:
        raise ValueError(f"{name!r} is neither module:function nor an http:// address")
    try:
        found: Any = importlib.import_module(module_name)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no handler {name}: {error}") from error
    if not callable(found):
        raise ValueError(f"{name} cannot be called")
    handler: Handler = found
    return handler


def _takes_context(handler: Handler) -> bool:
    """Returns whether a handler requires two arguments."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return False  # a built-in function without a signature
    required = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
    ]
    return len(required) == 2


class HandlerFailed(Exception):
    """The endpoint did not answer with success."""


class HttpHandler:
    """POSTs events as JSON. Status 2xx is success; the body, if any, is the handler's answer."""

    def __init__(self, url: str, *, timeout_s: float = 60.0) -> None:
        """Raises ValueError for an invalid URL."""
        self._poster = Poster(url, timeout_s=timeout_s)

    def __call__(self, event: Event, context: Context) -> Any:
        """Raises HandlerFailed, OSError, http.client.HTTPException."""
        answer = self._poster.post(event)
        if not 200 <= answer.status < 300:
            raise HandlerFailed(f"the endpoint answered {answer.status}: {answer.body[:200]!r}")
        if not answer.body.strip():
            return None
        try:
            return json.loads(answer.body)
        except ValueError as error:
            raise HandlerFailed(f"the endpoint's answer is not JSON: {answer.body[:200]!r}") from error
