"""`serve --seed DIR`: creates the tables and items of a directory before the server is ready."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

from faradisc.database import Database
from faradisc.protocol.front import answer
from faradisc.server.setting import SettingsError
from faradisc.tools.seeding import SeedingOutcome, apply, read_seed
from faradisc.tools.seeding.calling import SeedingCaller, errors_in

_log = logging.getLogger("faradisc.tools.seeding")

PAUSE_S = 0.02


async def seed(database: Database, directory: str) -> SeedingOutcome:
    """Logs what was skipped. Raises SettingsError, which names the errors by file and line."""
    found = await asyncio.to_thread(read_seed, Path(directory))
    caller = SeedingCaller(partial(answer, database), database.region)
    outcome = await apply(found, caller.call, lambda: asyncio.sleep(PAUSE_S))
    for note in outcome.notes:
        _log.warning("%s/%s", directory, note)
    if outcome.errors:
        raise SettingsError(f"The seed cannot be used:{errors_in(directory, outcome)}")
    return outcome
