"""`faradisc plan`: exit codes, files and messages."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result

from faradisc.cli.main import cli
from faradisc.tools.planner.plan_file.loading import load_plan
from fixtures.served import Server

PLAN = """\
name: A small plan
duration: 2m
tables: {{T: {{mode: provisioned, read: 5, write: 5, partition_caps: 30/5, partitions: 1}}}}
traffic: [{{operation: PutItem, rate: {rate}, keys: {{uniform: 5000}}}}]
budgets:
  throttled_percent: 1
  monthly_cost: 10
  lost_percent: 1
  p99_wait_ms: 5
  keys_to_shard: 0
  partitions: 1
retries: none
"""


def faradisc_plan(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["plan", *map(str, arguments)])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(PLAN.format(rate=1))
    return file


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "bad.yaml"
    file.write_text(PLAN.format(rate=9))
    return file


def test_budgets_decide_the_exit_code(good: Path, bad: Path) -> None:
    held = faradisc_plan(good)
    assert (held.exit_code, held.stderr) == (0, "")
    assert "Nothing was throttled" in held.stdout
    assert (
        "throttled percent   holds    0 % of the attempts were throttled, at most 1 % allowed." in held.stdout
    )
    broken = faradisc_plan(bad)
    assert broken.exit_code == 1
    assert "throttled percent   broken   39 % of the attempts were throttled" in broken.stdout
    assert faradisc_plan(good, bad).exit_code == 1


def test_budgets_on_the_command_line_outrank_the_plans(good: Path, bad: Path) -> None:
    assert (
        faradisc_plan(bad, "--quiet", "--max-throttle-percent", "100").stdout.count(
            "holds: 39 % of the attempts"
        )
        == 1
    )
    strict = faradisc_plan(good, "--quiet", "--max-cost", "0.01")
    assert strict.exit_code == 1
    broken = [line for line in strict.stdout.splitlines() if "BROKEN" in line]
    assert len(broken) == 1 and "a month costs $2.85, at most $0.01 allowed" in broken[0]
    assert faradisc_plan(good, "--max-cost", "-1").exit_code == 2


def test_quiet_prints_headline_and_budgets_only(bad: Path) -> None:
    lines = faradisc_plan(bad, "--quiet").stdout.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("A small plan: Fails. 39 % of the attempts were throttled")
    assert lines[1].startswith("A small plan: BROKEN: 39 % of the attempts were throttled")


def test_a_plan_without_budgets_that_fails_exits_1(bad: Path) -> None:
    bad.write_text(bad.read_text().split("budgets:")[0])
    document = bad.with_suffix(".json")
    failed = faradisc_plan(bad, "--quiet", "--json", document)
    assert failed.exit_code == 1
    assert failed.stdout.startswith("A small plan: Fails. ")
    assert json.loads(document.read_text())["holds"] is False


@pytest.mark.parametrize("engine", ["events", "fluid"])
def test_files(good: Path, bad: Path, tmp_path: Path, engine: str) -> None:
    html, document, tables = tmp_path / "r.html", tmp_path / "r.json", tmp_path / "tables"
    faradisc_plan(good, "--engine", engine, "--html", html, "--json", document, "--csv", tables)
    assert "A small plan" in html.read_text() and "<svg" in html.read_text()
    found = json.loads(document.read_text())
    assert (found["engine"], found["samples"], found["holds"]) == (engine, 2, True)
    names = sorted(file.name for file in tables.iterdir())
    assert names == [
        "budgets.csv", "collections.csv", "costs.csv", "events.csv", "headroom.csv", "keys.csv",
        "minutes.csv", "partitions.csv", "plans.csv", "scaling.csv", "traffic.csv", "what_if.csv",
    ]  # fmt: skip
    minutes = list(csv.DictReader((tables / "minutes.csv").read_text().splitlines()))
    writes = [row for row in minutes if row["direction"] == "W"]
    assert [row["at_s"] for row in writes] == ["0", "60"]
    assert all(row["offered"] == row["consumed"] for row in writes)
    if engine == "fluid":
        assert [row["offered"] for row in writes] == ["1", "1"]
    faradisc_plan(good, bad, "--json", document, "--csv", tmp_path / "two")
    assert [entry["holds"] for entry in json.loads(document.read_text())] == [True, False]
    assert sorted(each.name for each in (tmp_path / "two").iterdir()) == ["1-good", "2-bad", "plans.csv"]


def test_a_trace_alone_and_on_a_plan(good: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    lines = [
        json.dumps({"t": second, "op": "PutItem", "table": "T", "pk": "a", "new": 900})
        for second in range(90)
    ]
    trace.write_text("\n".join([*lines[:40], "what is this", *lines[40:]]) + "\n")
    alone = faradisc_plan("--trace", trace)
    assert alone.exit_code == 0
    assert "T: on demand, partitions: 4" in alone.stdout
    assert "Skipped 1 lines of the trace (90 were read):" in alone.stdout
    assert f"{trace}:41: not JSON" in alone.stdout
    assert "The trace does not describe T" in alone.stdout
    on_plan = faradisc_plan(good, "--trace", trace)
    assert "T: provisioned" in on_plan.stdout and "Nothing was throttled" in on_plan.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a plan file, or a trace with --trace"),
        (["missing.yaml"], "missing.yaml: it cannot be read: No such file or directory. Check its name."),
        (["--trace", "missing.jsonl"], "missing.jsonl: it cannot be read"),
    ],
)
def test_input_that_is_not_there(arguments: list[str], said: str) -> None:
    found = faradisc_plan(*arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr


def test_bad_input_is_one_sentence(good: Path, tmp_path: Path) -> None:
    good.write_text(good.read_text().replace("rate: 1", "rate: -4"))
    found = faradisc_plan(good)
    assert found.exit_code == 2
    assert found.stderr == (f"faradisc: {good}:4: traffic[0].rate: -4 is below 0. Write 0 or more.\n")
    good.write_bytes(b"name: a\nduration: \xff\n")
    assert (
        faradisc_plan(good).stderr == f"faradisc: {good}:2: this is not UTF-8. Save the file as UTF-8 text.\n"
    )
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert "there is no request in this trace" in faradisc_plan("--trace", empty).stderr


RECORDED = b'{"t":%d,"op":"PutItem","table":"T","pk":"k%d","new":500}\n'


def test_a_packed_trace_is_that_trace(tmp_path: Path) -> None:
    lines = b"".join(RECORDED % (second, second) for second in range(100))
    plain, packed, cut = tmp_path / "loose", tmp_path / "tight", tmp_path / "cut.gz"
    plain.write_bytes(lines)
    packed.write_bytes(gzip.compress(lines))
    cut.write_bytes(packed.read_bytes()[:200])
    said = faradisc_plan("--trace", plain)
    assert said.exit_code == 0 and "all 100 requests were admitted" in said.stdout
    assert faradisc_plan("--trace", packed).stdout == said.stdout.replace("loose", "tight")
    damaged = faradisc_plan("--trace", cut)
    assert (damaged.exit_code, damaged.stdout) == (2, "")
    assert "cut.gz: it cannot be decompressed" in damaged.stderr and "zcat cut.gz" in damaged.stderr


HEADER = b'{"faradisc_trace":1,"start":"2026-11-02T00:00:00Z"}\n'
RATES = b"second,table,class,op,units_per_op,ops\n0,T,a,PutItem,1,3\n"


@pytest.mark.parametrize(
    "text",
    [HEADER + RECORDED % (1, 1), RATES, b'{"MetricDataResults": []}'],
    ids=["a trace", "rates", "an export"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_byte_order_mark_is_no_part_of_a_file(
    text: bytes, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "t"
    file.write_bytes(pack(text))
    without = faradisc_plan("--trace", file)
    file.write_bytes(pack(b"\xef\xbb\xbf" + text))
    assert faradisc_plan("--trace", file).output == without.output
    assert "kipped" not in without.output


def test_a_byte_order_mark_is_no_part_of_a_plan_and_its_keys(tmp_path: Path) -> None:
    keys, plan = tmp_path / "keys.csv", tmp_path / "plan.yaml"
    said = []
    for encoding in ("utf-8", "utf-8-sig"):
        keys.write_text("key,weight\nhot,9\n", encoding=encoding)
        text = PLAN.format(rate=1).replace("{uniform: 5000}", "{file: keys.csv}")
        plan.write_text(text, encoding=encoding)
        said.append(faradisc_plan(plan).stdout)
    assert "hot" in said[0] and said[0] == said[1]


def test_an_endless_line_of_a_trace_is_one_bad_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_bytes(RECORDED % (1, 1) + b"x" * 5_000_000 + b"\n" + RECORDED % (2, 2))
    said = faradisc_plan("--trace", trace)
    assert said.exit_code == 0
    assert "Skipped 1 lines of the trace (2 were read):" in said.stdout
    assert "trace.jsonl:2: longer than 2,097,152 bytes" in said.stdout


def test_a_place_that_cannot_be_written(good: Path, tmp_path: Path) -> None:
    found = faradisc_plan(good, "--json", tmp_path / "no" / "such" / "place.json")
    assert found.exit_code == 2
    assert "No such file or directory. Name a place that can be written" in found.stderr


def test_other_commands_pay_nothing_for_it() -> None:
    """The planner and its YAML are imported when `plan` runs, not before."""
    code = "import sys, faradisc.cli.main; print([m for m in sys.modules if m == 'yaml' or 'planner' in m])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_a_file_of_keys_lies_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("hot,9\ncold\n")
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(rate=1).replace("{uniform: 5000}", "{file: keys.csv}"))
    assert "hot" in faradisc_plan(plan).stdout
    for name, said in (
        ("../keys.csv", "cannot be read: No such file"),
        (".", "it is not a regular file"),
        ('"a\\0b"', "embedded null byte"),
    ):
        plan.write_text(PLAN.format(rate=1).replace("{uniform: 5000}", f"{{file: {name}}}"))
        rejected = faradisc_plan(plan)
        assert rejected.exit_code == 2
        assert "plan.yaml:4: traffic[0].keys.file: " in rejected.stderr
        assert said in rejected.stderr


def test_rates_take_the_place_of_the_traffic(tmp_path: Path) -> None:
    rates, plan = tmp_path / "rates.csv", tmp_path / "plan.yaml"
    rates.write_text(
        "second,table,class,op,units_per_op,ops\n0,T,a,PutItem,1,3\nwhat?\n119,T,a,GetItem,1,1\n"
    )
    plan.write_text(PLAN.format(rate=9) + "classes: {a: {keys: {file: keys.csv}}}\n")
    (tmp_path / "keys.csv").write_text("hot\n")
    for arguments in ((plan, "--trace", rates), ("--trace", rates)):
        found = faradisc_plan(*arguments)
        assert found.exit_code == 0, found.stderr
        assert "T, a: PutItem, 1 WCU" in found.stdout
        assert "Skipped 1 lines of the trace (2 were read):" in found.stdout
        assert f"{rates}:3: 1 fields, where 6 should be" in found.stdout
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(rates.read_bytes()))
    assert "T, a: PutItem, 1 WCU" in faradisc_plan(plan, "--trace", packed).stdout


EXPORT = {
    "MetricDataResults": [
        {
            "Label": "T ConsumedWriteCapacityUnits",
            "Timestamps": ["2026-11-02T00:00:00+00:00"],
            "Values": [240],
        }
    ]
}


def test_what_cloudwatch_has_kept_is_a_trace(good: Path, tmp_path: Path) -> None:
    for name, text in (("pretty", json.dumps(EXPORT, indent=4)), ("brief", json.dumps(EXPORT))):
        file = tmp_path / name
        file.write_text(text)
        flat = faradisc_plan(good, "--trace", file)
        assert flat.exit_code == 0, flat.stderr
        assert "all 240 requests were admitted" in flat.stdout
        assert "Sub-minute peaks unknown" in flat.stdout
        peaked = faradisc_plan(good, "--trace", file, "--peak-factor", 6)
        assert "taken to begin with 5 s at 6 times the mean" in peaked.stdout
        long = faradisc_plan(good, "--trace", file, "--period", 300)
        assert "CloudWatch has sums of 300 s" in long.stdout
    too_much = faradisc_plan(good, "--trace", file, "--peak-factor", 61)
    assert (too_much.exit_code, too_much.stderr.count("at most the seconds of a period, 60")) == (2, 1)


def test_peaks_are_for_cloudwatch(good: Path, tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("second,table,class,op,units_per_op,ops\n0,T,a,PutItem,1,3\n")
    for arguments in ((good,), (good, "--trace", rates)):
        rejected = faradisc_plan(*arguments, "--peak-factor", 2)
        assert rejected.exit_code == 2
        assert "--peak-factor and --period are for traces from CloudWatch. Leave them out" in rejected.stderr


@pytest.mark.parametrize("module", ["pydantic", "ruamel.yaml"])
def test_missing_library_is_named_with_what_to_install(module: str, good: Path) -> None:
    imports = f"import sys; sys.modules[{module!r}] = None; from faradisc.cli.main import cli"
    code = f"{imports}; cli(['plan', '{good}'])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"faradisc: plans need {module}, which is not installed. Run: pip install 'faradisc[plan]'\n"
    assert (shown.returncode, shown.stdout, shown.stderr) == (2, "", said)


VARIANTS = """\
variants:
  small:
  large: {tables: {T: {write: 90, partition_caps: 300/100}}}
"""


def test_variants_are_shown_side_by_side(bad: Path, tmp_path: Path) -> None:
    bad.write_text(bad.read_text() + VARIANTS)
    tables = tmp_path / "tables"
    shown = faradisc_plan(bad, "--no-what-if", "--csv", tables)
    assert shown.exit_code == 1
    assert shown.stdout.startswith("A small plan: small: Fails. 39 % of the attempts were throttled")
    assert "A small plan: large: Fails. A month costs" in shown.stdout
    plans = list(csv.DictReader((tables / "plans.csv").read_text().splitlines()))
    assert [(row["variant"], row["holds"]) for row in plans] == [("small", "False"), ("large", "False")]
    assert sorted(each.name for each in tables.iterdir()) == ["1-bad-small", "2-bad-large", "plans.csv"]


def test_one_variant_can_be_chosen(bad: Path) -> None:
    bad.write_text(bad.read_text() + VARIANTS)
    lines = faradisc_plan(bad, "--variant", "large", "--quiet").stdout.splitlines()
    assert len(lines) == 7 and all(line.startswith("A small plan: large: ") for line in lines)
    unknown = faradisc_plan(bad, "--variant", "larger")
    assert unknown.exit_code == 2
    assert "has no variant 'larger'. Did you mean 'large'?" in unknown.stderr


def test_plan_that_fails_is_rerun_with_changes_except_without_what_if(bad: Path) -> None:
    bad.write_text(bad.read_text().replace(", partitions: 1}", "}"))
    assert "What if: the same plan with one change" in faradisc_plan(bad).stdout
    assert "What if" not in faradisc_plan(bad, "--no-what-if").stdout


def test_json_has_summaries_and_on_request_every_minute(good: Path, tmp_path: Path) -> None:
    good.write_text(good.read_text().replace("duration: 2m", "duration: 4h"))
    brief, whole = tmp_path / "brief.json", tmp_path / "whole.json"
    faradisc_plan(good, "--json", brief)
    faradisc_plan(good, "--json", whole, "--json-series")
    (resource,) = json.loads(brief.read_text())["resources"]
    assert resource["write"]["offered"]["mean"] == pytest.approx(1, abs=0.05)
    assert resource["write"]["throttled"]["KeyRangeThroughputExceeded"]["most"] == 0
    assert resource["partition_count"] == {"mean": 1, "least": 1, "most": 1, "last": 1}
    assert len(json.loads(whole.read_text())["resources"][0]["write"]["offered"]) == 240
    assert brief.stat().st_size < 20_000 < whole.stat().st_size


def test_a_plan_is_compared_with_an_earlier_run(good: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    faradisc_plan(good, "--json", before)
    same = faradisc_plan(good, "--quiet", "--compare", before)
    assert same.exit_code == 0 and f"A small plan: as in {before}, within 5 %" in same.stdout
    good.write_text(
        good.read_text().replace("write: 5,", "write: 7,").replace("monthly_cost: 10", "monthly_cost: 99")
    )
    dearer = faradisc_plan(good, "--quiet", "--compare", before)
    assert dearer.exit_code == 1
    assert "A small plan: WORSE: a month as planned: $2.85, and now $3.80" in dearer.stdout
    assert faradisc_plan(good, "--quiet", "--compare", before, "--tolerance", 50).exit_code == 0
    good.write_text(good.read_text().replace("rate: 1,", "rate: 9,"))
    failing = faradisc_plan(good, "--quiet", "--compare", before, "--tolerance", 50)
    assert "A small plan: WORSE: it held, and now it fails" in failing.stdout
    before.write_text("{}")
    rejected = faradisc_plan(good, "--compare", before)
    assert rejected.exit_code == 2 and "this was not written by faradisc plan --json" in rejected.stderr


def test_a_plan_is_written_of_a_running_endpoint(tmp_path: Path) -> None:
    """Tables as they are, and auto scaling as it is set; metrics have a unit test of their own."""
    output = tmp_path / "account.yaml"
    with Server("--memory", "--throughput", "aws") as server:
        made: dict[str, Any] = {
            "endpoint_url": server.url, "region_name": "us-east-1",
            "aws_access_key_id": "any", "aws_secret_access_key": "any",
        }  # fmt: skip
        boto3.client("dynamodb", **made).create_table(
            TableName="Orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            ProvisionedThroughput={"ReadCapacityUnits": 20, "WriteCapacityUnits": 10},
        )
        boto3.client("application-autoscaling", **made).register_scalable_target(
            ServiceNamespace="dynamodb",
            ResourceId="table/Orders",
            ScalableDimension="dynamodb:table:WriteCapacityUnits",
            MinCapacity=10,
            MaxCapacity=400,
        )
        written = faradisc_plan("--from", server.url, "--hours", 1, "--output", output)
        unknown = faradisc_plan("--from", server.url, "--table", "Order")
        assert server.stop() == 0
    assert (written.exit_code, written.stderr) == (0, "")
    (table,) = load_plan(output.read_text(), "account").tables
    assert (table.rates.read_units, table.rates.write_units, table.sort_key) == (20, 10, False)
    assert table.rates.write_scaling is not None and table.rates.write_scaling.maximum == 400
    assert unknown.exit_code == 2 and "there is no table 'Order'. Known: Orders." in unknown.stderr
    assert faradisc_plan(output).exit_code == 0
