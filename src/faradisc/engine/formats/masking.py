"""Rules that mask attributes in exports, imports and copies.

    {"salt": "long and secret",
     "rules": [{"attribute": "email", "action": "fake", "kind": "email"},
               {"table": "orders-*", "attribute": "cards[*].number", "action": "hash"},
               {"attribute": "address.street", "action": "drop"}]}

    hash    a value of the same type: 32 hex digits, a number of as many digits, bytes
    fake    a made-up text of a kind: name, email, phone, street, city, company, uuid, ipv4, word
    drop    removes the attribute

A masked value depends only on the salt and the value (HMAC-SHA256), not on table, attribute or item: equal
values stay equal, so keys still match across tables, and a second run gives the same result. With the salt
one can test guesses of values, without it one cannot. Sets, lists and maps are masked member by member.

A path has `.` before members of maps and `[*]` for the elements of a list; a name may be quoted: "a.b".c
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

from faradisc.model.values.attribute import AttributeValue, Item, sorted_set
from faradisc.records import dataclass

ACTIONS = ("hash", "fake", "drop")
_STEP = re.compile(r'"([^"]+)"|([^."\[\]]+)|(\[\*\])')
_LEAVES = ("S", "N", "B")

_FIRST = (
    *("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "Jean", "John", "Katherine"),
    *("Ken", "Leslie", "Margaret", "Niklaus", "Radia", "Robin", "Shafi", "Sophie", "Tony", "Whitfield"),
)
_LAST = (
    *("Archer", "Baker", "Carter", "Dyer", "Fisher", "Fletcher", "Gardener", "Harper", "Hunter", "Mason"),
    *("Miller", "Porter", "Potter", "Sawyer", "Shepherd", "Smith", "Taylor", "Turner", "Walker", "Weaver"),
)
_STREETS = ("Birch", "Castle", "Church", "Garden", "High", "Lake", "Mill", "North", "Orchard", "River")
_CITIES = ("Ashford", "Brookfield", "Clifton", "Dunmore", "Eastham", "Fairview", "Glenwood", "Hartley")
_COMPANIES = ("Acorn", "Beacon", "Compass", "Delta", "Ember", "Falcon", "Granite", "Harbour", "Ivory")
_WORDS = ("amber", "basin", "cedar", "drift", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll")


class BadRules(Exception):
    """Invalid rules; the text is one sentence."""


def _pick(choices: tuple[str, ...], byte: int) -> str:
    return choices[byte % len(choices)]


def _name(d: bytes) -> str:
    return f"{_pick(_FIRST, d[0])} {_pick(_LAST, d[1])}"


FAKES: Mapping[str, Callable[[bytes], str]] = {
    "name": _name,
    # The hex digits keep distinct values distinct: there are only 20 x 20 names.
    "email": lambda d: f"{_pick(_FIRST, d[0])}.{_pick(_LAST, d[1])}.{d[2:8].hex()}@example.com".lower(),
    "phone": lambda d: f"+1555{int.from_bytes(d[:5], 'big') % 10**7:07d}",
    "street": lambda d: f"{1 + d[0] % 200} {_pick(_STREETS, d[1])} Street",
    "city": lambda d: _pick(_CITIES, d[0]),
    "company": lambda d: f"{_pick(_COMPANIES, d[0])} {_pick(_LAST, d[1])} Ltd",
    "uuid": lambda d: "-".join((d[:4].hex(), d[4:6].hex(), d[6:8].hex(), d[8:10].hex(), d[10:16].hex())),
    "ipv4": lambda d: f"10.{d[0]}.{d[1]}.{d[2]}",
    "word": lambda d: f"{_pick(_WORDS, d[0])}-{_pick(_WORDS, d[1])}",
}


@dataclass(frozen=True, slots=True)
class Rule:
    table: str
    """Pattern of table names."""
    path: tuple[str, ...]
    """Names, and `[*]` for all elements of a list."""
    action: str
    kind: str


class Masker:
    """The rules for one table."""

    def __init__(self, rules: list[Rule], salt: bytes) -> None:
        self._rules = rules
        self._salt = salt

    def __bool__(self) -> bool:
        return bool(self._rules)

    def check_keys(self, names: tuple[str, ...]) -> None:
        """Raises BadRules when a rule drops a key attribute of the table."""
        for rule in self._rules:
            if rule.action == "drop" and len(rule.path) == 1 and rule.path[0] in names:
                raise BadRules(f"The key attribute {rule.path[0]!r} cannot be dropped; hash or fake it.")

    def masked(self, item: Item) -> Item:
        """Returns a copy of an item with the rules applied in their order. The item itself stays
        unchanged."""
        for rule in self._rules:
            if rule.path[0] in item:
                item = self._in_map(item, rule.path, rule)
        return item

    def _in_map(self, members: dict[str, Any], path: tuple[str, ...], rule: Rule) -> dict[str, Any]:
        name, rest = path[0], path[1:]
        if name not in members:
            return members
        if not rest and rule.action == "drop":
            return {each: value for each, value in members.items() if each != name}
        return {**members, name: self._below(members[name], rest, rule)}

    def _below(self, value: AttributeValue, path: tuple[str, ...], rule: Rule) -> AttributeValue:
        if not path:
            return self._mask(value, rule)
        if path[0] == "[*]":
            elements = value.get("L")
            if not isinstance(elements, list):
                return value
            if len(path) == 1 and rule.action == "drop":
                return {"L": []}
            return {"L": [self._below(each, path[1:], rule) for each in elements]}
        members = value.get("M")
        return {"M": self._in_map(members, path, rule)} if isinstance(members, dict) else value

    def _mask(self, value: AttributeValue, rule: Rule) -> AttributeValue:
        ((kind, content),) = value.items()
        if kind == "M":
            return {"M": {name: self._mask(each, rule) for name, each in content.items()}}
        if kind == "L":
            return {"L": [self._mask(each, rule) for each in content]}
        if kind in ("SS", "NS", "BS"):
            members = {self._leaf(kind[0], each, rule) for each in content}
            return {kind: sorted_set(kind, list(members))}
        return {kind: self._leaf(kind, content, rule)} if kind in _LEAVES else value

    def _leaf(self, kind: str, content: str, rule: Rule) -> str:
        digest = hmac.new(self._salt, f"{kind}:{content}".encode(), sha256).digest()
        if kind == "S":
            if rule.action == "fake":
                return FAKES[rule.kind](digest)
            return digest[:16].hex() if content else ""
        if kind == "N":
            return _masked_number(content, digest)
        size = min(len(b64decode(content)), len(digest))
        return b64encode(digest[:size]).decode()


def _masked_number(content: str, digest: bytes) -> str:
    """Returns an integer with as many digits as the number has before its point; 0 stays 0."""
    digits = len(content.lstrip("-").partition(".")[0].lstrip("0"))
    if content == "0" or not digits:
        return content if content == "0" else str(digest[0] % 10)
    low = 10 ** (min(digits, 38) - 1)
    return ("-" if content[0] == "-" else "") + str(low + int.from_bytes(digest, "big") % (9 * low))


class Masking:
    """The rules of a file."""

    def __init__(self, document: object, salt: str | None = None) -> None:
        """salt: replaces that of the document. Raises BadRules."""
        if not isinstance(document, dict):
            raise BadRules("The rules must be a map with `salt` and `rules`.")
        unknown = sorted(set(document) - {"salt", "rules"})
        if unknown:
            raise BadRules(f"The rules have an unknown member: {unknown[0]!r}.")
        chosen = salt if salt is not None else document.get("salt")
        rules = document.get("rules")
        if not isinstance(rules, list):
            raise BadRules("The list `rules` is missing.")
        self._rules = [_rule(each, number) for number, each in enumerate(rules, 1)]
        if not isinstance(chosen, str) or not chosen:
            if any(rule.action != "drop" for rule in self._rules):
                raise BadRules("The actions `hash` and `fake` need a `salt`, a secret text.")
            chosen = ""
        self._salt = chosen.encode()

    def of(self, table: str) -> Masker:
        return Masker([rule for rule in self._rules if fnmatchcase(table, rule.table)], self._salt)


def _rule(given: object, number: int) -> Rule:
    where = f"Rule {number}"
    if not isinstance(given, dict):
        raise BadRules(f"{where} must be a map.")
    unknown = sorted(set(given) - {"table", "attribute", "action", "kind"})
    if unknown:
        raise BadRules(f"{where} has an unknown member: {unknown[0]!r}.")
    action, kind, table = given.get("action"), given.get("kind", "word"), given.get("table", "*")
    if action not in ACTIONS:
        raise BadRules(f"{where}: `action` must be one of {', '.join(ACTIONS)}.")
    if action == "fake" and kind not in FAKES:
        raise BadRules(f"{where}: the kind {kind!r} is unknown; known are {', '.join(FAKES)}.")
    if "kind" in given and action != "fake":
        raise BadRules(f"{where} has a kind, but only the action `fake` has kinds.")
    if not isinstance(table, str):
        raise BadRules(f"{where}: `table` must be a pattern of table names.")
    return Rule(table, _path(given.get("attribute"), where), str(action), str(kind))


def _path(text: object, where: str) -> tuple[str, ...]:
    if not isinstance(text, str) or not text:
        raise BadRules(f"{where}: `attribute` is missing.")
    steps: list[str] = []
    at = 0
    while at < len(text):
        if steps and text[at] == ".":
            at += 1
        match = _STEP.match(text, at)
        if match is None or (not steps and match[3]):
            raise BadRules(f"{where}: {text!r} is not a path such as a.b[*].c.")
        steps.append(match[1] or match[2] or match[3])
        at = match.end()
    return tuple(steps)
