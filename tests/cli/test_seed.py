"""`faradisc seed` and `serve --seed`."""

from __future__ import annotations

import http.client
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from fixtures.clients import client_at

MUSIC = """\
Resources:
  Music:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: music
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: artist, AttributeType: S}
        - {AttributeName: year, AttributeType: N}
      KeySchema:
        - {AttributeName: artist, KeyType: HASH}
        - {AttributeName: year, KeyType: RANGE}
      SSESpecification: {SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: alias/elsewhere}
      StreamSpecification:
        StreamViewType: KEYS_ONLY
        ResourcePolicy:
          PolicyDocument:
            Version: 2012-10-17
            Statement:
              - {Effect: Allow, Principal: {AWS: "000000000000"}, Action: dynamodb:GetRecords, Resource: "*"}
      TimeToLiveSpecification: {AttributeName: until, Enabled: true}
"""
NO_KEY = "the key alias/elsewhere is not here, so the table has the key alias/aws/dynamodb"
PLAIN = {
    "TableName": "plain",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    directory = tmp_path / "seed"
    (directory / "items").mkdir(parents=True)
    (directory / "stack.yaml").write_text(MUSIC)
    (directory / "plain.json").write_text(json.dumps(PLAIN))
    (directory / "items" / "music.csv").write_text("artist,year,title\na,1970,x\na,1970,newer\nb,1971,y\n")
    lines = [json.dumps({"id": f"i{number}", "n": number}) for number in range(60)]
    (directory / "items" / "plain.jsonl").write_text("\n".join(lines))
    return directory


def count(dynamodb: Any, table: str) -> int:
    return int(dynamodb.scan(TableName=table, Select="COUNT")["Count"])


def assert_seeded(dynamodb: Any) -> None:
    assert dynamodb.list_tables()["TableNames"] == ["music", "plain"]
    assert (count(dynamodb, "music"), count(dynamodb, "plain")) == (2, 60)
    found = dynamodb.get_item(TableName="music", Key={"artist": {"S": "a"}, "year": {"N": "1970"}})["Item"]
    assert found["title"] == {"S": "newer"}, "of two lines with one key the later one counts"
    ttl = dynamodb.describe_time_to_live(TableName="music")["TimeToLiveDescription"]
    assert ttl["TimeToLiveStatus"] in ("ENABLING", "ENABLED")  # the seed does not wait for ENABLED
    assert ttl["AttributeName"] == "until"
    for name in ("music", "plain"):
        arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
        assert dynamodb.list_tags_of_resource(ResourceArn=arn)["Tags"] == []


def test_seed_is_applied_once(start_server: Any, command: Any, seed: Path) -> None:
    server = start_server("--memory")
    url = f"http://127.0.0.1:{server.port}"
    dynamodb = client_at(server.port)
    result = command("seed", "seed", "--url", url)
    assert (result.returncode, result.stdout) == (0, "created: plain, music\n63 items put\n")
    assert result.stderr == f"note: stack.yaml:2: music: {NO_KEY}\n"
    table = dynamodb.describe_table(TableName="music")["Table"]
    assert table["SSEDescription"]["Status"] == "ENABLED"
    assert "GetRecords" in dynamodb.get_resource_policy(ResourceArn=table["LatestStreamArn"])["Policy"]
    assert_seeded(dynamodb)
    dynamodb.delete_item(TableName="plain", Key={"id": {"S": "i1"}})
    result = command("seed", "seed", FARADISC_URL=url)
    assert (result.returncode, result.stdout) == (0, "unchanged: plain, music\n0 items put\n")
    assert count(dynamodb, "plain") == 59
    result = command("seed", "seed", "--url", url, "--replace")
    assert (result.returncode, result.stdout) == (0, "replaced: plain, music\n63 items put\n")
    assert_seeded(dynamodb)


def test_seed_waits_for_tables_in_transition(start_server: Any, command: Any, seed: Path) -> None:
    server = start_server("--memory", "--transition-ms", "150")
    url = f"http://127.0.0.1:{server.port}"
    assert command("seed", "seed", "--url", url).returncode == 0
    assert command("seed", "seed", "--url", url, "--replace").stdout.startswith("replaced: plain, music\n")
    assert_seeded(client_at(server.port))


def test_incomplete_table_is_loaded_again(start_server: Any, command: Any, seed: Path) -> None:
    server = start_server("--memory")
    dynamodb = client_at(server.port)
    dynamodb.create_table(**PLAIN, Tags=[{"Key": "faradisc:seeding", "Value": "plain.json"}])
    dynamodb.put_item(TableName="plain", Item={"id": {"S": "half"}})
    result = command("seed", "seed", "--url", f"http://127.0.0.1:{server.port}")
    assert (result.returncode, result.stdout) == (0, "created: music\nreplaced: plain\n63 items put\n")
    assert_seeded(dynamodb)


def test_missing_directory(command: Any) -> None:
    result = command("seed", "sed")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "faradisc: The directory sed does not exist.\n"


def test_errors_of_a_seed_are_listed_and_nothing_is_created(
    start_server: Any, command: Any, seed: Path
) -> None:
    server = start_server("--memory")
    url = f"http://127.0.0.1:{server.port}"
    (seed / "bad.json").write_text("{}")
    (seed / "items" / "music.csv").write_text("artist,year\na,1\nb\n")
    (seed / "items" / "unknown.json").write_text("[]")
    result = command("seed", "seed", "--url", url)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "seed/bad.json:1: not a CreateTable request, an answer of DescribeTable, a CloudFormation template, "
        "a serverless.yml, a NoSQL Workbench model, a BatchWriteItem request or the output of `terraform "
        "show -json`; items belong into items/TABLE.json.",
        "seed/items/music.csv:3: the row has 1 fields, the header 2.",
        "seed/items/unknown.json:1: there is no definition of the table unknown.",
    ]
    assert client_at(server.port).list_tables()["TableNames"] == []


def test_rejected_items_have_their_lines_and_others_are_put(
    start_server: Any, command: Any, seed: Path
) -> None:
    server = start_server("--memory")
    url = f"http://127.0.0.1:{server.port}"
    (seed / "items" / "music.csv").write_text("artist,year\na,1\nb,old\n,3\nc,4\n")
    result = command("seed", "seed", "--url", url)
    assert (result.returncode, result.stdout) == (1, "created: plain, music\n62 items put\n")
    found = result.stderr.splitlines()[1:]
    assert [each.partition(" ")[0] for each in found] == [
        "seed/items/music.csv:3:",
        "seed/items/music.csv:4:",
    ]
    assert "The parameter cannot be converted to a numeric value: old" in found[0]
    assert "Missing the key artist" in found[1]
    (seed / "items" / "music.csv").write_text("artist,year\na,1\n")
    result = command("seed", "seed", "--url", url)
    assert result.stdout == "replaced: music\nunchanged: plain\n1 items put\n"


def test_rejected_table(start_server: Any, command: Any, seed: Path) -> None:
    server = start_server("--memory")
    (seed / "plain.json").write_text(json.dumps({**PLAIN, "KeySchema": []}))
    (seed / "items" / "plain.jsonl").unlink()
    result = command("seed", "seed", "--url", f"http://127.0.0.1:{server.port}")
    assert (result.returncode, result.stdout) == (1, "created: music\n3 items put\n")
    assert "seed/plain.json:1: plain: ValidationException: " in result.stderr


def test_parameters_of_a_template(start_server: Any, command: Any, tmp_path: Path) -> None:
    server = start_server("--memory")
    (tmp_path / "seed").mkdir()
    named = MUSIC.replace("TableName: music", 'TableName: !Sub "${Stage}-t"')
    (tmp_path / "seed" / "a.yaml").write_text("Parameters:\n  Stage: {Type: String}\n" + named)
    url = f"http://127.0.0.1:{server.port}"
    assert command("seed", "seed", "--url", url, "--parameter", "Stage=dev").stdout.startswith(
        "created: dev-t\n"
    )
    assert command("seed", "seed", "--url", url, "--parameter", "Stage").returncode == 2


def test_unreachable_endpoint(command: Any, seed: Path) -> None:
    result = command("seed", "seed", "--url", "http://127.0.0.1:1")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("faradisc: http://127.0.0.1:1 does not answer: ")


def test_invalid_address(command: Any, seed: Path) -> None:
    result = command("seed", "seed", "--url", "ftp://x")
    assert (result.returncode, result.stdout) == (2, "")
    assert "'ftp://x' is not an http:// or https:// address." in result.stderr


def test_directory_without_tables(command: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = command("seed", "empty")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("faradisc: empty defines no table. It has no files; definitions are in")


# --- serve --seed --------------------------------------------------------------------------------


def test_serve_with_seed(start_server: Any, seed: Path) -> None:
    server = start_server("--seed", "seed", "--per-region", "--account", "123456789012")
    arn = client_at(server.port).describe_table(TableName="music")["Table"]["TableArn"]
    assert arn.startswith("arn:aws:dynamodb:us-east-1:")
    dynamodb = client_at(server.port)
    dynamodb.delete_item(TableName="plain", Key={"id": {"S": "i1"}})
    code, _, errors = server.stop(signal.SIGTERM)
    assert code == 0
    assert f"WARNING faradisc.tools.seeding: seed/stack.yaml:2: music: {NO_KEY}\n" in errors
    again = start_server("--seed", "seed", "--per-region", "--account", "123456789012")
    assert count(client_at(again.port), "plain") == 59


def test_seed_is_not_in_the_trace(start_server: Any, seed: Path, tmp_path: Path) -> None:
    server = start_server("--memory", "--seed", "seed", "--record-trace", "trace")
    server.stop(signal.SIGTERM)
    _, *lines = map(json.loads, (tmp_path / "trace").read_text().splitlines())
    assert all("describe" in line for line in lines)
    assert {line["describe"]: line["items"] for line in lines}["plain"] == 60


def test_serve_with_seed_and_strict_signatures(start_server: Any, command: Any, seed: Path) -> None:
    command("credentials", "add", "--credentials-file", "keys")
    server = start_server("--memory", "--seed", "seed", "--auth", "strict", "--credentials-file", "keys")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/health/ready")
    assert connection.getresponse().status == 200
    connection.close()


def test_serve_with_an_invalid_seed_does_not_start(command: Any, seed: Path) -> None:
    (seed / "items" / "music.csv").write_text("artist,year\nb\n")
    result = command("serve", "--port", "0", "--memory", "--seed", "seed")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "faradisc: The seed cannot be used:\n  seed/items/music.csv:2: the row has 1 fields, the header 2.\n"
    )
