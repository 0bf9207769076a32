"""For tests: the pytest plugin and assertions about requests; a failing store and a seeded event loop."""

from faradisc.testing.assertions import Units, assert_no_scans, assert_units

__all__ = ["Units", "assert_no_scans", "assert_units"]
