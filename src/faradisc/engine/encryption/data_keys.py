"""Makes, wraps and unwraps data keys through a key service."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, TypeVar

from faradisc.clock import Entropy
from faradisc.engine.encryption.key_service import (
    INVALID_KEYS,
    KeyRefused,
    KeyService,
    KeyServiceUnreachable,
    denial_text,
)
from faradisc.engine.sealing.sealer import KeyDenied, Sealer
from faradisc.engine.sealing.sealers import Sealers
from faradisc.engine.sealing.state import SealState
from faradisc.errors import ValidationException

log = logging.getLogger("faradisc.engine.encryption")

T = TypeVar("T")

CACHED_NS = 300 * 1_000_000_000
"""Longest time that an unwrapped data key is in memory without its master key. Source: iam.md section 9.2."""


class DataKeys:
    def __init__(self, sealers: Sealers, entropy: Entropy, service: KeyService) -> None:
        """Unwraps the keys of these sealers from now on."""
        self.service = service
        self._sealers = sealers
        self._entropy = entropy
        sealers.unwrap = self.unwrap

    async def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls the key service, in a thread where an event loop has to go on.

        Raises KeyRefused, KeyServiceUnreachable.
        """
        if self.service.blocking:
            return await asyncio.to_thread(function, *arguments)
        return function(*arguments)

    async def new(self, name: str, region: str, context: dict[str, str]) -> tuple[str, str]:
        """Returns the ARN of a master key, and a new data key wrapped by it.

        Raises KeyDenied, ValidationException.
        """
        try:
            arn = await self._call(self.service.resolve, name, region)
            key, wrapped = await self._call(self.service.generate, arn, context)
        except (KeyRefused, KeyServiceUnreachable) as error:
            kind = INVALID_KEYS.get(error.code) if isinstance(error, KeyRefused) else None
            if isinstance(error, KeyRefused) and kind is not None:
                raise ValidationException(denial_text(error, self._entropy.uuid(), kind)) from error
            raise self.denial(error) from error
        text = b64encode(wrapped).decode()
        self._sealers.know(text, key)
        return arn, text

    async def wrapped_again(self, state: SealState, arn: str) -> list[str | None]:
        """Returns all data keys wrapped by another master key, or by a newer version of the same.

        Raises KeyRefused, KeyServiceUnreachable.
        """
        again: list[str | None] = []
        for wrapped in state.keys:
            text = None
            if wrapped is not None:
                key = await self._call(self.service.unwrap, state.key_arn, b64decode(wrapped), state.context)
                text = b64encode(await self._call(self.service.wrap, arn, key, state.context)).decode()
                self._sealers.know(text, key)
            again.append(text)
        return again

    async def unwrap(self, sealer: Sealer) -> None:
        """Unwraps the data keys of a sealer, or denies them. Never raises."""
        state, now_ns = sealer.state, self._sealers.clock.now_ns
        keys: dict[str, bytes] = {}
        try:
            for wrapped in state.keys:
                if wrapped is not None:
                    keys[wrapped] = await self._call(
                        self.service.unwrap, state.key_arn, b64decode(wrapped), state.context
                    )
        except KeyRefused as error:
            sealer.deny(str(self.denial(error)), now_ns())
        except KeyServiceUnreachable as error:
            if not sealer.is_ready or now_ns() - sealer.tried_ns >= CACHED_NS:
                sealer.deny(str(self.denial(error)), now_ns())
            log.warning("data keys under %s cannot be unwrapped: %s", state.key_arn, error)
        else:
            sealer.unwrapped(keys, now_ns())

    def denial(self, error: KeyRefused | KeyServiceUnreachable) -> KeyDenied:
        if isinstance(error, KeyRefused):
            return KeyDenied(denial_text(error, self._entropy.uuid()))
        return KeyDenied(f"KMS key access denied error: the key service does not answer: {error}")

    def is_outdated(self, state: SealState) -> bool:
        """Whether the master key was rotated since the data keys were wrapped."""
        wrapped = [b64decode(each) for each in state.keys if each is not None]
        return any(self.service.is_outdated(state.key_arn, each) for each in wrapped)
