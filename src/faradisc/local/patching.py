"""`patch`: every client of the process uses a database in the process."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from faradisc.local.database import LocalDatabase
from faradisc.local.redirecting import Redirection, begin, end, redirections

F = TypeVar("F", bound=Callable[..., Any])


class Patch:
    """The context manager and decorator that `patch` returns."""

    def __init__(self, database: LocalDatabase | None, strict: bool, settings: dict[str, Any]) -> None:
        self._given = database
        self._strict = strict
        self._settings = settings
        self._entered: list[tuple[LocalDatabase, Redirection]] = []

    def __enter__(self) -> LocalDatabase:
        database = LocalDatabase(**self._settings) if self._given is None else self._given
        redirection = Redirection(database, self._strict)
        begin(redirection)
        self._entered.append((database, redirection))
        return database

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, redirection = self._entered.pop()
        end(redirection)
        if self._given is None:
            database.close()

    def __call__(self, function: F) -> F:
        """Returns a function that runs `function` under the patch, each call with a database of its own.

        Functions, coroutine functions and generator functions of both kinds can be decorated. Raises
        TypeError for anything else.
        """
        if not inspect.isroutine(function):
            raise TypeError(f"faradisc.local.patch() decorates functions, not {function!r}")

        def again() -> Patch:
            return Patch(self._given, self._strict, self._settings)

        wrapper: Any
        if inspect.iscoroutinefunction(function):

            async def wrapper(*args: Any, **options: Any) -> Any:
                with again():
                    return await function(*args, **options)

        elif inspect.isasyncgenfunction(function):

            async def wrapper(*args: Any, **options: Any) -> Any:
                with again():
                    async for each in function(*args, **options):
                        yield each

        elif inspect.isgeneratorfunction(function):

            def wrapper(*args: Any, **options: Any) -> Any:
                with again():
                    return (yield from function(*args, **options))

        else:

            def wrapper(*args: Any, **options: Any) -> Any:
                with again():
                    return function(*args, **options)

        functools.update_wrapper(wrapper, function)
        return wrapper  # type: ignore[no-any-return]


def patch(database: LocalDatabase | None = None, *, strict: bool = False, **settings: Any) -> Patch:
    """Returns a context manager under which every boto3 and aiobotocore client and resource of the process
    uses a database in the process, also one made before; it can decorate functions as well.

        with faradisc.local.patch() as database: ...

        @faradisc.local.patch()
        def test_order() -> None: ...

    This concerns dynamodb, dynamodbstreams, application-autoscaling and cloudwatch, whatever region, profile,
    credentials and endpoint a client names. The last patch entered is in force, in all threads and tasks.

    database: that is to be used, and stays open; default: a new one in memory, closed at the end.
    strict: raise RuntimeError in place of every request to another service.
    settings: of a new `LocalDatabase`.

    Raises TypeError for a database and settings together.
    """
    if database is not None and (settings or not isinstance(database, LocalDatabase)):
        raise TypeError("patch() takes a LocalDatabase, or the settings of a new one")
    return Patch(database, strict, settings)


def patched() -> list[LocalDatabase]:
    """Returns the databases of the patches that are entered; the last one is in use."""
    return [each.database for each in redirections()]
