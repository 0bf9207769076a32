"""Rewrites the asserts of the shipped suite, so that a failure shows both sides."""

import pytest

pytest.register_assert_rewrite("faradisc.storage.testing")
