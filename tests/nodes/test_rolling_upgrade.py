"""A server of the next release beside one of this release: a copy of the sources that knows more."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import faradisc
from faradisc.engine.cluster.nodes import FEATURES
from fixtures.clients import http_client
from fixtures.schemas import item, schema
from fixtures.served import Server

CHANGES = {
    "__init__.py": [(f'__version__ = "{faradisc.__version__}"', '__version__ = "9.9.9"')],
    "engine/cluster/nodes.py": [
        (f"\nFEATURES = {FEATURES}\n", f"\nFEATURES = {FEATURES + 1}\n"),
        # A field of a node's row, which this release does not know.
        ("    alone: bool = False\n", '    alone: bool = False\n    colour: str = "red"\n'),
    ],
    # A setting that all servers of the next release have in common.
    "database.py": [('"buckets": locations', '"palette": 3, "buckets": locations')],
    # A message of a new kind, which begins when all servers know it; each use is counted in a file.
    "engine/cluster/cluster.py": [
        (
            "        await self.nodes.step()\n",
            "        await self.nodes.step()\n"
            f"        if self.nodes.features > {FEATURES}:\n"
            '            self.broadcast.send("colour", self.nodes.id)\n'
            '            open("PLACE", "w").close()\n',
        )
    ],
}


def _next_release(directory: Path) -> tuple[str, str]:
    """Copies and changes the sources. Returns the arguments of the interpreter that run them."""
    package = directory / "faradisc"
    shutil.copytree(Path(faradisc.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in CHANGES.items():
        text = (package / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new.replace("PLACE", str(directory / "used")))
        (package / name).write_text(text)
    code = f"import sys; sys.path.insert(0, {str(directory)!r}); from faradisc.cli.main import main; main()"
    return ("-c", code)


@pytest.mark.slow
def test_what_only_the_next_release_can_do_begins_when_the_last_old_server_is_gone(
    postgres_dsn: str, tmp_path: Path
) -> None:
    program = _next_release(tmp_path)
    options = ("--store", postgres_dsn, "--data-dir", str(tmp_path), "--transition-ms", "0")
    used = tmp_path / "used"
    with Server(*options) as old, Server(*options, program=program) as new:
        before, after = http_client(old.url), http_client(new.url)
        before.create_table(TableName="things", **schema("p:S", gsi={"all": ("g:S", "n:N", "ALL")}))
        written = [item(p=str(number), g="x", n=number) for number in range(200)]
        for number, each in enumerate(written):
            (after if number % 2 else before).put_item(TableName="things", Item=each)
        for client in (before, after):
            found = client.query(
                TableName="things",
                IndexName="all",
                KeyConditionExpression="g = :g",
                ExpressionAttributeValues={":g": {"S": "x"}},
            )
            assert found["Items"] == written
        after.create_table(TableName="later", **schema("p:S"))
        before.put_item(TableName="later", Item=item(p="by the old one"))
        # One more old server starts beside the new one, whose row it reads.
        with Server(*options) as another:
            assert another.stop() == 0
        assert not used.exists()
        assert old.stop() == 0
        while not used.exists():
            time.sleep(0.05)
        assert after.get_item(TableName="later", Key=item(p="by the old one"))["Item"]
        # The upgrade can be taken back: an old server joins again.
        with Server(*options) as back:
            assert http_client(back.url).scan(TableName="things", Select="COUNT")["Count"] == 200
            assert back.stop() == 0
        assert new.stop() == 0
