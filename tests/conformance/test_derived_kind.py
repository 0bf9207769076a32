"""A derived kind that the project does not have: how many items begin with each letter.

What it proves: a kind is one class and one entry in the list of kinds. From that alone it is maintained by
every write, by imports and by bulk puts, filled on a table with items, right after a kill at any commit,
removed, verified and repaired by the check, shown by `faradisc inspect`, encrypted, and in backups; and, as
tests of this folder run on two nodes too, followed by servers over PostgreSQL. Nothing but this file knows of
it.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from faradisc.clock import ManualClock
from faradisc.database import Database
from faradisc.engine.check import Check
from faradisc.engine.check.repair import Repair
from faradisc.engine.derived.counters import Counted, Counters
from faradisc.engine.derived.features import Feature, FeatureKind, add_feature, remove_feature
from faradisc.engine.derived.kinds import KINDS
from faradisc.engine.jobs import walk
from faradisc.engine.tables.derived import LiveParts
from faradisc.engine.tables.layout import TableLayout
from faradisc.engine.tables.state import FeatureState, TableState
from faradisc.model.codec.keyspace import JOBS_PART, parts_of, slot_shift
from faradisc.model.values.attribute import Item
from faradisc.storage.api import Batch, Part
from faradisc.storage.memory import MemoryStore
from fixtures.clients import http_client
from fixtures.encrypted import Keys
from fixtures.exchanging import BUCKET, Exchanging, lines
from fixtures.in_process import InProcess
from fixtures.schemas import item, schema
from fixtures.served import Server
from fixtures.stepped import Stepped
from unit.tables.test_crashes_between_commits import copies_after_each_write

WORDS = ("ant", "asp", "auk", "bat", "bee", "cat", "cod", "cow", "crow", "doe")


class Letters(Feature, Counters):
    """A counter per slot and letter."""

    def parts(self) -> Sequence[Part]:
        return parts_of(self.resource, self.table.state.slots)

    def counted(self, item: Item, row_key: bytes) -> Iterable[Counted]:
        part = self.parts()[row_key[0] >> slot_shift(self.table.state.slots)]
        yield part, item["p"]["S"][:1].encode(), 1


class LettersKind(FeatureKind):
    name = "letters"

    def made(self, table: TableLayout, feature: FeatureState, live: LiveParts) -> Letters:
        return Letters(table, feature, "items by their first letter")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kind = LettersKind()
    KINDS.append(kind)
    monkeypatch.setattr(walk, "ROWS_PER_STEP", 3)
    yield
    KINDS.remove(kind)


@pytest.fixture
def in_a_directory() -> None:
    if InProcess.open_nodes is not None:
        pytest.skip("a data directory is not PostgreSQL")


@pytest.fixture
def process(bugs_surface: None, in_process_only: None, clock: ManualClock) -> Iterator[Stepped]:
    made = Stepped(clock=clock, transition_ms=0)
    made.call("CreateTable", TableName="table", **schema("p:S"))
    yield made
    made.finish()
    made.check()
    made.close()


def put(process: InProcess, *words: str, table: str = "table", **more: Any) -> None:
    for word in words:
        process.call("PutItem", TableName=table, Item=item(p=word, **more))


def letters_of(process: InProcess, table: str = "table") -> Letters:
    found = process.backend.tables.for_control(table, "us-east-1", "000000000000")
    return next(each for each in found.derived if isinstance(each, Letters))


def counted(process: InProcess, table: str = "table") -> Counter[str]:
    counts: Counter[str] = Counter()
    for part in letters_of(process, table).parts():
        for key, (_, payload) in process.run(process.store.range(part, None, None, limit=100)):
            counts[key.decode()] += int.from_bytes(payload, "big")
    return counts


def held(process: InProcess, table: str = "table") -> Counter[str]:
    items = process.call("Scan", TableName=table)["Items"]
    return Counter(each["p"]["S"][:1] for each in items)


def switch_on(process: InProcess, table: str = "table") -> None:
    catalog = process.backend.catalog
    found = catalog.tables.for_control(table, "us-east-1", "000000000000")
    process.run(add_feature(catalog, found, "letters"))


def filled(process: Stepped) -> Stepped:
    switch_on(process)
    process.finish()
    assert letters_of(process).is_filled
    return process


def test_every_write_maintains_it(process: Stepped, clock: ManualClock) -> None:
    filled(process)
    put(process, *WORDS)
    assert counted(process) == {"a": 3, "b": 2, "c": 4, "d": 1}
    process.call("DeleteItem", TableName="table", Key=item(p="ant"))
    process.call("UpdateItem", TableName="table", Key=item(p="eel"))
    process.call("UpdateItem", TableName="table", Key=item(p="eel"))
    with_batch = [
        {"PutRequest": {"Item": item(p="elk")}},
        {"PutRequest": {"Item": item(p="emu")}},
        {"DeleteRequest": {"Key": item(p="bat")}},
    ]
    process.call("BatchWriteItem", RequestItems={"table": with_batch})
    process.call(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": "table", "Item": item(p="fox")}},
            {"Put": {"TableName": "table", "Item": item(p="fly")}},
            {"Delete": {"TableName": "table", "Key": item(p="bee")}},
        ],
    )
    process.call("ExecuteStatement", Statement="INSERT INTO \"table\" VALUE {'p': 'gnu'}")
    process.call("ExecuteStatement", Statement="DELETE FROM \"table\" WHERE p = 'doe'")
    assert counted(process) == held(process) == {"a": 2, "c": 4, "e": 3, "f": 2, "g": 1}
    expiring = {"Enabled": True, "AttributeName": "exp"}
    process.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=expiring)
    put(process, "crow", "cat", exp=int(clock.now_ns() / 1e9) + 5)
    clock.advance(10)
    process.finish()
    assert counted(process) == held(process) == {"a": 2, "c": 2, "e": 3, "f": 2, "g": 1}


def test_it_is_filled_while_the_table_is_written(process: Stepped) -> None:
    put(process, *WORDS)
    switch_on(process)
    for step, word in enumerate(("ape", "boa", "cob", "dog", "ewe", "fox", "gnu")):
        put(process, word)
        process.call("DeleteItem", TableName="table", Key=item(p=WORDS[step]))
        process.step()
    process.finish()
    assert letters_of(process).is_filled
    assert counted(process) == held(process) == {"a": 1, "b": 1, "c": 3, "d": 2, "e": 1, "f": 1, "g": 1}
    assert process.run(process.store.range(JOBS_PART, None, None, limit=10)) == []


@pytest.mark.parametrize("steps", range(6))
def test_its_filling_goes_on_after_a_kill(tmp_path: Path, bugs_surface: None, steps: int) -> None:
    """The second process finds what the first one has committed."""
    process = Stepped(tmp_path / "data", transition_ms=0)
    process.call("CreateTable", TableName="table", **schema("p:S"))
    put(process, *WORDS)
    switch_on(process)
    for _ in range(steps):
        process.step()
    put(process, "ape", "eel")
    process.local.close()
    process = Stepped(tmp_path / "data", transition_ms=0)
    process.call("DeleteItem", TableName="table", Key=item(p="ant"))
    process.finish()
    assert letters_of(process).is_filled
    assert counted(process) == held(process) == {"a": 3, "b": 2, "c": 4, "d": 1, "e": 1}
    process.check()
    process.close()


def test_its_rows_go_with_it(process: Stepped) -> None:
    put(filled(process), *WORDS)
    parts = letters_of(process).parts()
    catalog = process.backend.catalog
    process.run(remove_feature(catalog, catalog.tables.for_data("table", "", ""), "letters"))
    assert all(not process.run(process.store.range(part, None, None, limit=1)) for part in parts)
    put(process, "ape")
    assert all(not process.run(process.store.range(part, None, None, limit=1)) for part in parts)
    filled(process)
    assert counted(process) == held(process)
    parts = letters_of(process).parts()
    process.call("DeleteTable", TableName="table")
    assert all(not process.run(process.store.range(part, None, None, limit=1)) for part in parts)


@pytest.mark.parametrize("payload", [None, (9).to_bytes(8, "big")])
def test_a_wrong_number_is_found_and_repaired(process: Stepped, payload: bytes | None) -> None:
    put(filled(process), *WORDS)
    part = next(part for part in letters_of(process).parts() if counts_in(process, part))
    key = next(iter(counts_in(process, part)))
    wrong = Batch(part, deletes=[key]) if payload is None else Batch(part, puts=[(key, payload)])
    process.run(process.store.commit([wrong]))
    report = process.run(Check(process.store, process.clock).finish())
    assert report.sentences() == [
        f"table table, items by their first letter: a counter is wrong: slot {part[4]}"
    ]
    process.run(Repair(process.store, process.clock).all(report.repairs))
    assert process.run(Check(process.store, process.clock).finish()).clean
    assert counted(process) == held(process)


def counts_in(process: Stepped, part: Part) -> list[bytes]:
    return [key for key, _ in process.run(process.store.range(part, None, None, limit=100))]


def test_inspect_shows_it(tmp_path: Path, bugs_surface: None, in_a_directory: None) -> None:
    from click.testing import CliRunner  # noqa: PLC0415 - of this test only

    from faradisc.cli.main import cli  # noqa: PLC0415 - of this test only

    process = Stepped(tmp_path / "data", transition_ms=0)
    process.call("CreateTable", TableName="table", **schema("p:S"))
    put(filled(process), *WORDS)
    process.close()
    directory = str(tmp_path / "data")
    overview = CliRunner().invoke(cli, ["inspect", directory])
    assert "table table, items by their first letter" in overview.output
    about = CliRunner().invoke(cli, ["inspect", directory, "--table", "table", "--key", '{"p": "cow"}'])
    assert "table table, items by their first letter" in about.output
    checked = CliRunner().invoke(cli, ["check", directory])
    assert (checked.exit_code, "items by their first letter" in checked.output) == (0, True), checked.output


def test_its_rows_are_encrypted(
    in_a_directory: None, open_encrypted: Callable[..., InProcess], keys: Keys, tmp_path: Path
) -> None:
    process = open_encrypted(transition_ms=0)
    encryption = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": keys.first}
    process.call("CreateTable", TableName="table", SSESpecification=encryption, **schema("p:S"))
    put(process, *WORDS)
    switch_on(process)
    while process.run(process.database.work()):
        pass
    assert counted(process) == held(process)
    parts = letters_of(process).parts()
    process = open_encrypted(transition_ms=0)
    inner = process.store._reads  # type: ignore[attr-defined]
    stored = [row for part in parts for row in process.run(inner.range(part, None, None, limit=100))]
    assert stored and all(len(payload) > 8 for _, (_, payload) in stored)
    process.check()


def test_a_restored_table_has_it(process: Stepped) -> None:
    put(filled(process), *WORDS)
    arn = process.call("CreateBackup", TableName="table", BackupName="all")["BackupDetails"]["BackupArn"]
    process.finish()
    put(process, "eel")
    process.call("RestoreTableFromBackup", TargetTableName="again", BackupArn=arn)
    process.finish()
    assert counted(process, "again") == held(process, "again") == {"a": 3, "b": 2, "c": 4, "d": 1}
    put(process, "eel", table="again")
    assert counted(process, "again")["e"] == 1


def test_an_import_maintains_it(tmp_path: Path, bugs_surface: None) -> None:
    process = Exchanging(tmp_path)
    process.object("in/a.json", lines([item(p=word) for word in (*WORDS, *WORDS[:4])]))
    process.begin_import("in/")
    catalog = process.backend.catalog

    def on(state: TableState) -> bool:
        state.features["letters"] = FeatureState(filled=True)
        return False

    process.run(catalog.update(catalog.tables.for_control("table", "", ""), on, while_in_use=True))
    process.finish()
    assert counted(process) == held(process) == {"a": 3, "b": 2, "c": 4, "d": 1}
    process.check()
    process.close()


def bulk_put(process: Exchanging, *words: str) -> None:
    process.object("bulk/a.json", lines([item(p=word) for word in words]))
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "bulk/", "InputFormat": "DYNAMODB_JSON"}
    output = {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["ERROR"]}
    process.call(
        "StartBulkPutItems", TableName="table", InputS3Configuration=source, OutputS3Configuration=output
    )
    process.finish()


def test_a_bulk_put_maintains_it(tmp_path: Path, bugs_surface: None) -> None:
    process = Exchanging(tmp_path)
    process.create()
    filled(process)
    put(process, "ant", "eel")
    bulk_put(process, *WORDS, *WORDS[:4])
    assert counted(process) == held(process) == {"a": 3, "b": 2, "c": 4, "d": 1, "e": 1}
    process.check()
    process.close()


def test_a_kill_after_any_commit_leaves_it_right(
    tmp_path: Path, bugs_surface: None, in_a_directory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is filled and the table is written, by requests and by a bulk put, and while it is removed."""
    process = Exchanging(tmp_path)
    process.create()
    put(process, *WORDS)

    def act(stepped: Stepped) -> None:
        switch_on(stepped)
        for new, old in (("ape", "bat"), ("boa", "cod"), ("cob", "asp")):
            put(stepped, new)
            stepped.call("DeleteItem", TableName="table", Key=item(p=old))
            stepped.step()
        bulk_put(process, "elk", "emu", "ant")
        catalog = stepped.backend.catalog
        stepped.run(remove_feature(catalog, catalog.tables.for_data("table", "", ""), "letters"))

    with monkeypatch.context() as patched:
        copies = copies_after_each_write(process, act, patched)
    counts_of = counted_in(process.clock)
    found = [process.run(counts_of(store, f"write {number}")) for number, store in enumerate(copies)]
    assert len(copies) > 15 and None in found, "the last copies are without it"
    assert {"a": 3, "b": 2, "c": 4, "d": 1, "e": 2} in found, found
    process.check()
    process.close()


def counted_in(clock: Any) -> Callable[[MemoryStore, str], Any]:
    """Returns what opens a copy of a disk, as a start after a kill does, and returns the counts."""

    async def opened(store: MemoryStore, when: str) -> Counter[str] | None:
        database = await Database.open(store, clock=clock)
        while await database.work():
            pass
        report = await Check(store, clock).finish()
        assert report.sentences() == [], when
        (table,) = database.backend.tables.all()
        counts: Counter[str] | None = None
        for each in table.derived:
            if isinstance(each, Letters):
                assert each.is_filled, when
                counts = Counter()
                for part in each.parts():
                    for key, (_, payload) in await store.range(part, None, None, limit=100):
                        counts[key.decode()] += int.from_bytes(payload, "big")
        await database.close()
        return counts

    return opened


def serve() -> None:
    """Runs `faradisc` with the kind."""
    from faradisc.cli.main import main  # noqa: PLC0415 - of the server only

    KINDS.append(LettersKind())
    sys.argv[0] = "faradisc"
    main()


SERVER = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    "from conformance.test_derived_kind import serve; serve()"
)


@pytest.mark.slow
def test_a_killed_server_leaves_it_right(tmp_path: Path, bugs_surface: None, in_a_directory: None) -> None:
    """A real server, killed while it fills and is written."""
    directory = tmp_path / "data"
    process = Stepped(directory, transition_ms=0)
    process.call("CreateTable", TableName="table", **schema("p:S"))
    put(process, *(f"{letter}{number}" for letter in "abcdef" for number in range(50)))
    switch_on(process)
    process.close()
    for kills in range(3):
        with Server("--data-dir", str(directory), program=("-c", SERVER)) as server:
            client, written = http_client(server.url), threading.Semaphore(0)

            def write(client: Any = client, written: threading.Semaphore = written) -> None:
                with suppress(BotoCoreError, ClientError):
                    for number in itertools.count():
                        client.put_item(TableName="table", Item=item(p=f"g{number % 90}"))
                        client.delete_item(TableName="table", Key=item(p=f"a{number % 50}"))
                        written.release()

            writer = threading.Thread(target=write)
            writer.start()
            for _ in range(10 + 20 * kills):
                written.acquire()
            server.kill()
            writer.join()
    process = Stepped(directory, transition_ms=0)
    process.finish()
    assert letters_of(process).is_filled
    assert counted(process) == held(process)
    process.check()
    process.close()


def test_a_program_without_the_kind_does_not_open_the_table(tmp_path: Path, bugs_surface: None) -> None:
    """It would not maintain it."""
    process = Stepped(tmp_path / "data", transition_ms=0)
    process.call("CreateTable", TableName="table", **schema("p:S"))
    filled(process)
    process.close()
    kind = KINDS.pop()
    with pytest.raises(ValueError, match="has a feature that this program does not know: letters"):
        Stepped(tmp_path / "data", transition_ms=0)
    KINDS.append(kind)
