"""Addresses of HTTP servers.

What it proves: an unusable address is rejected with a message, even where the URL parser raises. Earlier five
places had their own rules, and `--url http://[` ended in a traceback.
"""

from __future__ import annotations

import pytest
from click import BadParameter
from click.testing import CliRunner

from faradisc.addresses import completed, http_address
from faradisc.cli.databases import address
from faradisc.cli.waiting import wait
from faradisc.errors import Unreachable
from faradisc.server.setting import SettingsError
from faradisc.server.settings import ServerSettings
from faradisc.tools.consumers.posting import Poster
from faradisc.tools.transfer.endpoints import Remote

UNUSABLE = [
    "",
    "http://",
    "http:///",
    "http://[",
    "http://a:x",
    "http://a:99999",
    "http://a:0",
    "ftp://a",
    "https:a",
]


@pytest.mark.parametrize("url", UNUSABLE)
def test_unusable_addresses_raise_value_error(url: str) -> None:
    says = f"{url!r} is not an http:// or https:// address"
    with pytest.raises(ValueError, match=r"^.* is not an http:// or https:// address$") as raised:
        http_address(url)
    assert str(raised.value) == says
    with pytest.raises(ValueError, match="is not an http:// or https:// address"):
        Poster(url, timeout_s=1)


@pytest.mark.parametrize("url", [url for url in UNUSABLE if "//" in url])
def test_commands_and_settings_report_unusable_addresses(url: str) -> None:
    with pytest.raises(BadParameter, match="is not an http:// or https:// address"):
        address(None, None, url)  # type: ignore[arg-type]
    with pytest.raises(Unreachable, match="is not an http:// or https:// address"):
        Remote(url, None)
    for setting in ("s3_endpoint", "kinesis_endpoint_url"):
        with pytest.raises(SettingsError, match=r"is not an http:// or https:// address\.$"):
            ServerSettings(**{setting: url})  # type: ignore[arg-type]
    waited = CliRunner().invoke(wait, ["--url", url, "--timeout", "0"])
    assert (waited.exit_code, "is not an http:// or https:// address" in waited.output) == (2, True)


@pytest.mark.parametrize("url", ["localhost:8000", "https://a", "http://[::1]:8000/path", "a"])
def test_addresses(url: str) -> None:
    whole = completed(url)
    assert http_address(whole).geturl() == whole
    assert address(None, None, url) == whole  # type: ignore[arg-type]
