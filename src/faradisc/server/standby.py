"""A warm standby: a server that follows the copy of another one, answers reads, and takes over.

It answers eventually consistent reads of what it has applied. When the copy's lease has lapsed, the primary
hands over, or an operator says that it has stopped, it applies the rest, takes the lease and opens for
writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from faradisc.auth.sealed_file import SealedFileError
from faradisc.clock import Clock
from faradisc.database import Database, Settings
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.following import Follower
from faradisc.engine.copying.format import CopyError
from faradisc.engine.copying.place import CopyPlace, unreachable
from faradisc.engine.copying.points import forget, known_point
from faradisc.engine.copying.restoring import RESTORING_FILE, restore
from faradisc.engine.objects.api import BucketError
from faradisc.errors import ValidationException
from faradisc.operations.backend import Backend
from faradisc.operations.call import Call
from faradisc.server.copy_keys import adopt_keys, keys_for
from faradisc.server.copying import ask_to_hand_over, is_server, new_copier, place_of
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
    """Follows a copy until it has taken it over, or the server stops."""

    def __init__(self, settings: ServerSettings, copier: Copier | None, follower: Follower) -> None:
        """copier: writes the copy once it is taken over; None: the copy is another server's."""
        self.copier = copier
        self.is_primary = self._is_handed_over = False
        self._taken: Copier | None = None
        self._settings = settings
        self._follower = follower
        self._confirmed = False
        """What an operator has said: that the primary has stopped."""
        self._answered: asyncio.Future[str] | None = None
        """Of an operator who waits for the takeover: why it cannot be."""
        self._fault = self._lease_fault = self._key_fault = ""

    @property
    def store(self) -> FollowingStore:
        return self._follower.store

    @property
    def place(self) -> CopyPlace:
        return self._follower.place

    @property
    def problem(self) -> str:
        return self._fault or self._lease_fault or self._key_fault

    def document(self) -> dict[str, float | str]:
        follower = self._follower
        return {
            "role": "standby",
            "place": self.place.shown,
            "late_s": follower.late_s,
            "number": follower.point.number,
            "time_ns": follower.time_ns,
            "fault": self.problem,
        }

    async def promote(self, confirmed: bool) -> dict[str, float | str]:
        """Takes over from a primary that hands over or whose lease ends, or that an operator says has
        stopped."""
        if self._answered is None:
            self._confirmed = confirmed
            self._answered = asyncio.get_running_loop().create_future()
        return {"role": "standby", "fault": await self._answered}

    async def hand_over(self, is_done: bool) -> dict[str, float | str]:
        return {**self.document(), "fault": "it is a standby"}

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
        looked_s = -LEASE_POLL_S
        while not stop.is_set():
            try:
                fetched = await asyncio.to_thread(self._follower.fetch)
                self._fault = ""
            except (BucketError, OSError) as error:
                fetched, self._fault = [], f"{self.place.shown} cannot be read: {error}."
            if fetched:
                if self._follower.apply(fetched):
                    await self._adopt_keys()
                    await publish()
                continue
            now_s = self._follower.monotonic()
            if self._answered is not None or now_s >= looked_s + LEASE_POLL_S:
                looked_s = now_s
                if await self._may_take_over() and await self._take_over(hide, publish):
                    return True
            try:
                await asyncio.wait_for(stop.wait(), POLL_S)
            except TimeoutError:
                continue
        self._follower.remember()
        if self.copier is not None:
            with contextlib.suppress(BucketError, CopyError):
                await asyncio.to_thread(self.copier.leave)
        return False

    async def _adopt_keys(self) -> None:
        """Takes the keys that the primary has made or rotated since."""
        directory, self._key_fault = self._follower.directory, ""
        try:
            adopt_keys(
                directory, await asyncio.to_thread(keys_for, self.place, directory, self._settings.keys)
            )
        except (CopyError, BucketError, SealedFileError, OSError) as error:
            self._key_fault = str(error)

    def taken(self) -> Copier | None:
        """Returns the copier with the lease, once: it belongs to the database that is opened with it."""
        taken, self._taken = self._taken, None
        return taken

    async def _may_take_over(self) -> bool:
        """Returns whether the copy is to be taken over now; answers an operator if it cannot be."""
        asked = self._answered is not None
        if self.copier is None:
            return asked and await self._may_replace_server()
        try:
            left_s = await asyncio.to_thread(
                partial(self.copier.left_s, confirmed=self._confirmed, patient=not asked, wanted=asked)
            )
            self._lease_fault = ""
        except (BucketError, CopyError) as error:
            self._lease_fault = f"This standby cannot take over: {error}"
            self._answer(self._lease_fault)
            return False
        if left_s == float("inf"):
            self._answer(
                "The primary's lease does not end by itself, and it does not hand over: stop it, and say so "
                "with --old-has-stopped."
            )
        return left_s == 0 and (asked or self._settings.copy_takeover)

    async def _may_replace_server(self) -> bool:
        """Returns whether the server that is followed has handed over or gone; answers an operator if not."""
        if self._fault and not self._confirmed:
            self._answer(f"{self.place.shown} does not answer: stop it, and say so with --old-has-stopped.")
        elif not self._fault:
            try:
                newest = await asyncio.to_thread(ask_to_hand_over, self._settings.follow)
                while self._follower.point.number < newest:
                    self._follower.apply(await asyncio.to_thread(self._follower.fetch))
                await self._adopt_keys()
                self._is_handed_over = True
            except (BucketError, CopyError, SettingsError) as error:
                self._answer(str(error))
        return self._answered is not None

    def _answer(self, fault: str) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(fault)
        self._answered, self._confirmed = None, False

    async def _take_over(self, hide: Callable[[], None], publish: Callable[[], Awaitable[None]]) -> bool:
        hide()
        self._follower.remember()
        left_s = 0.0
        try:
            if self.copier is not None:
                patient = self._answered is None
                begin = partial(self.copier.begin, confirmed=self._confirmed, patient=patient)
                left_s = await asyncio.to_thread(begin)
                await self._adopt_keys()
            else:
                forget(self._follower.directory)
        except (BucketError, CopyError) as error:
            self._lease_fault = f"It could not take over: {error}"
            self._answer(self._lease_fault)
            left_s = LEASE_POLL_S
        if left_s:  # a renewal came first, perhaps
            await publish()
            return False
        self.is_primary, self._taken = True, self.copier
        await self.store.close()
        if self._is_handed_over:
            with contextlib.suppress(BucketError, CopyError, SettingsError):  # it has stopped meanwhile
                await asyncio.to_thread(partial(ask_to_hand_over, self._settings.follow, is_done=True))
        _log.warning("this server has taken over: it is the primary now")
        self._answer("")
        return True


async def open_standby(
    settings: ServerSettings, clock: Clock, address: str, progress: Callable[[str], None]
) -> Standby:
    """Restores the copy into an empty data directory, and opens it. address: for people.

    Raises SettingsError, StorageError.
    """
    place = place_of(settings.follow, settings.s3_endpoint)
    directory = settings.where.directory
    try:
        keys = await asyncio.to_thread(keys_for, place, directory, settings.keys)
        if known_point(directory) is None or (directory / RESTORING_FILE).exists():
            progress(f"restoring {place.shown} into {directory}")
            await asyncio.to_thread(restore, place, directory)
        adopt_keys(directory, keys)
        store = await asyncio.to_thread(open_following, directory)
        follower = Follower(place, directory, store, clock)
        copier = None
        if not is_server(settings.follow):
            copier = new_copier(settings, place, store, clock, address, apply=follower.apply_group)
        return Standby(settings, copier, follower)
    except (CopyError, SealedFileError) as error:
        raise SettingsError(str(error)) from error
    except BucketError as error:
        raise SettingsError(str(unreachable(place, error))) from error
