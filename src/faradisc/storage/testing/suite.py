"""StoreSuite: tests of the contract of storage/api.py. contract.py describes how to run it.

A shared engine runs SharedStoreSuite, which has the tests of epochs and of two stores over one place too.
"""

from __future__ import annotations

from faradisc.storage.testing.commits import CommitContract
from faradisc.storage.testing.contract import Capabilities
from faradisc.storage.testing.lifetime import LifetimeContract
from faradisc.storage.testing.logs import LogContract
from faradisc.storage.testing.reads import ReadContract
from faradisc.storage.testing.sharing import SharingContract

__all__ = ["Capabilities", "SharedStoreSuite", "StoreSuite"]


class StoreSuite(ReadContract, CommitContract, LogContract, LifetimeContract):
    """Subclass it in a test module as `Test...`."""


class SharedStoreSuite(StoreSuite, SharingContract):
    """Subclass it in a test module as `Test...`."""
