"""Errors of the endpoint in words: what happened, and what to do. The service's text stays beside them."""

from __future__ import annotations

import re
from typing import Final

from faradisc.records import dataclass
from faradisc.tools.console.endpoint import Failure

EXPIRED: Final = frozenset(
    (
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "InvalidClientTokenId",
        "ExpiredTokenException",
    )
)
"""Errors after which the console asks for a key."""
_CONSTRAINT: Final = re.compile(r"at '([\w.]+)' failed to satisfy constraint: (.+?)(?=; Value |$)")
_PLAIN_ON_TLS: Final = re.compile(r"Connection was closed|Connection aborted|Empty reply|RemoteDisconnected")
_TLS_ON_PLAIN: Final = re.compile(r"WRONG_VERSION_NUMBER|wrong version number|record layer failure")


@dataclass(frozen=True, slots=True)
class Explained:
    title: str
    sentence: str
    """What to do; empty when the text of the service says all."""
    detail: str
    """The text of the service or of the library."""


def explained(failure: Failure, url: str | None) -> Explained:
    """Returns an error in words. url: of the endpoint, None for Amazon's."""
    code, text, where = failure.code, failure.message, url or "Amazon DynamoDB"
    if code in EXPIRED:
        return Explained(
            "The endpoint does not accept this key", "Sign in with another access key.", f"{code}: {text}"
        )
    if code == "ResourceNotFoundException":
        return Explained("Not found", "It was deleted, or it is in another region or account.", text)
    if code == "AccessDeniedException":
        return Explained("This key may not do that", "", text)
    if code in ("405", "404") and "table" not in text:
        return Explained(
            "There is a server, but no DynamoDB",
            f"Something else answers at {where}: look at the address and the port.",
            f"{code}: {text}",
        )
    if not code and _TLS_ON_PLAIN.search(text):
        return Explained("The endpoint speaks http", f"{where} begins with https; try http.", text)
    if not code and _PLAIN_ON_TLS.search(text):
        return Explained(
            "The connection was closed without an answer",
            f"If the endpoint speaks TLS, its address begins with https: now it is {where}.",
            text,
        )
    if not code and "Could not connect" in text:
        return Explained(
            "Nothing answers", f"No server listens at {where}. Start it, or sign in to another.", text
        )
    if not code and "SSL validation failed" in text:
        return Explained(
            "The certificate is not trusted", "Name its authority in AWS_CA_BUNDLE and start again.", text
        )
    if not code and "timeout" in text.lower():
        return Explained("The endpoint answers too slowly", "", text)
    found = _CONSTRAINT.findall(text)
    if found:
        sentence = " ".join(f"{place_in_words(path)}: {rule.rstrip('.')}." for path, rule in found)
        return Explained("Something in the request is not allowed", sentence, text)
    return Explained(code or "That did not work", "", text)


def place_in_words(path: str) -> str:
    """Returns a place of a request as a person says it: "Global secondary index 1, index name"."""
    words: list[str] = []
    for step in path.split("."):
        if step == "member":
            continue
        if step.isdecimal() and words:
            last = words[-1]
            one = f"{last[:-3]}y" if last.endswith("ies") else last
            one = f"{one[:-2]}" if one.endswith("xes") else one.removesuffix("s")
            words[-1] = f"{one} {step}"
        else:
            words.append(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", step).lower())
    return ", ".join(words).capitalize()
