"""What `faradisc migrate moto` makes of tests, and what it leaves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from faradisc.cli.main import cli
from faradisc.tools.migrating.moto import MOCKS, migrate

PASSED = 'mock_aws(config={"core": {"passthrough": {"services": ["dynamodb"]}}})'
CASES = {
    "decorators": (
        "import boto3\nfrom moto import mock_aws\n\n\n@mock_aws\ndef test_a():\n    pass\n\n\n"
        "@mock_aws()\nclass TestB:\n    pass\n",
        "import boto3\nimport faradisc.local\n\n\n@faradisc.local.patch\ndef test_a():\n    pass\n\n\n"
        "@faradisc.local.patch()\nclass TestB:\n    pass\n",
        [],
    ),
    "with, started, other names": (
        "from moto import mock_dynamodb as mock, mock_sqs\n\n\ndef f():\n    with mock():  # é\n"
        "        pass\n    m = mock()\n    m.start()\n",
        "import faradisc.local\nfrom moto import mock_sqs\n\n\ndef f():\n"
        "    with faradisc.local.patch():  # é\n        pass\n"
        "    m = faradisc.local.patch()\n    m.start()\n",
        [],
    ),
    "clients made before": (
        "from moto import mock_aws\nfrom moto.core import patch_client\n\n\ndef f():\n    with mock_aws():\n"
        "        patch_client(C)  # made before\n\n\ndef g():\n    C.x()\n    patch_client(C)\n",
        "import faradisc.local\n\n\ndef f():\n    with faradisc.local.patch():\n        pass\n\n\n"
        "def g():\n    C.x()\n",
        [],
    ),
    "other services": (
        "import boto3\nfrom moto import mock_aws\n\n\n@mock_aws\ndef f():\n    boto3.client('s3')\n"
        "    with mock_aws():\n        boto3.resource('dynamodb')\n    m = mock_aws()\n",
        "import boto3\nimport faradisc.local\nfrom moto import mock_aws\n\n\n"
        f"@{PASSED}\n@faradisc.local.patch\ndef f():\n    boto3.client('s3')\n"
        f"    with {PASSED}, faradisc.local.patch():\n        boto3.resource('dynamodb')\n"
        "    m = mock_aws()\n",
        [
            "line 1: moto stays for s3; DynamoDB passes it",
            "line 10: start `faradisc.local.patch()` beside it, and give moto "
            '(config={"core": {"passthrough": {"services": ["dynamodb"]}}})',
        ],
    ),
    "arguments": (
        "from moto import mock_aws\n\nwith mock_aws(config={}):\n    pass\n",
        "from moto import mock_aws\n\nwith mock_aws(config={}):\n    pass\n",
        ["line 3: arguments of moto are left: read what they are for"],
    ),
    "the module": (
        "import moto\n\nwith moto.mock_aws():\n    pass\n",
        "import moto\n\nwith moto.mock_aws():\n    pass\n",
        ["line 1: `import moto` is left; write `from moto import mock_aws` first"],
    ),
    "a shared line": (
        "import os; from moto import mock_aws\n",
        "import os; from moto import mock_aws\n",
        ["line 1: left, since it shares its line with other statements; remove it"],
    ),
    "no moto": ("mock_aws = 1\nprint(mock_aws)\n", "mock_aws = 1\nprint(mock_aws)\n", []),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    before, after, notes = CASES[case]
    migrated = migrate(before)
    assert migrated.text == after
    assert migrated.notes == notes
    assert migrate(after).text == after


@given(
    st.sampled_from(sorted(MOCKS)),
    st.sampled_from(["", " as m"]),
    st.lists(
        st.sampled_from(["@{}\ndef f(): ...", "@{}()\ndef f(): ...", "with {}(): ...", "x = [{}(), 'ü']"])
    ),
    st.sampled_from(["", "c.client('s3')\n"]),
)
def test_what_is_written_is_python_and_stays(name: str, alias: str, uses: list[str], other: str) -> None:
    local = "m" if alias else name
    before = f"from moto import {name}{alias}\n{other}" + "".join(use.format(local) + "\n" for use in uses)
    once = migrate(before).text
    ast.parse(once)
    assert other or name not in once
    if not other:
        assert migrate(once).text == once


def test_the_example_becomes_one_that_uses_no_moto() -> None:
    example = Path(__file__).parents[3] / "examples" / "migrating" / "moto" / "before" / "test_orders.py"
    text = migrate(example.read_text()).text
    assert "with faradisc.local.patch():" in text
    assert "from moto" not in text and "patch_resource" not in text


def test_the_command_changes_files_only_when_it_is_asked(tmp_path: Path) -> None:
    file, other = tmp_path / "test_a.py", tmp_path / "broken.py"
    file.write_text(CASES["decorators"][0])
    other.write_text("def\n")
    result = CliRunner().invoke(cli, ["migrate", "moto", str(tmp_path)])
    assert result.exit_code == 0
    assert "-@mock_aws\n" in result.stdout and "+@faradisc.local.patch\n" in result.stdout
    assert "1 file to be changed; --write changes them" in result.stderr
    assert f"{other}: left as it is, since it is not valid Python" in result.stderr
    assert file.read_text() == CASES["decorators"][0]
    result = CliRunner().invoke(cli, ["migrate", "moto", "--write", str(file)])
    assert result.stderr == "1 file changed\n"
    assert file.read_text() == CASES["decorators"][1]
    result = CliRunner().invoke(cli, ["migrate", "moto", str(tmp_path / "missing")])
    assert (result.exit_code, "does not exist" in result.stderr) == (1, True)
