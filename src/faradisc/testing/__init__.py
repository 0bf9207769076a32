"""For tests of programs: the pytest plugin, assertions about requests, and a class for Testcontainers."""

from faradisc.testing.assertions import Units, assert_no_scans, assert_units

__all__ = ["Units", "assert_no_scans", "assert_units"]
