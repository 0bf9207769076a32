"""Pages of a sorted list, continued after the key of the last element returned."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

Element = TypeVar("Element")


def page(
    elements: Sequence[Element],
    key: Callable[[Element], Any],
    token: str | None,
    size: int,
    invalid_token: type[Exception],
) -> tuple[list[Element], dict[str, str]]:
    """Returns the elements after a token's, and the NextToken member of an answer, if there are more.

    elements: sorted by `key`, which returns different lists of strings and numbers. Elements that are added
    or deleted between two pages may be missed; none is returned twice. Raises `invalid_token`.
    """
    if token is not None:
        after = _read(token, invalid_token)
        try:
            elements = [element for element in elements if key(element) > after]
        except TypeError:
            raise invalid_token from None
    paged = list(elements[:size])
    if len(elements) <= size:
        return paged, {}
    return paged, {"NextToken": urlsafe_b64encode(orjson.dumps(key(paged[-1]))).decode()}


def _read(token: str, invalid_token: type[Exception]) -> Any:
    try:
        after = orjson.loads(urlsafe_b64decode(token))
    except (ValueError, Base64Error):
        raise invalid_token from None
    if type(after) is not list:
        raise invalid_token
    return after
