"""SEARCH: the metrics that match the terms of a search.

    {AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"    exactly these dimensions
    {AWS/DynamoDB,TableName} Consumed TableName=("Orders" OR "Logs")   a word of a name, one of two tables
    Namespace="AWS/DynamoDB" throttle NOT key                          any dimensions

A word matches inside names, in any case: names are cut into pieces at capitals, digits and marks, and must
have the pieces of the word in sequence. A quoted term must be equal to the whole name. Words are looked for
in namespaces, metric names, names and values of dimensions, unless `NAME=` limits them. NOT has precedence
over AND, which may be omitted, and AND over OR.

Source: CloudWatch's user guide, "CloudWatch search expression syntax". Assumed: at most 500 series are found,
the first by name; labels; the case of quoted names matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn

from faradisc.errors import ValidationException
from faradisc.services.cloudwatch.sources import MetricName

FOUND_MAX: Final = 500
TERMS_MAX: Final = 1024
"""Characters."""
_DEPTH_MAX: Final = 40

_TOKEN: Final = re.compile(r'\s*(?:(?P<quoted>"[^"]*")|(?P<mark>[{}(),=])|(?P<word>[^\s{}(),="]+))')
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")

Condition = Callable[[MetricName], bool]
Where = Callable[[MetricName], Iterable[str]]
"""Returns the names of a metric in which a word is looked for."""


def condition_of(terms: str) -> Condition:
    """Returns whether a metric matches, as a function. Raises ValidationException."""
    if len(terms) > TERMS_MAX:
        _refuse(terms, f"more than {TERMS_MAX} characters")
    return _Reader(terms).result()


def labels_of(found: Sequence[MetricName]) -> list[str]:
    """Returns what distinguishes the metrics that were found; their name where nothing does."""
    rows = [[metric.namespace, metric.name, *(value for _, value in metric.dimensions)] for metric in found]
    if len({len(row) for row in rows}) > 1:
        return [" ".join(row) for row in rows]
    apart = [position for position, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    return [" ".join(row[position] for position in apart or (1,)) for row in rows]


def _refuse(terms: str, why: str) -> NoReturn:
    raise ValidationException(f"Error in search {terms!r}: {why}")


def _everywhere(metric: MetricName) -> Iterable[str]:
    yield metric.namespace
    yield metric.name
    for pair in metric.dimensions:
        yield from pair


def _property(name: str) -> Where:
    if name == "Namespace":
        return lambda metric: (metric.namespace,)
    if name == "MetricName":
        return lambda metric: (metric.name,)
    return lambda metric: [value for held, value in metric.dimensions if held == name]


def _pieces(text: str) -> list[str]:
    return [piece.lower() for piece in _PIECE.findall(text)]


class _Reader:
    def __init__(self, terms: str) -> None:
        self._terms = terms
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        at, text = 0, terms.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                _refuse(terms, "a quotation mark is open")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self._tokens.append(("end", ""))

    def result(self) -> Condition:
        schema = self._schema() if self._next_is("mark", "{") else None
        words = None if self._next_is("end", "") else self._either(_everywhere)
        if not self._next_is("end", ""):
            _refuse(self._terms, f"unexpected {self._tokens[self._at][1]}")
        given = [condition for condition in (schema, words) if condition is not None]
        if not given:
            _refuse(self._terms, "there is nothing to search for")
        return lambda metric: all(condition(metric) for condition in given)

    def _next_is(self, kind: str, token: str) -> bool:
        return self._tokens[self._at] == (kind, token)

    def _take(self, kind: str, token: str) -> bool:
        taken = self._next_is(kind, token)
        self._at += taken
        return taken

    def _name(self) -> str:
        kind, token = self._tokens[self._at]
        if kind not in ("word", "quoted") or token in ("AND", "OR", "NOT"):
            _refuse(self._terms, f"a name is expected, not {token or 'the end'}")
        self._at += 1
        return token.strip('"')

    def _schema(self) -> Condition:
        """{namespace, dimension, ...}: metrics with these dimensions and no others."""
        self._at += 1
        namespace, dimensions = self._name(), set()
        while self._take("mark", ","):
            dimensions.add(self._name())
        if not self._take("mark", "}"):
            _refuse(self._terms, "} is expected")
        return lambda metric: (
            metric.namespace == namespace and {name for name, _ in metric.dimensions} == dimensions
        )

    def _either(self, where: Where) -> Condition:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            _refuse(self._terms, "nested too deeply")
        choices = [self._all(where)]
        while self._take("word", "OR"):
            choices.append(self._all(where))
        self._depth -= 1
        return lambda metric: any(choice(metric) for choice in choices)

    def _all(self, where: Where) -> Condition:
        needed = [self._one(where)]
        while self._take("word", "AND") or not (
            self._next_is("word", "OR") or self._next_is("mark", ")") or self._next_is("end", "")
        ):
            needed.append(self._one(where))
        return lambda metric: all(each(metric) for each in needed)

    def _one(self, where: Where) -> Condition:
        negated = False
        while self._take("word", "NOT"):
            negated = not negated
        condition = self._plain(where)
        return (lambda metric: not condition(metric)) if negated else condition

    def _plain(self, where: Where) -> Condition:
        if self._take("mark", "("):
            inner = self._either(where)
            if not self._take("mark", ")"):
                _refuse(self._terms, ") is expected")
            return inner
        quoted = self._tokens[self._at][0] == "quoted"
        name = self._name()
        if self._take("mark", "="):
            if where is not _everywhere:
                _refuse(self._terms, f"{name}= stands inside another")
            return self._plain(_property(name))
        if quoted:
            return lambda metric: name in where(metric)
        return self._word(name, where)

    def _word(self, word: str, where: Where) -> Condition:
        pieces = _pieces(word)
        if not pieces or "*" in word:
            _refuse(self._terms, f"{word} has nothing that could be found in a name")
        count = len(pieces)

        def found(metric: MetricName) -> bool:
            for text in where(metric):
                held = _pieces(text)
                if any(held[at : at + count] == pieces for at in range(len(held) - count + 1)):
                    return True
            return False

        return found
