"""`python -m bench.side_by_side DIRECTORY STATE ...`: one process serves a copy of Faradisc for each state.

Separate processes differ by more than the measured effect, and so does one process at two times. So the
whole package is imported again for each state, with its classes, functions and caches; compiled libraries,
the event loop and the interpreter are shared. No copy changes while it runs, and the interpreter specialises
each for its state.

States are those of bench/throttling.py or bench/access.py; the directory `-` means memory. When all copies
serve, a line of JSON on stdout has their ports, in the order of the states. The process ends at the end of
stdin.
"""

import asyncio
import gc
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from bench.requests import KEY_ID

ENFORCED = "aws:1000000/1000000"
"""Partitions that are never exhausted, because admission is measured and not rejection."""
STATES = {
    "bare": ("bare", "off"),
    "counting": ("counting", "off"),
    "off": ("whole", "off"),
    "enforced": ("whole", ENFORCED),
}
"""For each state its code (bench/bare.py) and its throughput profile."""
RIGHTS: dict[str, dict[str, Any] | None] = {
    "lenient": None,
    "account": None,
    "policy": {},
    "leading keys": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "part#*"}},
}
"""For each state that tests signatures and rights, or not, the condition of the caller's policy; None: no
policy. `account` verifies signatures by a key with all rights."""
ACTIONS = ("CreateTable", "BatchWriteItem", "GetItem", "PutItem")
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Copy:
    """A database behind a port. Its types are those of its copy."""

    port: int
    database: Any
    working: asyncio.Task[None]
    listener: Any


def _forget_modules() -> None:
    for name in list(sys.modules):
        if name == "bench.bare" or name.partition(".")[0] == "faradisc":
            del sys.modules[name]


async def _serve_copy(state: str, directory: Path | None, stop: asyncio.Event) -> Copy:
    """Starts a copy in a state. Its modules are imported until the next copy starts."""
    _forget_modules()
    bare: Any = importlib.import_module("bench.bare")
    lifecycle: Any = importlib.import_module("faradisc.server.lifecycle")
    background: Any = importlib.import_module("faradisc.server.background")
    code, throughput = STATES.get(state, ("whole", "off"))
    settings = lifecycle.ServerSettings(
        memory=directory is None, data_dir=str(directory), throughput=throughput
    )
    clock = lifecycle.SystemClock()
    database = await lifecycle.open_database(settings, clock)
    bare.become(code)
    site = lifecycle.Site() if state in ("lenient", *STATES) else lifecycle.Site(_strict(state, clock))
    site.executor = database
    listener = lifecycle.Listener(site.handle, clock)
    sockets = lifecycle.bind(HOST, lifecycle.resolve(HOST), 0)
    await listener.start(sockets)
    working = asyncio.create_task(background.keep_working(database.work, stop))
    return Copy(sockets[0].getsockname()[1], database, working, listener)


def _strict(state: str, clock: Any) -> Any:
    """Returns an authenticator for the key of bench/requests.py, with the rights of a state."""
    identity: Any = importlib.import_module("faradisc.auth.identity")
    keys: Any = importlib.import_module("faradisc.auth.keys")
    model: Any = importlib.import_module("faradisc.auth.policy.model")
    compiling: Any = importlib.import_module("faradisc.auth.policy.compiling")
    strict: Any = importlib.import_module("faradisc.auth.strict")
    caller, condition = None, RIGHTS[state]
    if condition is not None:
        account = "000000000000"
        statement = {
            "Effect": "Allow",
            "Action": [f"dynamodb:{action}" for action in ACTIONS],
            "Resource": [f"arn:aws:dynamodb:*:{account}:table/{name}" for name in ("Other", "bench*")],
            "Condition": condition,
        }
        policies = [
            compiling.compile_policy({"Version": "2012-10-17", "Statement": each}, "identity")
            for each in ({**statement, "Action": "dynamodb:DeleteTable", "Effect": "Deny"}, statement)
        ]
        principal = model.Principal(f"arn:aws:iam::{account}:user/bench", account, "user", "bench")
        caller = identity.Identity(principal, model.Policies(identity=policies))
    key = keys.AccessKey(KEY_ID, KEY_ID, identity=caller)
    return strict.StrictAuthenticator(keys.FixedKeyring([key]), clock)


async def _serve(directory: Path | None, states: Sequence[str]) -> None:
    stop = asyncio.Event()
    copies = [
        await _serve_copy(state, None if directory is None else directory / f"{place}-{state}", stop)
        for place, state in enumerate(states)
    ]
    lifecycle: Any = sys.modules["faradisc.server.lifecycle"]
    sys.setswitchinterval(lifecycle.SWITCH_INTERVAL_S)
    gc.collect()
    lifecycle.tune_garbage_collection()
    print(json.dumps([copy.port for copy in copies]), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    stop.set()
    for copy in copies:
        copy.listener.cut()
        await copy.working
        await copy.database.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(None if sys.argv[1] == "-" else Path(sys.argv[1]), sys.argv[2:]))
