"""`faradisc console`: which endpoint it shows."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("nicegui")


@pytest.mark.parametrize(
    ("arguments", "variable", "shown"),
    [
        ([], None, "http://127.0.0.1:8000"),
        ([], "localhost:9000", "http://localhost:9000"),
        (["--url", "localhost:7000"], "localhost:9000", "http://localhost:7000"),
        (["--endpoint-url", "http://h:1"], None, "http://h:1"),  # as the AWS CLI names it
        (["--url", "aws"], None, None),
    ],
)
def test_the_console_shows_amazon_only_when_told(
    arguments: list[str], variable: str | None, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faradisc.cli import console  # noqa: PLC0415 - needs its extra

    served: list[Any] = []

    def serve(endpoint: str | None, region: str, listener: Any) -> None:
        listener.close()
        served.append(endpoint)

    monkeypatch.setattr(console, "serve", serve)
    environment = {"FARADISC_URL": variable}
    result = CliRunner().invoke(console.console, [*arguments, "--port", "0"], env=environment)
    assert result.exit_code == 0, result.output
    assert served == [shown]
    assert f"Console of {shown or 'Amazon DynamoDB'} on http://127.0.0.1:" in result.output
