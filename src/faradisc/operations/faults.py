"""Faults by wish: errors, throttles, lost and slow answers, to test what a program does about them.

    {"seed": 7,
     "faults": [
       {"fault": "InternalServerError", "share": 0.02},
       {"fault": "InternalServerError", "share": 0.02, "made": true, "operations": ["PutItem"]},
       {"fault": "Throttle", "share": 0.1, "tables": ["Orders"]},
       {"fault": "ConnectionClosed", "share": 0.05, "operations": ["UpdateItem"]},
       {"fault": "NoAnswer", "share": 0.01},
       {"fault": "Slow", "share": 0.2, "ms": 300}]}

Each rule has a draw for each request that it concerns, in the order of the file, so a seed gives a sequence.
The first error that is drawn is answered. Errors and throttles come before the request is begun, unless it is
to be `made`; the other faults after it was made, with its charges and metrics, and only if it succeeded.

A write whose answer was lost so is remembered: when the same request comes again, `repeats` says what its
second execution can do to the data (`danger_of`), which `faradisc advise` shows.

A database without faults has the handlers of the registry (`Backend.set_faults`) and pays nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from hashlib import sha256
from random import Random
from typing import Any, Final

import orjson

from faradisc.capacity.throttle import Cause, Throttled
from faradisc.errors import InternalServerError
from faradisc.operations.backend import Backend, Handler, Operation
from faradisc.operations.call import Call
from faradisc.operations.registry import OPERATIONS
from faradisc.records import dataclass

READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
WRITES: Final = frozenset(
    {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
    | {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"}
)
"""PartiQL's operations may be reads."""
FAULTS: Final = ("InternalServerError", "Throttle", "ConnectionClosed", "NoAnswer", "Slow")
_MEMBERS: Final = {"fault", "share", "made", "operations", "tables", "ms"}
_SLOW_MS_MAX: Final = 600_000
_LOST_MAX: Final = 10_000
"""Writes that are remembered."""
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([\w.-]+)', re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_RELATIVE = re.compile(r"\bADD\b|list_append|set_add|\+|[\w)\]]\s*-\s*[\w:#(?]", re.IGNORECASE)
"""In an update expression or statement: the new value depends on the old one."""

TWICE, OVER = "applied twice", "undoes later writes"


@dataclass(slots=True)
class FaultRule:
    fault: str
    share: float
    made: bool = False
    """InternalServerError: whether the request is made before."""
    operations: frozenset[str] = READS | WRITES
    tables: frozenset[str] = frozenset()
    """Empty: any."""
    ms: float = 0.0
    """Slow: how much later the answer is."""
    applied: int = 0
    """Requests that it has concerned so far."""

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"fault": self.fault, "share": self.share, "applied": self.applied}
        if self.made:
            shown["made"] = True
        if self.operations != READS | WRITES:
            shown["operations"] = sorted(self.operations)
        if self.tables:
            shown["tables"] = sorted(self.tables)
        return {**shown, "ms": self.ms} if self.fault == "Slow" else shown


class Faults:
    """The rules, and what was lost and repeated since they were set."""

    def __init__(self, rules: Sequence[FaultRule], seed: int = 0) -> None:
        self.rules = rules
        self.seed = seed
        self.repeats: Counter[tuple[str, str, str]] = Counter()
        """Unsafe repetitions, by table, operation and danger."""
        self._draw = Random(seed)
        self._lost: OrderedDict[bytes, None] = OrderedDict()

    def on(self, operations: Mapping[str, Operation]) -> dict[str, Operation]:
        """Returns the operations with their faults."""
        concerned = WRITES.union(*(rule.operations for rule in self.rules)) if self.rules else frozenset()
        found = dict(operations)
        for name in concerned:
            found[name] = copy(operations[name])
            found[name].handler = self._handler(operations[name])
        return found

    def _handler(self, operation: Operation) -> Handler:
        async def handle(backend: Backend, call: Call) -> dict[str, Any]:
            names = tables_of(call.request)
            if operation.name in WRITES and self._lost:
                self._repeated(call, names)
            error, answer, slow_s = self._drawn(operation.name, names)
            if error is not None and not error.made:
                _fail(error, backend, call, names)
            result = await operation.handler(backend, call)
            lost = error or answer
            if lost is not None and operation.name in WRITES:
                self._remember(call)
            if slow_s:
                await backend.pause(slow_s)
            if error is not None:
                raise InternalServerError
            if answer is not None:
                call.lost = "closed" if answer.fault == "ConnectionClosed" else "withheld"
            return result

        return handle

    def _drawn(
        self, operation: str, names: Sequence[str]
    ) -> tuple[FaultRule | None, FaultRule | None, float]:
        """Returns the error of a request or the loss of its answer, and how many seconds it is late."""
        lost: FaultRule | None = None
        slow_s = 0.0
        for rule in self.rules:
            if operation not in rule.operations or (rule.tables and rule.tables.isdisjoint(names)):
                continue
            if self._draw.random() >= rule.share or (lost is not None and rule.fault != "Slow"):
                continue
            rule.applied += 1
            if rule.fault == "Slow":
                slow_s += rule.ms / 1000
            else:
                lost = rule
        if lost is not None and lost.fault in ("InternalServerError", "Throttle"):
            return lost, None, slow_s
        return None, lost, slow_s

    def _remember(self, call: Call) -> None:
        self._lost[_digest(call)] = None
        if len(self._lost) > _LOST_MAX:
            self._lost.popitem(last=False)

    def _repeated(self, call: Call, names: Sequence[str]) -> None:
        digest = _digest(call)
        if digest not in self._lost:
            return
        del self._lost[digest]
        danger = danger_of(call.operation, call.request)
        if danger:
            for name in names:
                self.repeats[name, call.operation, danger] += 1

    def to_json(self) -> dict[str, Any]:
        """Returns the rules, how often each was applied, and what was repeated unsafely."""
        return {
            "seed": self.seed,
            "faults": [rule.to_json() for rule in self.rules],
            "repeats": [
                {"table": table, "operation": operation, "danger": danger, "count": count}
                for (table, operation, danger), count in sorted(self.repeats.items())
            ],
        }


def _fail(rule: FaultRule, backend: Backend, call: Call, names: Sequence[str]) -> None:
    """Raises the error of a rule, counted as one of the tables of the request. Raises ApiError, Throttled."""
    of_data = call.operation in READS | WRITES
    tables = [backend.table_for_data(call, name) for name in names] if of_data else []
    if rule.fault == "Throttle" and tables:
        resource = tables[0].meter.resource_of(None)
        limiter = resource.reads if call.operation in READS else resource.writes
        cause = Cause.KEY_RANGE if limiter.on_demand else Cause.PROVISIONED
        raise Throttled(limiter.blame(limiter.bucket_of(bytes(16)), cause))
    raise InternalServerError


def _digest(call: Call) -> bytes:
    with suppress(TypeError):
        return sha256(orjson.dumps([call.operation, call.request], option=orjson.OPT_SORT_KEYS)).digest()
    return repr((call.operation, call.request)).encode()


def tables_of(request: Mapping[str, Any]) -> list[str]:
    """Returns the names of the tables that a request of data names, each once."""
    named = [request.get("TableName", ""), *request.get("RequestItems", ())]
    for action in request.get("TransactItems", ()):
        named += [each["TableName"] for each in action.values()]
    statements = [request, *request.get("Statements", ()), *request.get("TransactStatements", ())]
    for each in statements:
        named += _TABLE.findall(each.get("Statement", ""))
    return list(dict.fromkeys(name.rpartition("/")[2] for name in named if name))


def danger_of(operation: str, request: Mapping[str, Any]) -> str:
    """Returns what a second execution of a write can do to the data; "" where nothing."""
    if "ClientRequestToken" in request:
        return ""
    match operation:
        case "TransactWriteItems":
            dangers = [
                danger_of(f"{kind}Item", action)
                for each in request["TransactItems"]
                for kind, action in each.items()
                if kind != "ConditionCheck"
            ]
            # One condition that fails the second time protects all actions.
            return "" if "" in dangers else max(dangers, key=(OVER, TWICE).index, default="")
        case "ExecuteStatement" | "BatchExecuteStatement" | "ExecuteTransaction":
            members = [request, *request.get("Statements", ()), *request.get("TransactStatements", ())]
            texts = [_QUOTED.sub("", each["Statement"]).lstrip() for each in members if "Statement" in each]
            texts = [text.upper() for text in texts]
            changes = [text for text in texts if text.startswith(("UPDATE", "DELETE"))]
            if any(text.startswith("UPDATE") and _RELATIVE.search(text) for text in changes):
                return TWICE
            return OVER if changes else ""
    if "ConditionExpression" in request or "Expected" in request:
        return ""
    actions = request.get("AttributeUpdates", {}).values()
    if _RELATIVE.search(request.get("UpdateExpression", "")) or any(
        each.get("Action") == "ADD" for each in actions
    ):
        return TWICE
    return OVER


# --- Reading -------------------------------------------------------------------------------------


def read_faults(document: Mapping[str, Any], places: Sequence[str] = ()) -> Faults:
    """Returns the faults of a document. places: the line of each rule, for messages. Raises ValueError."""
    if unknown := document.keys() - {"seed", "faults"}:
        raise ValueError(f"there is no member {min(unknown)!r}; there are seed and faults")
    seed, rules = document.get("seed", 0), document.get("faults", [])
    if type(seed) is not int or not isinstance(rules, list):
        raise ValueError("seed is a whole number, and faults a list")
    found = []
    for number, rule in enumerate(rules):
        try:
            found.append(_rule_of(rule))
        except ValueError as mistake:
            place = places[number] if number < len(places) else f"fault {number + 1}"
            raise ValueError(f"{place}: {mistake}") from None
    return Faults(found, seed)


def read_fault_file(text: str) -> Faults:
    """Returns the faults of a file. Raises ValueError with the line of what cannot be used."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as mistake:
        raise ValueError(f"line {mistake.lineno}: not JSON: {mistake.msg}") from None
    if not isinstance(document, dict):
        raise ValueError("line 1: write an object with seed and faults")
    return read_faults(document, _lines_of_rules(text))


def _lines_of_rules(text: str) -> list[str]:
    """Returns the line of each element of `faults` in valid JSON."""
    begin = re.search(r'"faults"\s*:\s*\[', text)
    at, lines = begin.end() if begin else len(text), []
    decoder = json.JSONDecoder()
    while at < len(text) and text[at] != "]":
        if text[at].isspace() or text[at] == ",":
            at += 1
            continue
        lines.append(f"line {text.count(chr(10), 0, at) + 1}")
        _, at = decoder.raw_decode(text, at)
    return lines


def _rule_of(rule: Any) -> FaultRule:
    """Raises ValueError."""
    if not isinstance(rule, dict):
        raise ValueError("a fault is an object with fault and share")
    if unknown := rule.keys() - _MEMBERS:
        raise ValueError(f"there is no member {min(unknown)!r}; there are {', '.join(sorted(_MEMBERS))}")
    fault, share = rule.get("fault"), rule.get("share")
    made, ms = rule.get("made", False), rule.get("ms", 0)
    if fault not in FAULTS:
        raise ValueError(f"fault is one of {', '.join(FAULTS)}, not {fault!r}")
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
        raise ValueError(f"share is a number from 0 to 1, not {share!r}")
    if type(made) is not bool or (made and fault != "InternalServerError"):
        raise ValueError("made is true or false, and only of InternalServerError")
    if ("ms" in rule) != (fault == "Slow"):
        raise ValueError("ms is how slow a Slow answer is, and belongs to no other fault")
    if not isinstance(ms, int | float) or isinstance(ms, bool) or not 0 <= ms <= _SLOW_MS_MAX:
        raise ValueError(f"ms is a number of milliseconds up to {_SLOW_MS_MAX:,}, not {ms!r}")
    operations, tables = rule.get("operations", sorted(READS | WRITES)), rule.get("tables", [])
    for name, names in (("operations", operations), ("tables", tables)):
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise ValueError(f"{name} is a list of names")
    if unknown := set(operations) - OPERATIONS.keys():
        raise ValueError(f"there is no operation {min(unknown)!r}")
    if fault == "Throttle" and not set(operations) <= READS | WRITES:
        raise ValueError("Throttle is for operations that read or write items")
    return FaultRule(fault, share, made, frozenset(operations), frozenset(tables), ms)
