"""Pages of a sorted list, continued after the key of the last element told."""

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
    refusal: type[Exception],
) -> tuple[list[Element], str | None]:
    """The elements after a token's, and the token of the next page, if there is one.

    elements: sorted by `key`, which gives lists of strings and numbers, and no two alike. Elements that come
    or go between two pages are told or left out, never twice told. Raises: `refusal` for a foreign token.
    """
    if token is not None:
        after = _read(token, refusal)
        try:
            elements = [element for element in elements if key(element) > after]
        except TypeError:
            raise refusal from None
    paged = list(elements[:size])
    more = len(elements) > size
    return paged, urlsafe_b64encode(orjson.dumps(key(paged[-1]))).decode() if more else None


def _read(token: str, refusal: type[Exception]) -> Any:
    try:
        after = orjson.loads(urlsafe_b64decode(token))
    except (ValueError, Base64Error):
        raise refusal from None
    if type(after) is not list:
        raise refusal
    return after
