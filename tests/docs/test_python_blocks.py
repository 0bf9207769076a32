"""The Python code of every page runs: the blocks of a page one after the other, as one program.

Clients of boto3 end in a database in this process, so no page needs a server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faradisc import local

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {
    str(path.relative_to(ROOT)): "\n".join(blocks)
    for pattern in ("*.md", "docs/**/*.md", "examples/*/README.md")
    for path in sorted(ROOT.glob(pattern))
    if (blocks := BLOCK.findall(path.read_text()))
}
ELSEWHERE = {"docs/guide/tenants.md": "examples/tenants/shared_table.py"}
"""Pages that show a part of a program, which has a test of its own."""
CHANGED = {
    # A consumer runs for ever; the test reads what there is.
    "docs/guide/consumers.md": [
        (".run()", ".drain()"),
        ("    ...\n", "    make_table(clients['dynamodb'])\n"),
    ]
}


def _make_table(client: Any, name: str, *keys: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": key, "KeyType": kind}
            for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )


TABLES: dict[str, Callable[[Any], None]] = {
    "docs/tutorial.md": lambda client: _make_table(client, "Orders", "customer", "order"),
    "docs/guide/backups.md": lambda client: _make_table(client, "music", "artist"),
    "docs/guide/consumers.md": lambda client: _make_table(client, "orders", "id"),
}
"""What the text before the code has made."""


@pytest.mark.parametrize("page", sorted(PAGES.keys() - ELSEWHERE.keys()))
def test_code_of_the_page_runs(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = PAGES[page]
    for old, new in CHANGED.get(page, ()):
        assert old in code
        code = code.replace(old, new)
    monkeypatch.chdir(tmp_path)
    with local.patch() as database:
        if page in TABLES:
            TABLES[page](database.client())
        names = {"make_table": TABLES.get(page)}
        exec(compile(code, page, "exec"), names)


@pytest.mark.parametrize("page", sorted(ELSEWHERE))
def test_code_that_runs_elsewhere_stands_there(page: str) -> None:
    program = " ".join((ROOT / ELSEWHERE[page]).read_text().split())
    for line in PAGES[page].splitlines():
        if re.match(r"\s+\w+=", line):
            name = line.split("=")[0].strip()
            assert f"{name}=" in program
