"""The pytest plugin, in runs of pytest whose warnings are errors and whose markers must be known."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import faradisc.testing.dump
import faradisc.testing.served
from fixtures.schemas import schema

TABLE = json.dumps({"TableName": "things", **schema("pk:S")})
TESTS = '''
import json, time
import boto3, pytest
SCHEMA = json.loads("""TABLE""")

def put(client, *names):
    for name in names:
        client.put_item(TableName="things", Item={"pk": {"S": name}})

def count():
    return boto3.Session(profile_name="missing").client("dynamodb").scan(TableName="things")["Count"]
'''.replace("TABLE", TABLE)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error\n")
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str, **outcomes: int) -> str:
    """Runs tests that use `TESTS`, and returns the output."""
    project.makepyfile(TESTS + tests)
    result = project.runpytest_inprocess(*options)
    result.assert_outcomes(**outcomes)
    return str(result.stdout)


def test_the_plugin_is_an_entry_point() -> None:
    (found,) = (each for each in entry_points(group="pytest11") if each.name == "faradisc")
    assert found.value == "faradisc.testing.pytest_plugin"


def test_loading_the_plugin_imports_nothing_else_of_the_package() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import faradisc.testing.pytest_plugin; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = ("", ".testing", ".testing.assertions", ".testing.pytest_plugin")
    assert done.stdout.strip() == str([f"faradisc{name}" for name in names])


def test_each_test_has_its_own_database_and_the_application_uses_it(project: pytest.Pytester) -> None:
    run(
        project,
        """
@pytest.mark.parametrize("number", [1, 2])
def test_it(dynamodb, dynamodb_resource, faradisc_database, number):
    dynamodb.create_table(**SCHEMA)
    put(faradisc_database.client(), *map(str, range(number)))
    assert count() == number
    assert dynamodb_resource.Table("things").item_count == number
""",
        passed=2,
    )


def test_clock_of_the_database(project: pytest.Pytester) -> None:
    run(
        project,
        """
def test_it(faradisc_clock, dynamodb):
    dynamodb.create_table(**SCHEMA)
    dynamodb.update_time_to_live(
        TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    until = str(int(time.time()) + 60)
    dynamodb.put_item(TableName="things", Item={"pk": {"S": "a"}, "until": {"N": until}})
    assert count() == 1
    faradisc_clock.advance(120)
    assert count() == 0
""",
        passed=1,
    )


def test_markers_of_module_and_function(project: pytest.Pytester) -> None:
    run(
        project,
        """
from botocore.config import Config
from botocore.exceptions import ClientError
pytestmark = pytest.mark.faradisc(conflict_rate=1.0, per_region=True)
ONCE = Config(retries={"total_max_attempts": 1})

def rejection(call):
    with pytest.raises(ClientError) as error:
        call()
    return error.value.response["Error"]["Code"]

def test_conflicts(dynamodb):
    dynamodb.create_table(**SCHEMA)
    assert rejection(lambda: put(dynamodb, "a")) == "TransactionConflictException"
    assert boto3.client("dynamodb", "eu-west-1").list_tables()["TableNames"] == []

@pytest.mark.faradisc(conflict_rate=0.0, throughput="aws")
def test_throughput(faradisc_clock, faradisc_database):
    client = faradisc_database.client(config=ONCE)
    client.create_table(**{**SCHEMA, "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}})
    code = rejection(lambda: put(client, *map(str, range(400))))
    assert code == "ProvisionedThroughputExceededException"
""",
        passed=2,
    )


def test_seed_is_read_once_and_forked_for_each_test(project: pytest.Pytester) -> None:
    seed = project.mkdir("seed")
    (seed / "things.json").write_text(TABLE)
    (seed / "items").mkdir()
    (seed / "items" / "things.json").write_text('[{"pk": "a"}, {"pk": "b"}]')
    run(
        project,
        """
pytestmark = pytest.mark.faradisc(seed="seed")

@pytest.mark.faradisc(conflict_rate=1.0)
def test_first(faradisc_database):
    import pathlib, shutil
    shutil.rmtree(pathlib.Path(__file__).parent / "seed")
    assert count() == 2

@pytest.mark.parametrize("number", [1, 2])
def test_second(faradisc_clock, dynamodb, number):
    put(dynamodb, "c")
    assert count() == 3
""",
        passed=3,
    )


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("seed='missing'", "*the directory does not exist*"),
        ("'aws'", "*keyword arguments only*"),
        ("troughput='aws'", "*unexpected keyword argument 'troughput'*"),
    ],
)
def test_wrong_markers_are_errors(project: pytest.Pytester, marker: str, sentence: str) -> None:
    project.makepyfile(f"import pytest\n@pytest.mark.faradisc({marker})\ndef test_it(dynamodb): ...")
    result = project.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([sentence])


FAILING = """
def test_it(faradisc_database, dynamodb):
    dynamodb.create_table(**SCHEMA)
    dynamodb.put_item(TableName="things", Item={
        "pk": {"S": "é"}, "n": {"N": "1.5"}, "m": {"M": {"s": {"NS": ["3", "1"]}, "l": {"L": [{"N": "2"}]}}},
        "b": {"B": b"x"}})
    assert not faradisc_database
"""


def test_dump_shows_the_tables_of_a_test_that_fails(project: pytest.Pytester) -> None:
    text = run(project, FAILING, "--faradisc-dump", failed=1)
    assert "faradisc: <LocalDatabase in memory>" in text
    assert "things: 1 item\n" in text
    assert '"m": {"l": [2], "s": ["1", "3"]}, "n": 1.5, "pk": "é"}' in text


def test_nothing_is_dumped_without_the_option_or_a_failure(project: pytest.Pytester) -> None:
    assert "things: 1 item" not in run(project, FAILING, failed=1)
    quiet = run(project, FAILING.replace("assert not", "assert"), "--faradisc-dump", "-rP", passed=1)
    assert "things: 1 item" not in quiet


def test_server_of_the_session_beside_a_patched_database(project: pytest.Pytester) -> None:
    run(
        project,
        """
def test_first(faradisc_server):
    faradisc_server.client().create_table(**SCHEMA)

def test_second(faradisc_server, dynamodb):
    assert faradisc_server.resource().Table("things").table_status == "ACTIVE"
    assert dynamodb.list_tables()["TableNames"] == []
    other = boto3.client("dynamodb", "us-east-1", endpoint_url=faradisc_server.url,
        aws_access_key_id="a", aws_secret_access_key="b")
    assert other.list_tables()["TableNames"] == ["things"]
""",
        passed=2,
    )


def test_server_that_cannot_start_raises_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faradisc.py").write_text("raise SystemExit('no server today')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="no server today"):
        faradisc.testing.served.Server(tmp_path)


@pytest.mark.slow
def test_workers_of_xdist_have_their_own_databases(project: pytest.Pytester) -> None:
    project.makepyfile(
        TESTS
        + """
CLIENT = boto3.client("dynamodb", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b")

@pytest.mark.parametrize("number", range(40))
def test_it(faradisc_database, number):
    CLIENT.create_table(**SCHEMA)
    put(CLIENT, str(number))
    assert count() == 1
"""
    )
    project.runpytest_subprocess("-n", "4").assert_outcomes(passed=40)


def test_a_database_that_is_closed_is_named_in_the_dump() -> None:
    with faradisc.local.patch() as database:
        database.close()
        ((title, text),) = faradisc.testing.dump.tables_as_text()
    assert (title, text) == (
        "faradisc: <LocalDatabase in memory, closed>",
        "cannot be read: this LocalDatabase is closed",
    )
