"""Redirects the requests of botocore's and aiobotocore's clients, wherever and whenever they were made.

Methods of these classes are replaced while a redirection is in force:

    Session.create_client        a client needs no credentials and no region; nothing is asked for them
    Session.get_scoped_config    a profile that does not exist has no settings
    Session.__init__             aiobotocore, once imported, is treated in the same way
    RequestSigner                a client made before signs with placeholders, and refreshes no credentials
    EndpointRulesetResolver      nor does it refresh them to learn the account
    Endpoint._send               the request is answered in this process

`Endpoint._send` comes after the event `before-send`, so stubbers precede it. Some of these names are private
to botocore: tests/unit/local/test_patch.py fails when one changes its meaning.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import ProfileNotFound
from botocore.regions import EndpointRulesetResolver
from botocore.session import Session
from botocore.signers import RequestSigner

from faradisc.local.database import LocalDatabase
from faradisc.local.sessions import SERVICES
from faradisc.local.transport import request_of, response_of
from faradisc.records import dataclass

_NAMES: Final = frozenset(
    {
        *SERVICES,
        *("streams.dynamodb", "monitoring"),  # endpoint prefixes, where they differ
        *("DynamoDB", "DynamoDB Streams", "Application Auto Scaling", "CloudWatch"),  # service ids
    }
)
"""What botocore calls the services of Faradisc; no other service has one of these names."""
_ACCOUNT: Final = {"AWS::Auth::AccountId": None, "AWS::Auth::AccountIdEndpointMode": "disabled"}
"""Values that botocore would find by the credentials."""
_CONFIG: Final = Config(defaults_mode="legacy")  # type: ignore[arg-type]  # the stubs are wrong
"""The mode "auto" asks the metadata address for the region."""


@dataclass(frozen=True, slots=True, eq=False)
class Redirection:
    database: LocalDatabase
    strict: bool
    """Whether requests to other services are refused."""

    def concerns(self, service: str, url: str | None = None) -> bool:
        """Returns whether requests to a service, at an endpoint, are redirected or refused."""
        if url is not None and urlsplit(url).netloc in _untouched:
            return False
        return self.strict or service in _NAMES


_lock = threading.RLock()  # again by a session that is made while methods are replaced
_redirections: list[Redirection] = []
"""The last one is in force."""
_replaced: list[tuple[type, str, Any, Any]] = []
"""Class, name, the original, and what replaces it."""
_untouched: set[str] = set()
"""Hosts and ports of servers whose clients are not redirected."""


def begin(redirection: Redirection) -> None:
    """Redirects all clients, until `end`, or until another redirection begins."""
    with _lock:
        _redirections.append(redirection)
        _replace_methods()


def end(redirection: Redirection) -> None:
    with _lock:
        _redirections.remove(redirection)
        if not _redirections:
            for owner, name, original, replacement in _replaced:
                if vars(owner).get(name) is replacement:  # else another library has wrapped it
                    setattr(owner, name, original)
            _replaced.clear()


def exempt(url: str) -> None:
    """Lets clients that name the endpoint `url` reach it: that of a server which the tests have started."""
    with _lock:
        _untouched.add(urlsplit(url).netloc)


def redirections() -> list[Redirection]:
    """Returns those that have begun and not ended; the last one is in force."""
    with _lock:
        return list(_redirections)


def _current() -> Redirection | None:
    with _lock:
        return _redirections[-1] if _redirections else None


def _replace_methods() -> None:
    if not _replaced:
        _replace(Session, "__init__", _initialised)
        _replace(Session, "create_client", _created)
        _replace(Session, "get_scoped_config", _scoped_config)
        _replace(EndpointRulesetResolver, "_resolve_param_as_builtin", _builtin)
        _replace(RequestSigner, "get_auth_instance", _signing(Credentials))
        _replace(Endpoint, "_send", _sent)
    if "aiobotocore.session" in sys.modules and all(
        owner.__name__ != "AioSession" for owner, *_ in _replaced
    ):
        # It is not a dependency, and slow to import.
        from aiobotocore.awsrequest import AioAWSResponse  # noqa: PLC0415
        from aiobotocore.credentials import AioCredentials  # noqa: PLC0415
        from aiobotocore.endpoint import AioEndpoint  # noqa: PLC0415
        from aiobotocore.session import AioSession  # noqa: PLC0415
        from aiobotocore.signers import AioRequestSigner  # noqa: PLC0415

        _replace(AioSession, "_create_client", _created_async)
        _replace(AioRequestSigner, "get_auth_instance", _signing(AioCredentials))
        _replace(AioEndpoint, "_send", functools.partial(_sent_async, _async_response(AioAWSResponse)))


def _replace(owner: type, name: str, replacement_of: Callable[[Any], Any]) -> None:
    original = vars(owner)[name]
    replacement = functools.wraps(original)(replacement_of(original))
    _replaced.append((owner, name, original, replacement))
    setattr(owner, name, replacement)


# --- Sessions and clients ------------------------------------------------------------------------


def _initialised(original: Any) -> Any:
    def initialise(self: Session, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        with _lock:
            if _redirections:
                _replace_methods()

    return initialise


def _scoped_config(original: Any) -> Any:
    def get_scoped_config(self: Session) -> Any:
        try:
            return original(self)
        except ProfileNotFound:
            if _current() is None:
                raise
            return {}

    return get_scoped_config


def _created(original: Any) -> Any:
    def create_client(self: Session, *args: Any, **options: Any) -> Any:
        redirected = _completed(original, self, args, options)
        client = original(self, *args, **options) if redirected is None else original(self, **redirected)
        return client if redirected is None else _bound(client)

    return create_client


def _created_async(original: Any) -> Any:
    async def create_client(self: Any, *args: Any, **options: Any) -> Any:
        redirected = _completed(original, self, args, options)
        if redirected is None:
            return await original(self, *args, **options)
        return _bound(await original(self, **redirected))

    return create_client


def _completed(
    original: Any, session: Session, args: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any] | None:
    """Returns the arguments of a redirected client, with all that botocore would look for elsewhere.

    Returns None for a client that is not redirected; raises ProfileNotFound if its profile does not exist.
    """
    redirection = _current()
    given: dict[str, Any] = inspect.signature(original).bind(session, *args, **options).arguments
    if redirection is None or not redirection.concerns(given["service_name"], given.get("endpoint_url")):
        profile = session.get_config_variable("profile")
        if profile is not None and profile not in session.full_config["profiles"]:
            raise ProfileNotFound(profile=profile)
        return None
    del given["self"]
    config: Any = given.get("config")
    default: Any = session.get_default_client_config()
    regions = (
        given.get("region_name"),
        *(each.region_name for each in (config, default) if each is not None),
    )
    if not any(regions) and session.get_config_variable("region") is None:
        given["region_name"] = redirection.database.region
    given["config"] = _CONFIG if config is None else config.merge(_CONFIG)
    if given.get("aws_access_key_id") is None and given.get("aws_secret_access_key") is None:
        given.update(aws_access_key_id="faradisc", aws_secret_access_key="faradisc")
    return given


def _bound(client: Any) -> Any:
    """Returns a client that was made with placeholders, and refuses to send anything with them later on."""
    endpoint = client._endpoint

    def send(request: AWSPreparedRequest) -> Any:
        if _current() is None:
            raise RuntimeError("this client was made under faradisc.local.patch(), which has ended")
        return type(endpoint)._send(endpoint, request)

    endpoint._send = send
    return client


# --- Requests ------------------------------------------------------------------------------------


def _builtin(original: Any) -> Any:
    def resolve(self: Any, builtin_name: str, builtins: Any) -> Any:
        redirection = _current()
        prefix = self._service_model.endpoint_prefix
        if builtin_name in _ACCOUNT and redirection is not None and redirection.concerns(prefix):
            return _ACCOUNT[builtin_name]
        return original(self, builtin_name, builtins)

    return resolve


def _signing(fixed: Any) -> Callable[[Any], Any]:
    """fixed: the class of credentials that never need to be refreshed."""
    placeholder = fixed("faradisc", "faradisc")

    def signing(original: Any) -> Any:
        def get_auth_instance(self: Any, *args: Any, **options: Any) -> Any:
            redirection = _current()
            if (
                redirection is not None
                and redirection.concerns(self._service_id)
                and type(self._credentials) is not fixed
            ):
                options["request_credentials"] = placeholder
            return original(self, *args, **options)

        return get_auth_instance

    return signing


def _sent(original: Any) -> Any:
    def send(self: Endpoint, request: AWSPreparedRequest) -> AWSResponse:
        return _answered(self, request) or original(self, request)

    return send


def _sent_async(response_class: Any, original: Any) -> Any:
    async def send(self: Any, request: AWSPreparedRequest) -> Any:
        response = _answered(self, request)
        if response is None:
            return await original(self, request)
        made = response_class(response.url, response.status_code, response.headers, response.raw)
        made._content = AwaitedBytes(response.content)
        return made

    return send


class AwaitedBytes(bytes):
    """The body of an answer as bytes and as what gives them when it is awaited.

    aiobotocore awaits the content of its responses. Programs that use it with moto replace the class of the
    responses by one that reads moto's, whose content is plain bytes; they find those here as well.
    """

    def __await__(self) -> Generator[None, None, bytes]:
        yield from ()  # no wait
        return bytes(self)


def _async_response(base: type) -> type:
    """Returns the class of an answer to aiobotocore, whose `content` needs no wait."""

    class Answered(base):  # type: ignore[misc]
        @property
        def content(self) -> AwaitedBytes:
            return self._content  # type: ignore[no-any-return]

    return Answered


def _answered(endpoint: Any, request: AWSPreparedRequest) -> AWSResponse | None:
    """Returns the answer of the database; None when the request is for somewhere else.

    Raises RuntimeError when that is refused.
    """
    redirection = _current()
    prefix = endpoint._endpoint_prefix
    if redirection is None or not redirection.concerns(prefix, str(request.url)):
        return None
    if prefix not in _NAMES:
        raise RuntimeError(
            f"a request to {request.url} was refused: under faradisc.local.patch(strict=True) only "
            f"{', '.join(SERVICES)} are answered, and nothing leaves the process"
        )
    return response_of(str(request.url), redirection.database.answer(request_of(request)))
