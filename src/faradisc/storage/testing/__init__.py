"""For tests of engines: the suite that every engine passes.

    contract.py     the base class, what an engine declares, and the `scenario` decorator
    reads.py, commits.py, logs.py, lifetime.py     the promises of storage/api.py, one test each
    sharing.py      those of engines that several processes may use
    suite.py        StoreSuite and SharedStoreSuite: subclass one, say how to open your engine

Needs pytest to run. Have pytest rewrite the asserts of these modules, in a conftest.py:
`pytest.register_assert_rewrite("faradisc.storage.testing")`.
"""
