"""`faradisc check` and `inspect` on a PostgreSQL, beside its servers and without them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner, Result

from faradisc.cli.main import cli
from faradisc.engine.check.inventory import take_inventory
from faradisc.engine.inspection.problems import Report
from faradisc.storage.api import Batch, Conflict
from faradisc.storage.postgres.store import open_postgres
from fixtures.clients import http_client
from fixtures.schemas import item, schema
from fixtures.served import Server

ORPHAN = b"\x00\x00\x00\x63\x00"


def run(*arguments: object, code: int = 0, **environment: str) -> Result:
    result = CliRunner(env=environment).invoke(cli, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


async def _damage(dsn: str) -> None:
    """Removes an index entry and adds an orphan."""
    store = await open_postgres(dsn, size=1)
    inventory = await take_inventory(store, Report())
    index = inventory.tables[0].global_indexes[0].placement
    entries = [(part, await store.range(part, None, None, limit=1)) for part in index.parts]
    part, ((key, _),) = next(each for each in entries if each[1])
    committed = await store.commit([Batch(ORPHAN, puts=[(b"k", b"v")]), Batch(part, deletes=[key])])
    assert not isinstance(committed, Conflict)
    await store.close()


def test_check_repair_and_inspect_read_the_store_and_its_backups(postgres_dsn: str, tmp_path: Path) -> None:
    store = ("--store", postgres_dsn)
    with Server(*store, "--data-dir", str(tmp_path), "--transition-ms", "0") as server:
        client = http_client(server.url)
        client.create_table(TableName="things", **schema("p:S", gsi={"all": ("g:S", "n:N", "ALL")}))
        for number in range(20):
            client.put_item(TableName="things", Item=item(p=str(number), g="x", n=number))
        arn = client.create_backup(TableName="things", BackupName="saved")["BackupDetails"]["BackupArn"]
        while client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] != (
            "AVAILABLE"
        ):
            pass
        beside = json.loads(run("check", tmp_path, *store, "--json").output)
        assert beside["clean"]
        counts = {(each["kind"], each["where"]): each["rows"] for each in beside["looked_at"]}
        assert counts["table", "table things"] == 20
        assert counts["index", "table things, index all"] == 20
        assert counts["backups", "backups"] == 1
        rejected = run("check", *store, "--repair", code=2)
        assert rejected.stderr.endswith("serves this store; stop all servers before a repair.\n")
        assert server.stop() == 0

    overview = run("inspect", FARADISC_STORE=postgres_dsn).output
    assert "items of table things" in overview
    assert "the lease of the job backups" in overview
    assert "nothing that the catalog knows" not in overview
    found = run("inspect", *store, "--table", "things", "--key", '{"p": "7"}').output
    assert found.count('{"g":{"S":"x"},"n":{"N":"7"},"p":{"S":"7"}}') == 2, "the item and its entry"

    asyncio.run(_damage(postgres_dsn))
    assert "PROBLEM orphans" in run("check", *store, code=1).output
    assert "repaired: 2 done" in run("check", *store, "--repair").output
    assert "no problems" in run("check", *store).output
    (manifest,) = tmp_path.glob("backups/*/manifest.json")
    manifest.unlink()
    assert "PROBLEM backups" in run("check", tmp_path, *store, code=1).output


def test_what_is_no_store_is_a_sentence_and_nothing_is_created(postgres_dsn: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for command in ("check", "inspect"):
        for store, text in (
            (f"postgres:{missing}", "holds no PostgreSQL."),
            (postgres_dsn, "holds no tables of Faradisc in its schema test_"),
            ("mysql://h/d", "--store is postgresql://user@host/database, several of them, a file"),
            ("postgresql://u:SECRET@127.0.0.1:1/d", "PostgreSQL does not answer"),
        ):
            # A directory of the environment is one of backups.
            rejected = run(command, "--store", store, code=2, FARADISC_DATA_DIR=str(tmp_path))
            assert text in rejected.stderr
            assert rejected.stderr.count("\n") == 1
            assert "SECRET" not in rejected.stderr
        local = run(command, tmp_path / "here", code=2, FARADISC_STORE=postgres_dsn)
        assert "here" in local.stderr, "a directory on the command line overrides the environment"
    assert "is for a data directory" in run("check", "--store", postgres_dsn, "--recover", code=2).stderr
    assert run("nodes", "--store", postgres_dsn, code=1).stderr.count("holds no tables") == 1
    assert not missing.exists()
