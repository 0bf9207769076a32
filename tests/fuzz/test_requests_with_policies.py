"""Hostile requests of a caller whose policies ask for every condition key.

What it proves: no request ends as a 500, and no key fails for another reason than an invalid request or a
value that cannot be known. The evaluation denies after any error, so a mistake in a key would be hidden.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faradisc.auth.identity import Identity
from faradisc.auth.policy.compiling import compile_policy
from faradisc.auth.policy.model import Decision, Policies, Principal, Request
from faradisc.auth.sigv4 import DYNAMODB, Credential, SignedRequest, lenient
from faradisc.errors import ValidationException
from faradisc.operations.call import Call
from faradisc.protocol.front import answer
from faradisc.protocol.http import HttpRequest
from faradisc.storage.immediate import run
from fixtures.access import ACCOUNT, document, statement
from fixtures.searching import seeds

from .campaign import requests_of
from .world import World, check

SEED = 7
SETS = (
    *("dynamodb:LeadingKeys", "dynamodb:FirstPartitionKeyValues", "dynamodb:SecondPartitionKeyValues"),
    *("dynamodb:Attributes", "aws:TagKeys"),
)
SINGLE = (
    *("dynamodb:Select", "dynamodb:ReturnValues", "dynamodb:ReturnConsumedCapacity"),
    *("dynamodb:EnclosingOperation", "dynamodb:FullTableScan", "aws:ResourceTag/a", "aws:RequestTag/a"),
    *("aws:SourceIp", "aws:CurrentTime", "aws:UserAgent", "aws:RequestedRegion"),
)
NEVER = [
    *(statement("*", "*", {"ForAnyValue:StringEquals": {key: "?"}}, effect="Deny") for key in SETS),
    *(statement("*", "*", {"StringEquals": {key: "?"}}, effect="Deny") for key in SINGLE),
]


def kinds_of(error: type[Exception]) -> set[str]:
    return {error.__name__}.union(*map(kinds_of, error.__subclasses__()))


class LimitedWorld(World):
    """Its requests are of a caller with all rights and many conditions."""

    def __init__(self) -> None:
        super().__init__()
        policy = compile_policy(document(statement("*"), *NEVER), "identity")
        principal = Principal(f"arn:aws:iam::{ACCOUNT}:user/alice", ACCOUNT, "user", "alice")
        self._identity = Identity(principal, Policies(identity=[policy]))
        self.decisions: list[Decision] = []
        self._process.database.authorizer.observer = self._observe

    def _observe(self, call: Call, request: Request, decision: Decision) -> None:
        self.decisions.append(decision)

    def _authenticate(self, request: SignedRequest, service: str = DYNAMODB, /) -> Credential:
        return replace(lenient(request, service), identity=self._identity)

    def send(self, request: HttpRequest) -> Any:
        answered = run(answer(self._process.database, request, self._authenticate))
        check(request, answered)
        run(self._process.database.work())
        return answered


@pytest.mark.parametrize("number", seeds(6, 3))
def test_every_key_of_hostile_requests_has_a_value_or_a_known_failure(
    number: int, bugs_surface: None
) -> None:
    world = LimitedWorld()
    for request in requests_of(SEED, number):
        world.let_time_pass(0.01)
        world.send(request)
    failures = [decision.error.partition("(")[0] for decision in world.decisions if decision.error]
    assert set(failures) <= kinds_of(ValidationException) | {"Undeterminable"}
    allowed = sum(decision.allowed for decision in world.decisions)
    assert allowed > 100, "too few requests get through for the test to mean anything"
    world.check()
    world.close()
