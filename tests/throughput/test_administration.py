"""The administrator's pages of a served database: what they show, what they change, whom they refuse."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import orjson
import pytest

from faradisc.server.exposition import exposition
from faradisc.server.load import Load
from fixtures.served import Server

JSON = {"Content-Type": "application/json"}


class Site:
    """A server with a virtual clock and enforced throughput, and a table."""

    def __init__(self, server: Server) -> None:
        self.address = urlsplit(server.url).netloc
        self.client: Any = boto3.client(
            "dynamodb",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        self.create("Orders", 10)

    def create(self, name: str, write_units: int) -> None:
        self.client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            ProvisionedThroughput={"ReadCapacityUnits": 10, "WriteCapacityUnits": write_units},
        )
        self.post("/_faradisc/clock", {"advance_s": 1})

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = HTTPConnection(self.address, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, body = self.ask("GET", path)
        assert status == 200, body
        return orjson.loads(body)

    def post(self, path: str, document: Any) -> Any:
        status, body = self.ask("POST", path, orjson.dumps(document), JSON)
        assert status in (200, 202), body
        return orjson.loads(body)

    def rejection(self, path: str, document: Any) -> tuple[int, str]:
        status, body = self.ask("POST", path, orjson.dumps(document), JSON)
        return status, orjson.loads(body)["error"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Server("--memory", "--virtual-clock", "--throughput", "aws") as server:
        yield Site(server)


def test_a_table_is_shown_and_its_levers_work(site: Site) -> None:
    (listed,) = site.get("/_faradisc/tables")
    assert (listed["table"], listed["enforced"], listed["partitions"]) == ("Orders", True, 1)
    changed = site.post("/_faradisc/capacity/Orders", {"balance": {"write": 3}, "partitions": 2})
    resource = changed["resources"][""]
    assert resource["write"]["burst"] == 3
    assert [part["low"] for part in resource["partitions"]] == ["", "80" + "00" * 15]
    assert site.get("/_faradisc/capacity/Orders")["resources"][""]["write"]["burst"] == 3
    assert {event["event"] for event in site.get("/_faradisc/events")} == {"SplitStarted", "Split"}


def test_the_clock_is_moved(site: Site) -> None:
    before = site.get("/_faradisc/clock")
    assert before["movable"]
    after = site.post("/_faradisc/clock", {"advance_s": 86_400})
    assert after["now_ns"] - before["now_ns"] == 86_400 * 10**9
    assert site.rejection("/_faradisc/clock", {"advance_s": -1})[0] == 400
    status, words = site.rejection("/_faradisc/clock", {"advance_s": 9e9})
    assert status == 400 and "2200" in str(words)
    assert site.get("/_faradisc/clock") == after


def test_full_partition_splits_at_the_same_time_when_clock_is_moved(site: Site) -> None:
    site.create("Large", 100)
    site.post("/_faradisc/capacity/Large", {"profile": "aws:3000/1000/16KB"})
    for number in range(20):
        site.client.put_item(TableName="Large", Item={"p": {"S": str(number)}, "v": {"S": "x" * 1000}})
    written_ns = site.get("/_faradisc/clock")["now_ns"]
    site.post("/_faradisc/clock", {"advance_s": 86_400})
    started, ended = site.get("/_faradisc/capacity/Large")["resources"][""]["splits"]
    assert 0 < started["at_ns"] - written_ns <= 10 * 10**9
    assert ended["at_ns"] - started["at_ns"] == 60 * 10**9
    site.client.delete_table(TableName="Large")


def test_storage_is_shown_in_proportion_to_throughput(site: Site) -> None:
    """By a partition's limit, and in the profile of 2017 by its share of the table's 10 and 10 units."""
    site.create("Ratio", 10)
    for number in range(16):
        site.client.put_item(TableName="Ratio", Item={"p": {"S": str(number)}, "v": {"S": "x" * 500}})
        site.post("/_faradisc/clock", {"advance_s": 1})

    def ratios(profile: str) -> list[tuple[int, float, float]]:
        shown = site.post("/_faradisc/capacity/Ratio", {"profile": profile, "partitions": 1})
        return [
            (part["bytes"], part["read"]["bytes_per_unit"], part["write"]["bytes_per_unit"])
            for part in shown["resources"][""]["partitions"]
        ]

    ((held, of_reads, of_writes),) = ratios("aws")
    assert held > 8000 and (of_reads, of_writes) == (round(held / 3000, 1), round(held / 1000, 1))
    assert ratios("classic-2017") == [(held, round(held / 10, 1), round(held / 10, 1))]
    site.client.delete_table(TableName="Ratio")


def test_items_expire_on_demand(site: Site) -> None:
    specification = {"Enabled": True, "AttributeName": "until"}
    site.client.update_time_to_live(TableName="Orders", TimeToLiveSpecification=specification)
    until = site.get("/_faradisc/clock")["now_ns"] // 10**9 - 5
    site.client.put_item(TableName="Orders", Item={"p": {"S": "old"}, "until": {"N": str(until)}})
    assert site.post("/_faradisc/expire", {})["expired"] in (0, 1)  # 0 when the background was there first
    assert "Item" not in site.client.get_item(TableName="Orders", Key={"p": {"S": "old"}})
    assert site.get("/_faradisc/jobs") == {"index_backfill": []}


def test_the_whole_database_is_checked(site: Site) -> None:
    site.post("/_faradisc/check", {})
    while site.get("/_faradisc/check")["status"] == "running":
        pass
    assert site.get("/_faradisc/check")["status"] == "done"


def test_prometheus_reads_metrics(site: Site) -> None:
    site.client.put_item(TableName="Orders", Item={"p": {"S": "a"}})
    site.post("/_faradisc/clock", {"advance_s": 400})
    status, body = site.ask("GET", "/metrics")
    assert status == 200
    lines = body.decode().splitlines()
    assert any(
        line.startswith("faradisc_consumed_write_capacity_units_total{") and 'table="Orders"' in line
        for line in lines
    )
    assert any(
        line.startswith("faradisc_request_latency_seconds_bucket{") and 'operation="PutItem"' in line
        for line in lines
    )
    assert any(line.startswith("faradisc_provisioned_write_capacity_units{") for line in lines)


def test_prometheus_reads_what_the_process_holds_and_has_refused(site: Site) -> None:
    def lines() -> list[str]:
        return site.ask("GET", "/metrics")[1].decode().splitlines()

    assert {"faradisc_shed_total 0.0", "faradisc_held_bytes 0.0"} <= set(lines())
    host, _, port = site.address.partition(":")
    with socket.create_connection((host, int(port))) as half_sent:
        half_sent.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 800_000)
        while "faradisc_held_bytes 800000.0" not in lines():
            pass
    while "faradisc_held_bytes 0.0" not in lines():
        pass


def test_what_was_refused_is_counted() -> None:
    assert b"\nfaradisc_shed_total 3.0\n" in exposition([], Load(shed=3))


def test_the_first_page_lists_the_others(site: Site) -> None:
    status, body = site.ask("GET", "/_faradisc/")
    assert status == 200
    for path in orjson.loads(body)["pages"]:
        name = "Orders" if path.endswith("/") else ""
        status, body = site.ask("GET", path + name)
        # A database at one place has no places to list, and one that is not copied no copy.
        absent = {
            "places": b"at one place",
            "copy": b"There is no continuous copy",
            "copy-objects/": b"no continuous copy",
            "copy-names/": b"no continuous copy",
        }
        reason = absent.get(path.removeprefix("/_faradisc/"))
        assert status in (200, 405) or (reason is not None and reason in body), path


def test_heat_has_the_partitions_of_each_resource(site: Site) -> None:
    status, body = site.ask("GET", "/_faradisc/heat/Orders")
    assert status == 200
    partitions = orjson.loads(body)[""]["partitions"]
    assert {(each["first"], len(each["used"])) for each in partitions} == {(0, 1)}
    shown = site.get("/_faradisc/capacity/Orders")["resources"][""]["partitions"]
    assert [each["name"] for each in partitions] == [each["id"] for each in shown]


def test_what_does_not_exist(site: Site) -> None:
    assert site.ask("GET", "/_faradisc/nothing")[0] == 404
    assert site.ask("GET", "/_faradisc/heat/Nowhere")[0] == 404
    assert site.ask("GET", "/_faradisc/capacity/Nowhere")[0] == 404
    assert site.rejection("/_faradisc/capacity/Nowhere", {}) == (404, "There is no table Nowhere.")
    assert site.ask("DELETE", "/_faradisc/tables")[0] == 405
    assert site.ask("GET", "/_faradisc")[0] == 301


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"speed": 1}, "'speed'"),
        ({"partitions": 0}, "at least 1"),
        ({"profile": "aws:99999999999999999999/1"}, "at most"),
        ({"partitions": "many"}, "whole number"),
        ({"profile": "fast"}, "fast"),
        ({"profile": "aws:0/0"}, "READ/WRITE"),
        ({"index": "none"}, "none"),
        ({"balance": 5}, "balance"),
        ({"partition": {"id": "nothing", "write": 1}}, "id"),
        ({"previous_peak": {"read": 5}}, "previous peak"),
        ({"previous_peak": {"read": -1, "write": 5}}, "between 0"),
        ({"previous_peak": {"read": 10**15, "write": 5}}, "between 0"),
        ({"index": ["by-g"]}, "['by-g']"),
        ({"index": {}}, "{}"),
        ({"profile": 5}, "no capacity profile '5'"),
        ({"profile": "classic-2017", "balance": {"write": 1}}, "no burst balance"),
    ],
)
def test_levers_that_cannot_be_pulled(site: Site, document: Any, words: str) -> None:
    status, sentence = site.rejection("/_faradisc/capacity/Orders", document)
    assert status == 400 and words in sentence


def test_partitions_never_get_fewer(site: Site) -> None:
    for _ in range(2):
        site.post("/_faradisc/capacity/Orders", {"partitions": 4})
        assert site.rejection("/_faradisc/capacity/Orders", {"partitions": 3}) == (
            400,
            "There are 4 partitions, and none is ever merged.",
        )


def test_a_mistake_in_one_lever_leaves_all_alone(site: Site) -> None:
    site.post("/_faradisc/clock", {"advance_s": 0})  # what was split before this is measured first
    before = site.get("/_faradisc/capacity/Orders")
    for mistake in ({"partitions": "many"}, {"balance": {"read": "all"}}, {"previous_peak": 5}):
        wanted = {"profile": "pessimistic", "balance": {"write": 7}, "partitions": 64, **mistake}
        assert site.rejection("/_faradisc/capacity/Orders", wanted)[0] == 400
    assert site.get("/_faradisc/capacity/Orders") == before


def test_the_clock_takes_nothing_it_does_not_know(site: Site) -> None:
    assert site.rejection("/_faradisc/clock", {"advance_s": 1, "advance_ms": 5}) == (
        400,
        "There is no setting 'advance_ms' to change.",
    )


def test_other_sites_cannot_use_it_through_a_browser(site: Site) -> None:
    foreign = {**JSON, "Origin": "http://evil.example"}
    assert site.ask("POST", "/_faradisc/expire", b"{}", foreign)[0] == 403
    assert site.ask("GET", "/_faradisc/tables", headers={"Origin": "http://evil.example"})[0] == 403
    own = {**JSON, "Origin": f"http://{site.address}"}
    assert site.ask("POST", "/_faradisc/expire", b"{}", own)[0] == 200
    assert site.ask("POST", "/_faradisc/expire", b"{}", {"Content-Type": "text/plain"})[0] == 403
    assert site.ask("POST", "/_faradisc/clock", b"[", JSON)[0] == 400


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_site_whose_name_leads_here_cannot_use_it_either(site: Site, method: str) -> None:
    """The Origin of its pages is the site itself, so only the Host header shows the other name."""
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example:80", "localhost.evil.example"):
        misled = {**JSON, "Host": host, "Origin": f"http://{host}"}
        assert site.ask(method, "/_faradisc/check", b"{}", misled)[0] == 403, host
        assert site.ask("GET", "/metrics", headers={"Host": host})[0] == 403, host


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:1", "faradisc.localhost:8000", "127.0.0.1", "[::1]:80"]
)
def test_this_machine_has_many_names(site: Site, host: str) -> None:
    assert site.ask("GET", "/metrics", headers={"Host": host})[0] == 200


def test_behind_names_of_a_network_it_is_asked_for() -> None:
    with Server("--memory", "--admin", "on") as server:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        connection.request("GET", "/metrics", headers={"Host": "metrics.internal:8000"})
        assert connection.getresponse().status == 200
        connection.close()


def test_it_can_be_off() -> None:
    with Server("--memory", "--admin", "off") as server:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 404
        connection.close()


def test_beyond_this_machine_it_is_off_unless_asked_for() -> None:
    with Server("--memory", "--host", "0.0.0.0", "--trust-network") as server:
        port = urlsplit(server.url).port
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/_faradisc/tables")
        assert connection.getresponse().status == 404
        connection.close()


def test_a_machines_clock_is_not_moved(memory_server: Server) -> None:
    connection = HTTPConnection(urlsplit(memory_server.url).netloc, timeout=30)
    connection.request("POST", "/_faradisc/clock", b'{"advance_s": 5}', JSON)
    answer = connection.getresponse()
    assert answer.status == 400 and b"--virtual-clock" in answer.read()
    connection.close()


def test_reset_empties_data_in_memory_and_seeds_it_again(tmp_path: Path) -> None:
    (tmp_path / "tables.json").write_text(
        '{"TableName": "Seeded", "BillingMode": "PAY_PER_REQUEST", '
        '"KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}], '
        '"AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}]}'
    )
    with Server("--memory", "--virtual-clock", "--seed", str(tmp_path)) as server:
        site = Site(server)
        site.client.put_item(TableName="Seeded", Item={"p": {"S": "a"}})
        assert site.post("/_faradisc/reset", {}) == {"reset": True}
        assert site.client.list_tables()["TableNames"] == ["Seeded"]
        assert site.client.scan(TableName="Seeded")["Count"] == 0
        assert site.post("/_faradisc/reset", {}) == {"reset": True}
        assert server.stop() == 0


def test_reset_is_rejected_with_data_on_disk(tmp_path: Path) -> None:
    with Server("--data-dir", str(tmp_path / "data"), "--virtual-clock") as server:
        site = Site(server)
        assert site.rejection("/_faradisc/reset", {}) == (
            400,
            "Only data in memory can be reset: serve with --memory.",
        )
        assert site.client.list_tables()["TableNames"] == ["Orders"]
