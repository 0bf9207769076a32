"""Settings, and the values they reject."""

from __future__ import annotations

from typing import Any

import pytest

from faradisc.database import Settings
from faradisc.server.setting import SettingsError
from faradisc.server.settings import SETTINGS, ServerSettings


def test_every_setting_has_an_option_a_variable_and_a_help_text() -> None:
    assert [each.name for each in SETTINGS][:3] == ["host", "port", "port_file"]
    data_dir = next(each for each in SETTINGS if each.name == "data_dir")
    assert (data_dir.option, data_dir.environment) == ("--data-dir", "FARADISC_DATA_DIR")
    for each in SETTINGS:
        assert isinstance(each.default, each.kind)
        assert each.help.endswith(".")


def test_defaults_equal_those_of_the_database() -> None:
    own, served = Settings(), ServerSettings()
    for name in ("region", "account", "per_region", "transition_ms"):
        assert getattr(own, name) == getattr(served, name)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"port": -1}, "port -1 is not between"),
        ({"port": 65_536}, "port 65536 is not between"),
        ({"account": "12345"}, "'12345' is not a number of 12 digits"),
        ({"account": "12345678901x"}, "12 digits"),
        ({"region": ""}, "'' is not a region's name"),
        ({"region": "US East"}, "is not a region's name"),
        ({"regions": "us-east-1,EU"}, "'EU' in --regions is not a region's name"),
        ({"regions": "eu-west-1"}, "us-east-1 is not one of them"),
        ({"peer": "eu-west-1=http://localhost:1"}, "--peer needs --regions"),
        ({"regions": "us-east-1", "peer": "us-east-1=http://localhost:1"}, "is a region of this server"),
        ({"regions": "us-east-1", "peer": "eu-west-1"}, "is not an http:// or https:// address"),
        ({"regions": "us-east-1", "peer": "eu-west-1=localhost:1"}, "peer's endpoint 'localhost:1' is not"),
        ({"regions": "us-east-1", "peer": "EU=http://localhost:1"}, "'EU' is not a region's name"),
        ({"regions": "us-east-1", "peer": "a=http://x b=http://y a=http://z"}, "names each region once"),
        ({"regions": "us-east-1", "peer": "a=http://x", "virtual_clock": True}, "excludes --virtual-clock"),
        ({"regions": "us-east-1", "peer": "a=http://x", "follow": "dir"}, "excludes --follow"),
        ({"replication_lag_ms": -1}, "between 0 and 86,400,000 ms"),
        ({"eventual_lag_ms": -1}, "between 0 and 86,400,000 ms"),
        ({"eventual_lag_tables": "Orders"}, "write TABLE=MILLISECONDS"),
        ({"size_interval_s": -1}, "cannot be negative"),
        ({"size_interval_s": float("inf")}, "a hundred years"),
        ({"transition_ms": -1}, "cannot be negative"),
        ({"data_dir": ""}, "has no name"),
        ({"ttl_delay_s": float("nan")}, "cannot be negative"),
        ({"ttl_delay_s": float("inf")}, "at most 3,155,760,000 seconds"),
        ({"shard_lifetime_s": float("nan")}, "more than 0 seconds"),
        ({"shard_lifetime_s": 1e300}, "a hundred years"),
        ({"restorable_lag_s": float("nan")}, "cannot be negative"),
        ({"describe_lag_ms": -1}, "cannot be negative"),
        ({"restorable_lag_s": float("inf")}, "a hundred years"),
        ({"time_scale": 0.0}, "more than 0"),
        ({"time_scale": float("nan")}, "more than 0"),
        ({"time_scale": float("inf")}, "at most 86,400"),
        ({"time_scale": 1e300}, "at most 86,400"),
        ({"throughput": "aws:99999999999999999999/1"}, "at most 1,000,000,000 units"),
        ({"throughput": "aws:1/1/99999999GB"}, "or 1,048,576 GB"),
    ],
)
def test_invalid_values_raise_settings_error(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        ServerSettings(**values)


def test_limits_are_inclusive() -> None:
    ServerSettings(port=0, account="123456789012", region="local", transition_ms=0)
    ServerSettings(port=65_535, memory=True, data_dir="")
