"""`patch`: every client of the process uses a database in the process."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast, overload

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

    def start(self) -> LocalDatabase:
        """Enters the patch, until `stop`; returns its database. Starts and stops nest."""
        database = LocalDatabase(**self._settings) if self._given is None else self._given
        redirection = Redirection(database, self._strict)
        begin(redirection)
        self._entered.append((database, redirection))
        return database

    def stop(self) -> None:
        """Ends what the last `start` began. Raises RuntimeError if nothing is started."""
        if not self._entered:
            raise RuntimeError("stop() of a faradisc.local.patch() that was not started")
        database, redirection = self._entered.pop()
        end(redirection)
        if self._given is None:
            database.close()

    def __enter__(self) -> LocalDatabase:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, target: F) -> F:
        """Returns `target` under the patch: a function, each call with a database of its own, or a class of
        tests, each test with one.

        Functions, coroutine functions and generator functions of both kinds can be decorated, and classes:
        a TestCase from before its `setUp` until after its clean-ups, any other from before its
        `setup_method` until after its `teardown_method`, as pytest calls them. Raises TypeError for anything
        else.
        """
        if isinstance(target, type):
            return cast(F, self._decorate_class(target))
        if not inspect.isroutine(target):
            raise TypeError(f"faradisc.local.patch() decorates functions and classes, not {target!r}")
        wrapper = functools.update_wrapper(self._wrapper(target), target)
        return cast(F, wrapper)

    def _again(self) -> Patch:
        return Patch(self._given, self._strict, self._settings)

    def _wrapper(self, function: Callable[..., Any]) -> Callable[..., Any]:
        again = self._again
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

        return wrapper  # type: ignore[no-any-return]

    def _decorate_class(self, tests: Any) -> Any:
        unittest: Any = sys.modules.get("unittest")  # a TestCase comes from there; its import takes 40 ms
        if unittest is not None and issubclass(tests, unittest.TestCase):
            # The method that runs one test: what a subclass does in its setUp is under the patch as well.
            tests.run = functools.update_wrapper(self._wrapper(tests.run), tests.run)
            return tests
        entered = f"_faradisc_patch_{id(self)}"  # two decorators of one class have a patch each
        set_up, tear_down = getattr(tests, "setup_method", None), getattr(tests, "teardown_method", None)

        def setup_method(test: Any, method: Any) -> None:
            patch = self._again()
            setattr(test, entered, patch)
            patch.start()
            try:
                _call_with_method(set_up, test, method)
            except BaseException:  # pytest calls no teardown_method then
                patch.stop()
                raise

        def teardown_method(test: Any, method: Any) -> None:
            try:
                _call_with_method(tear_down, test, method)
            finally:
                getattr(test, entered).stop()

        for each in (setup_method, teardown_method):
            setattr(tests, each.__name__, each)
        return tests


def _call_with_method(function: Callable[..., None] | None, test: Any, method: Any) -> None:
    """Calls what a class has of setup_method or teardown_method, which may take the method or not."""
    if function is not None:
        takes_it = len(inspect.signature(function).parameters) > 1
        function(*((test, method) if takes_it else (test,)))


@overload
def patch(database: F) -> F: ...


@overload
def patch(database: LocalDatabase | None = None, *, strict: bool = False, **settings: Any) -> Patch: ...


def patch(database: Any = None, *, strict: bool = False, **settings: Any) -> Any:
    """Returns a context manager under which every boto3 and aiobotocore client and resource of the process
    uses a database in the process, also one made before; it can decorate functions and classes of tests, and
    be started and stopped.

        with faradisc.local.patch() as database: ...

        @faradisc.local.patch
        def test_order() -> None: ...

    This concerns dynamodb, dynamodbstreams, application-autoscaling and cloudwatch, whatever region, profile,
    credentials and endpoint a client names. The last patch entered is in force, in all threads and tasks.

    database: that is to be used, and stays open; default: a new one in memory, closed at the end. A function
    or class is decorated, as with `@patch()`.
    strict: raise RuntimeError in place of every request to another service.
    settings: of a new `LocalDatabase`.

    Raises TypeError for a database and settings together.
    """
    if callable(database) and not strict and not settings:
        return Patch(None, False, {})(database)
    if database is not None and (settings or not isinstance(database, LocalDatabase)):
        raise TypeError("patch() takes a LocalDatabase, or the settings of a new one")
    return Patch(database, strict, settings)


def patched() -> list[LocalDatabase]:
    """Returns the databases of the patches that are entered; the last one is in use."""
    return [each.database for each in redirections()]
