"""The sealers of a database, by owner and by resource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from faradisc.clock import Clock, Entropy, SystemClock, SystemEntropy
from faradisc.engine.sealing.sealer import KeyDenied, Sealer
from faradisc.engine.sealing.state import SealState

NO_KEYS = (
    "The table is encrypted with a key of its own, and no keys are given: --keys or --kms-endpoint of the "
    "server, FARADISC_KEYS or FARADISC_KMS_ENDPOINT of a command."
)
_NEW_KEYS_MAX = 100


class Sealers:
    def __init__(self, clock: Clock | None = None, entropy: Entropy | None = None) -> None:
        self.clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self.by_resource: dict[bytes, Sealer] = {}
        """By the resource number that begins the names of its parts."""
        self._owners: dict[str, Sealer] = {}
        self._new_keys: dict[str, bytes] = {}
        """Data keys that have just been made, by wrapped key, until their owner takes them."""
        self.unwrap: Callable[[Sealer], Awaitable[None]] = self._deny
        """Unwraps the keys of a sealer, or denies them."""
        self.on_first: Callable[[], None] = lambda: None
        """Called with the first sealer."""

    async def _deny(self, sealer: Sealer) -> None:
        sealer.deny(NO_KEYS, self.clock.now_ns())

    def all(self) -> list[Sealer]:
        return list(self._owners.values())

    def of_table(self, table_id: str) -> Sealer:
        """Returns the sealer of a table that has one."""
        return self._owners[table_id]

    def is_empty(self) -> bool:
        return not self._owners

    def know(self, wrapped: str, key: bytes) -> None:
        """Notes a new data key, which its owner's next state has."""
        self._new_keys[wrapped] = key
        while len(self._new_keys) > _NEW_KEYS_MAX:  # of requests that were refused after all
            del self._new_keys[next(iter(self._new_keys))]

    def attach(
        self, owner: str, state: SealState, resources: Iterable[int], name: tuple[str, str] | None = None
    ) -> Sealer:
        """Returns the sealer of an owner in its present state, and uses it for these resources."""
        if not self._owners:
            self.on_first()
        sealer = self._owners.get(owner)
        if sealer is None:
            sealer = self._owners[owner] = Sealer(name, state, self._entropy)
        new = {each: self._new_keys.pop(each) for each in state.keys if each in self._new_keys}
        if new:
            sealer.unwrapped(new, self.clock.now_ns())
        sealer.become(state)
        for resource in resources:
            self.by_resource[resource.to_bytes(4, "big")] = sealer
        return sealer

    def forget(self, owner: str) -> None:
        """Removes an owner, with the resources that no other owner has taken."""
        sealer = self._owners.pop(owner, None)
        if sealer is not None:
            for resource in [each for each, of in self.by_resource.items() if of is sealer]:
                del self.by_resource[resource]

    async def ready(self, sealer: Sealer) -> None:
        """Waits until the keys of a sealer are unwrapped. Raises KeyDenied."""
        if sealer.is_ready:
            return
        if sealer.denied is None:
            await self.unwrap(sealer)
        if sealer.denied is not None:
            raise KeyDenied(sealer.denied)
