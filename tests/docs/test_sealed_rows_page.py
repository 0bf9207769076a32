"""The example of docs/formats/sealed-rows.md opens."""

from __future__ import annotations

import re
from pathlib import Path

from faradisc.clock import SeededEntropy
from faradisc.engine.sealing.sealer import Sealer
from faradisc.engine.sealing.state import SealState

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_sealed_example_opens() -> None:
    page = (DOCS / "formats" / "sealed-rows.md").read_text()
    (example,) = re.findall(r"^    (fa 00 00 [0-9a-f ]+)$", page, re.MULTILINE)
    sealer = Sealer(None, SealState("arn", {}, ["wrapped"]), SeededEntropy(1))
    sealer.unwrapped({"wrapped": bytes(range(32))}, 0)
    location = bytes.fromhex("0000000702") + b"k"
    assert sealer.open(bytes.fromhex(example), location) == b"\1\2\3"
