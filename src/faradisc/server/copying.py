"""Connects a server with the continuous copy of its store (engine/copying): settings, thread, status."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from faradisc.clock import Clock, SystemEntropy
from faradisc.engine.copying.copier import Copier
from faradisc.engine.copying.format import CopyError, CopyGroup
from faradisc.engine.copying.place import TIMEOUT_S, CopyPlace, open_place, unreachable
from faradisc.engine.objects.api import BucketDenied, BucketError, BucketFailed, NoSuchBucket
from faradisc.operations.call import Call
from faradisc.server.copy_keys import StoredKeys
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.storage.rocks import RocksStore

if TYPE_CHECKING:
    from faradisc.tools.transfer.endpoints import Remote

LEASE_POLL_S = 0.5
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_log = logging.getLogger(__name__)


class ExecuteCall(Protocol):
    def __call__(self, call: Call) -> Coroutine[Any, Any, dict[str, Any]]: ...


def seconds_of(text: str) -> float:
    """Returns the seconds of a duration such as 7d, 12h, 90m or 30s. Raises SettingsError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)", text.strip())
    if match is None or not float(match[1]):
        raise SettingsError(f"{text!r} is no duration, such as 7d, 12h, 90m or 30s.")
    return float(match[1]) * _UNITS[match[2] or "s"]


def is_server(address: str) -> bool:
    """Returns whether a standby follows a server's address, and not the place of its copy."""
    return address.startswith(("http://", "https://"))


def place_of(address: str, endpoint: str) -> CopyPlace:
    """Raises SettingsError."""
    if is_server(address):
        return _place_of_server(address)
    if address.startswith("s3://") and find_spec("boto3") is None:
        raise SettingsError(f"{address} needs a library: pip install 'faradisc[exchange]'.")
    try:
        return open_place(address, endpoint)
    except CopyError as error:
        raise SettingsError(str(error)) from error


def _place_of_server(address: str) -> CopyPlace:
    from faradisc.engine.objects.served import ServedStorage  # noqa: PLC0415 - few servers follow one

    remote = _remote(address)
    return CopyPlace(ServedStorage(partial(_page, remote, "GET"), remote.close), "", "", address.rstrip("/"))


def _remote(address: str) -> Remote:
    """Raises SettingsError."""
    from faradisc.errors import Unreachable  # noqa: PLC0415 - few servers follow one
    from faradisc.tools.transfer.endpoints import Remote  # noqa: PLC0415

    try:
        return Remote(address, None, local=True, timeout_s=TIMEOUT_S)
    except Unreachable as error:
        raise SettingsError(str(error)) from error


def _page(remote: Remote, method: str, page: str, body: bytes = b"{}") -> tuple[int, bytes]:
    """Raises BucketFailed."""
    from faradisc.errors import Unreachable  # noqa: PLC0415 - few servers follow one

    try:
        return remote.page(method, f"/_faradisc/{page}", body)
    except Unreachable as error:
        raise BucketFailed(str(error)) from error


def ask_to_hand_over(address: str, *, is_done: bool = False) -> int:
    """Returns the newest group of a server that hands over. is_done: it can stop. Raises CopyError,
    BucketFailed, SettingsError."""
    remote = _remote(address)
    try:
        status, body = _page(remote, "POST", "copy", orjson.dumps({"hand_over": True, "done": is_done}))
    finally:
        remote.close()
    answer = orjson.loads(body)
    fault = answer.get("fault") if status == HTTPStatus.OK else answer.get("error", f"it answers {status}")
    if fault:
        raise CopyError(f"{address} does not hand over: {fault}")
    return int(answer["number"])


def new_copier(
    settings: ServerSettings,
    place: CopyPlace,
    store: RocksStore,
    clock: Clock,
    server: str = "",
    *,
    apply: Callable[[CopyGroup, bytes], object] | None = None,
) -> Copier:
    """server: its address, for people. apply: of a store that follows the copy and takes it over."""
    directory = Path(settings.data_dir).absolute()
    return Copier(
        place,
        directory,
        store,
        clock,
        SystemEntropy(),
        server=server,
        lag_s=settings.copy_lag,
        lease_s=settings.copy_lease,
        keep_s=seconds_of(settings.copy_keep),
        sync=settings.copy_sync,
        apply=apply,
        keys=StoredKeys(directory),
    )


class Copying:
    """The copy of an open store, and the threads that write it."""

    def __init__(self, copier: Copier, on_lost: Callable[[str], None]) -> None:
        """on_lost: called in a thread, with the reason, when this server may not answer any more."""
        self._copier = copier
        self._on_lost = on_lost
        targets = [self._run, *([copier.run_lease] if copier.tenure.lease_s else [])]
        self._threads = [threading.Thread(target=each, name="faradisc-copy", daemon=True) for each in targets]

    async def begin(self) -> None:
        """Takes the copy's lease, for which it waits, and starts the threads. Raises SettingsError."""
        copier, said = self._copier, False
        try:
            while not copier.is_begun and (left_s := await asyncio.to_thread(copier.begin)):
                if not said:
                    _log.warning("another server had the lease of the copy: waiting up to %.0f s", left_s)
                said = True
                await asyncio.sleep(min(left_s, LEASE_POLL_S))
        except CopyError as error:
            raise SettingsError(str(error)) from error
        except BucketError as error:
            if said or copier.needs_bucket() or isinstance(error, NoSuchBucket | BucketDenied):
                raise SettingsError(str(unreachable(copier.place, error))) from error
            _log.warning("the copy begins later: %s", error)
        for each in self._threads:
            each.start()

    def _run(self) -> None:
        copier = self._copier
        copier.run()
        if not copier.is_stopping:
            self._on_lost(copier.tenure.lost)

    def answers(self, execute: ExecuteCall) -> ExecuteCall:
        """Returns what executes operations, and sends no answer while this server does not hold the lease: a
        write waits for it in the sync, and a read could be of the past."""
        holds, require_lease = self._copier.tenure.holds, self._copier.require_lease

        async def executed(call: Call) -> dict[str, Any]:
            answer = await execute(call)
            if not holds():
                require_lease()
            return answer

        return executed if self._copier.tenure.lease_s else execute

    async def stop(self) -> None:
        """Ends the threads, before the store is closed."""
        self._copier.stop()
        for each in self._threads:
            if each.is_alive():
                await asyncio.to_thread(each.join)
        self._copier.release()

    async def finish(self) -> None:
        """Copies the rest after the store was closed."""
        try:
            await asyncio.to_thread(self._copier.finish)
        except (CopyError, BucketError, OSError) as error:
            _log.warning("the end of the log is copied after the next start: %s", error)
        self._copier.place.close()

    @property
    def place(self) -> CopyPlace:
        return self._copier.place

    @property
    def problem(self) -> str:
        """What is wrong with the copy, in a sentence; "" if nothing is."""
        return self._copier.status().fault

    def document(self) -> dict[str, float | str]:
        return {"role": "primary", **asdict(self._copier.status())}

    async def promote(self, confirmed: bool) -> dict[str, float | str]:
        return self.document()

    async def hand_over(self, is_done: bool) -> dict[str, float | str]:
        """Hands over to a standby of this address: answers nothing more; once that is done, it stops."""
        try:
            if is_done:
                self._copier.lose_to_another()
            else:
                await asyncio.to_thread(self._copier.hand_over)
        except (CopyError, BucketError, OSError) as error:
            return {**self.document(), "fault": str(error)}
        return {**self.document(), "fault": ""}
