"""A warm standby: a server that follows the copy of another one, answers reads, and takes over.

It answers eventually consistent reads of what it has applied. When the copy's lease has lapsed, or an
operator says that the primary has stopped, it applies the rest, takes the lease and opens for writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from faradisc.clock import Clock
from faradisc.database import Database, Settings
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.following import Follower
from faradisc.engine.copying.format import CopyError
from faradisc.engine.copying.lease import LapseWatch, lease_of
from faradisc.engine.copying.place import CopyPlace, unreachable
from faradisc.engine.copying.points import known_point
from faradisc.engine.copying.restoring import RESTORING_FILE, restore
from faradisc.engine.objects.api import BucketError
from faradisc.errors import ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.server.copying import new_copier, place_of
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.storage.rocks_following import FollowingStore, open_following

if TYPE_CHECKING:
    from faradisc.storage.postgres.routed import RoutedStore

POLL_S = 0.25
LEASE_POLL_S = 1.0
READS = frozenset(
    {
        *("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable", "ListTables", "DescribeTimeToLive"),
        *("DescribeContinuousBackups", "ListTagsOfResource", "DescribeEndpoints", "DescribeLimits"),
    }
)
_log = logging.getLogger(__name__)


class StandbyDatabase(Database):
    """Answers eventually consistent reads, and nothing else."""

    def __init__(self, backend: Backend, settings: Settings, places: RoutedStore | None = None) -> None:
        super().__init__(backend, settings, places)
        self.execute = self._read

    async def _read(self, call: Call) -> dict[str, Any]:
        strong = call.request.get("ConsistentRead") or any(
            each.get("ConsistentRead") for each in call.request.get("RequestItems", {}).values() if each
        )
        if call.operation not in READS or strong:
            raise ValidationException(
                "This server is a standby: it answers eventually consistent reads, and all other requests "
                "belong to the primary."
            )
        return await self.backend.execute(call)

    async def work(self) -> bool:
        return False


class Standby:
    """Follows a copy until it is promoted, or the server stops."""

    def __init__(self, settings: ServerSettings, clock: Clock, place: CopyPlace, follower: Follower) -> None:
        self.copier: Copier | None = None
        """Of the copy that was taken over."""
        self._settings = settings
        self._clock = clock
        self._place = place
        self._follower = follower
        self._watch = LapseWatch(follower.monotonic)
        self._confirmed: bool | None = None
        """What an operator has asked for: whether the primary is known to have stopped."""
        self._answered: asyncio.Future[str] | None = None
        self._fault = ""

    @property
    def store(self) -> FollowingStore:
        return self._follower.store

    @property
    def problem(self) -> str:
        return self._fault

    def document(self) -> dict[str, float | str]:
        follower = self._follower
        return {
            "role": "standby",
            "place": self._place.shown,
            "late_s": follower.late_s,
            "number": follower.point.number,
            "time_ns": follower.time_ns,
            "fault": self._fault,
        }

    async def promote(self, confirmed: bool) -> dict[str, float | str]:
        """Takes over, when the lease has ended or an operator confirms that the primary has stopped."""
        if self._answered is None:
            self._confirmed = confirmed
            self._answered = asyncio.get_running_loop().create_future()
        return {"role": "standby", "fault": await self._answered}

    async def stop(self) -> None:
        """Nothing: `until` has ended."""

    async def finish(self) -> None:
        """Nothing: the copy is the primary's."""

    async def until(
        self,
        stop: asyncio.Event,
        publish: Callable[[], Awaitable[None]],
        hide: Callable[[], None],
    ) -> bool:
        """Follows until `stop` is set, or it has taken over: then it returns True, and its store is closed.

        publish: opens the database again and serves it. hide: serves none. Raises StorageError, CopyError.
        """
        leased_s = 0.0
        while not stop.is_set():
            try:
                fetched = await asyncio.to_thread(self._follower.fetch)
                self._fault = ""
            except (BucketError, OSError) as error:
                fetched, self._fault = [], f"{self._place.shown} cannot be read: {error}."
            if fetched:
                if self._follower.apply(fetched):
                    await publish()
                continue
            now_s = self._follower.monotonic()
            due = self._settings.copy_lease and now_s >= leased_s + LEASE_POLL_S and not self._fault
            if self._answered is not None or due:
                leased_s = now_s
                if await self._is_free() and await self._take_over(hide, publish):
                    return True
            try:
                await asyncio.wait_for(stop.wait(), POLL_S)
            except TimeoutError:
                continue
        self._follower.remember()
        return False

    async def _is_free(self) -> bool:
        """Returns whether the copy may be taken over now; answers an operator if not."""
        try:
            found = await asyncio.to_thread(lease_of, self._place)
        except (BucketError, CopyError) as error:
            self._answer(str(error))
            return False
        if found is None:
            self._answer(f"There is no copy at {self._place.shown} any more.")
            return False
        left_s = self._watch.left_s(*found)
        if left_s == 0 or self._confirmed:
            return True
        if left_s == float("inf"):
            self._answer(
                "The primary has no lease that ends (--copy-lease): stop it, and say so with "
                "--old-has-stopped."
            )
        return False

    def _answer(self, fault: str) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(fault)
        self._answered = self._confirmed = None

    async def _take_over(self, hide: Callable[[], None], publish: Callable[[], Awaitable[None]]) -> bool:
        hide()
        self._follower.remember()
        copier = new_copier(
            self._settings, self._place, self.store, self._clock, apply=self._follower.apply_group
        )
        try:
            left_s = await asyncio.to_thread(copier.begin, confirmed=True)
        except (BucketError, CopyError) as error:
            self._fault = f"It could not take over: {error}"
            self._answer(self._fault)
            await publish()
            return False
        assert not left_s
        self.copier = copier
        await self.store.close()
        _log.warning("this server has taken over: it is the primary now")
        self._answer("")
        return True


async def open_standby(settings: ServerSettings, clock: Clock, progress: Callable[[str], None]) -> Standby:
    """Restores the copy into an empty data directory, and opens it. Raises SettingsError, StorageError."""
    place = place_of(settings.follow, settings.s3_endpoint)
    directory = settings.where.directory
    try:
        if known_point(directory) is None or (directory / RESTORING_FILE).exists():
            progress(f"restoring {place.shown} into {directory}")
            await asyncio.to_thread(restore, place, directory)
        store = await asyncio.to_thread(open_following, directory)
        return Standby(settings, clock, place, Follower(place, directory, store, clock))
    except CopyError as error:
        raise SettingsError(str(error)) from error
    except BucketError as error:
        raise SettingsError(str(unreachable(place, error))) from error
