"""Unexpected errors in a step of an export, an import or a bulk put.

What it proves: after a single error the next step continues at the last commit, and no record is skipped or
counted twice; a persistent error fails the task with its text and leaves no table and no draft; the errors of
ended tasks are dropped; errors of the store do not fail a task."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from faradisc.engine.exchange import bulk_putting, exporting, importing, intake
from faradisc.engine.formats import manifests
from faradisc.engine.jobs import runner
from faradisc.storage.api import IOFailed
from fixtures.exchanging import BUCKET, Exchanging, lines, some_items
from fixtures.schemas import item, schema

ITEMS = some_items(300)
FUNCTIONS: dict[str, list[tuple[Any, str]]] = {
    "import": [(importing, "load_rows"), (importing, "pages_of"), (manifests.Manifests, "fetch")],
    "export": [
        (exporting, "page_at"),
        (exporting.DataFileWriter, "finish"),
        (exporting.ExportRun, "write_manifests"),
    ],
    "bulk": [(bulk_putting, "commit_outcomes"), (bulk_putting, "change_of"), (manifests.Manifests, "fetch")],
}
"""Functions that may raise the error."""
Function = tuple[str, Any, str]
EVERY_FUNCTION: list[Function] = [(kind, *place) for kind, places in FUNCTIONS.items() for place in places]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "STEP_RECORDS", 40)
    monkeypatch.setattr("faradisc.engine.backups.history.PAGE_ROWS", 20)
    monkeypatch.setattr(exporting, "PAGES_PER_STEP", 1)


@contextmanager
def failing(owner: Any, name: str, error: Exception, calls: Callable[[int], bool]) -> Iterator[None]:
    """Makes those calls of a function raise for whose number, from 1, `calls` returns True."""
    before, count = getattr(owner, name), 0

    def broken(*args: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        if calls(count):
            raise error
        return before(*args, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, broken)
        yield
    assert count, "the function was never called"


class StartedTask:
    """A started task of one kind, and the check of its result."""

    def __init__(self, exchanging: Exchanging, kind: str) -> None:
        self.kind = kind
        self.process = exchanging
        if kind == "export":
            table = exchanging.create()
            exchanging.put(*ITEMS)
            begun = exchanging.call("ExportTableToPointInTime", TableArn=table, S3Bucket=BUCKET)
            self.arn = begun["ExportDescription"]["ExportArn"]
            return
        exchanging.object("in/a", b"{}\n" + lines(ITEMS[:170]))
        exchanging.object("in/b", lines(ITEMS[170:]))
        if kind == "import":
            self.arn = exchanging.begin_import("in/")
            return
        exchanging.call("CreateTable", TableName="table", **schema("p:S"))
        source = {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"}
        output = {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["ERROR"]}
        begun = exchanging.call(
            "StartBulkPutItems",
            TableName="table",
            InputS3Configuration=source,
            OutputS3Configuration=output,
        )
        self.arn = begun["BulkOperationDescription"]["BulkOperationArn"]

    def shown(self) -> dict[str, Any]:
        if self.kind == "export":
            return self.process.export_of(self.arn)
        if self.kind == "import":
            return self.process.import_of(self.arn)
        described = self.process.call("DescribeBulkOperation", BulkOperationArn=self.arn)
        shown: dict[str, Any] = described["BulkOperationDescription"]
        return shown

    def status(self) -> str:
        (status,) = (value for name, value in self.shown().items() if name.endswith("Status"))
        return str(status)

    def check_complete(self) -> None:
        shown = self.shown()
        if self.kind == "export":
            assert (self.status(), shown["ItemCount"]) == ("COMPLETED", 300)
            data = [key for key in self.process.objects() if key.endswith(".json.gz")]
            found = [orjson.loads(line)["Item"] for key in data for line in self._lines(key)]
        elif self.kind == "import":
            assert (shown["FailureCode"], shown["ProcessedItemCount"]) == ("ItemValidationError", 301)
            assert (shown["ImportedItemCount"], shown["ErrorCount"]) == (300, 1)
            assert len(self.process.errors_of(shown)) == 1
            found = self.process.items()
        else:
            assert (self.status(), shown["ProcessedItemCount"]) == ("COMPLETED_WITH_ERRORS", 301)
            assert (shown["FailedItemCount"], len(self.reported())) == (1, 1)
            found = self.process.items()
        assert sorted(found, key=lambda each: each["p"]["S"]) == ITEMS

    def _lines(self, key: str) -> list[bytes]:
        return self.process.content(key).splitlines()

    def reported(self) -> list[bytes]:
        """The errors in the output of a bulk put."""
        return self._lines(f"out/{self.arn.rpartition('/')[2]}/errors.jsonl")


def tasks_with_errors(exchanging: Exchanging) -> int:
    """Returns the number of tasks with errors that are in memory."""
    exchanging.step()
    return sum(len(each.failed) for each in exchanging.backend.exchange.attempts.values())


@pytest.mark.parametrize("place", EVERY_FUNCTION)
@pytest.mark.parametrize("call", [1, 2, 4])
def test_single_error_changes_no_result(
    exchanging: Exchanging, place: Function, call: int, caplog: pytest.LogCaptureFixture
) -> None:
    kind, owner, name = place
    task = StartedTask(exchanging, kind)
    with failing(owner, name, RuntimeError("a bug"), lambda number: number == call):
        exchanging.finish()
    task.check_complete()
    logged = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(logged) <= 1 and all(each.exc_info for each in logged)
    assert exchanging.step() is False and tasks_with_errors(exchanging) == 0


@pytest.mark.parametrize(
    ("kind", "owner", "name"), [("import", importing, "load_rows"), ("bulk", bulk_putting, "commit_outcomes")]
)
def test_error_after_a_commit_repeats_nothing(
    exchanging: Exchanging, monkeypatch: pytest.MonkeyPatch, kind: str, owner: Any, name: str
) -> None:
    task = StartedTask(exchanging, kind)
    before, errors = getattr(owner, name), iter([RuntimeError("a bug")])

    async def late(*args: Any, **named: Any) -> Any:
        done = await before(*args, **named)
        for error in errors:
            raise error
        return done

    monkeypatch.setattr(owner, name, late)
    exchanging.finish()
    task.check_complete()


@pytest.mark.parametrize("place", EVERY_FUNCTION)
@pytest.mark.parametrize("good", [0, 3])
def test_persistent_error_fails_the_task(
    exchanging: Exchanging, place: Function, good: int, caplog: pytest.LogCaptureFixture
) -> None:
    kind, owner, name = place
    task = StartedTask(exchanging, kind)
    with failing(owner, name, RuntimeError("a bug"), lambda number: number > good):
        exchanging.finish()
    if (
        task.status() != "FAILED" or task.shown()["FailureCode"] == "ItemValidationError"
    ):  # the task ended with fewer calls
        task.check_complete()
        return
    shown = task.shown()
    assert shown["FailureCode"] == "InternalServerError"
    assert shown["FailureMessage"] == "An internal error ended it: RuntimeError: a bug"
    assert "EndTime" in shown
    tracebacks = [each for each in caplog.records if each.exc_info]
    assert len(tracebacks) == runner.TRIES
    assert all(task.arn in each.getMessage() for each in tracebacks)
    assert not list((exchanging.root / BUCKET).rglob(".draft-*"))
    exchanging.clock.advance(1)
    assert tasks_with_errors(exchanging) == 0
    tables = exchanging.call("ListTables")["TableNames"]
    assert tables == ([] if kind == "import" else ["table"])
    if kind == "bulk":
        assert len(exchanging.items()) + shown["FailedItemCount"] == shown["ProcessedItemCount"]
        assert "errors.jsonl" not in exchanging.objects() or len(task.reported()) == shown["FailedItemCount"]
    else:
        exchanging.call("CreateTable", TableName="other", **schema("p:S"))
    assert not exchanging.step()


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_next_task_runs_after_a_failed_one(exchanging: Exchanging, kind: str) -> None:
    first = StartedTask(exchanging, kind)
    owner, name = FUNCTIONS[kind][0]
    with failing(owner, name, ValueError("a bug"), lambda _: True):
        exchanging.finish()
    assert first.status() == "FAILED"
    exchanging.clock.advance(1)
    if kind != "import":
        exchanging.call("DeleteTable", TableName="table")
        exchanging.clock.advance(1)
    second = StartedTask(exchanging, kind)
    exchanging.finish()
    if kind == "export":
        assert second.status() == "COMPLETED"
    else:
        second.check_complete()


@pytest.mark.parametrize(
    ("kind", "name"), [("import", "load_rows"), ("export", "page_at"), ("bulk", "read_images")]
)
@pytest.mark.parametrize("times", [1, 7])
def test_errors_of_the_store_do_not_fail_the_task(
    exchanging: Exchanging, kind: str, name: str, times: int
) -> None:
    """The step is retried until the store works again, for example after an unreadable block."""
    task = StartedTask(exchanging, kind)
    exchanging.step()
    exchanging.step()
    owner = {"import": importing, "export": exporting, "bulk": bulk_putting}[kind]
    refused = 0
    with failing(owner, name, IOFailed("a block cannot be read"), lambda number: number <= times):
        while refused < times:
            try:
                assert exchanging.step()
            except IOFailed:
                refused += 1
    exchanging.finish()
    task.check_complete()


def test_undelivered_outputs_stay_in_the_logged_directory(
    exchanging: Exchanging, caplog: pytest.LogCaptureFixture
) -> None:
    task = StartedTask(exchanging, "bulk")
    with failing(bulk_putting.Outputs, "deliver", RuntimeError("a bug"), lambda _: True):
        exchanging.finish()
    assert task.status() == "FAILED"
    (place,) = (exchanging.root / ".logs/bulk-put").iterdir()
    assert len((place / "errors").read_bytes().splitlines()) == 1
    assert f"stay in {place}" in caplog.text
    assert exchanging.call("GetItem", TableName="table", Key=item(p="000000"))["Item"] == ITEMS[0]


def test_a_failed_export_deletes_the_draft_of_a_killed_process(tmp_path: Path) -> None:
    killed = Exchanging(tmp_path / "killed/s3", path=tmp_path / "killed/data")
    task = StartedTask(killed, "export")
    killed.step()
    killed.step()
    shutil.copytree(tmp_path / "killed", tmp_path / "next")  # the disk as a kill would leave it
    killed.close()
    process = Exchanging(tmp_path / "next/s3", path=tmp_path / "next/data")
    (draft,) = (process.root / BUCKET).glob(".draft-*")
    process.call("DeleteTable", TableName="table")
    process.finish()
    assert process.export_of(task.arn)["FailureCode"] == "TableNotFound"
    assert not draft.exists()
    process.close()
