"""What `make release` writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from faradisc import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["release"] = module  # for its dataclass
    spec.loader.exec_module(module)
    return module


LISTED = [
    ["pip", "26.0", "MIT", []],
    ["zope.x", "1", "", ["License :: OSI Approved :: BSD License"]],
    ["Long", "2", "Copyright " + "x" * 80, ["License :: OSI Approved :: MIT License"]],
    ["faradisc", "0.1.0", "Apache-2.0", []],
]


def test_the_bill_lists_what_is_installed(release: ModuleType) -> None:
    packages = release.installed(LISTED)
    bill = release.bill_of_materials(packages, "0.1.0")
    assert [(each["name"], each["licenses"][0]["license"]["name"]) for each in bill["components"]] == [
        ("Long", "MIT License"),
        ("zope.x", "BSD License"),
    ]
    assert bill["components"][1]["purl"] == "pkg:pypi/zope-x@1"
    assert bill == release.bill_of_materials(packages, "0.1.0")
    assert "| Long | 2 | MIT License |\n" in release.licences(packages)


def test_a_package_without_a_licence_is_not_released(release: ModuleType) -> None:
    with pytest.raises(release.NotReleasable, match="odd 1 names no licence"):
        release.bill_of_materials(release.installed([["odd", "1", "", []]]), "0.1.0")


def test_notes_are_the_section_of_the_version(release: ModuleType) -> None:
    text = "# Changelog\n\n## Upgrading\n\nx\n\n## 0.2.0 (soon)\n\n- b\n\n### API\n\n- c\n\n## 0.1.0\n\n- a\n"
    assert release.notes(text, "0.2.0") == "- b\n\n### API\n\n- c\n"
    assert release.notes(text, "0.1.0") == "- a\n"
    for missing in ("0.3.0", "0.2"):
        with pytest.raises(release.NotReleasable):
            release.notes(text + "## 0.3.0\n", missing)
    assert release.notes((ROOT / "CHANGELOG.md").read_text(), __version__)


@pytest.mark.slow
def test_make_release(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", copy], check=True)
    subprocess.run([sys.executable, "tools/release.py"], cwd=copy, check=True)
    bill = json.loads((copy / "dist" / "sbom.json").read_text())
    assert {"orjson", "rocksdict", "botocore"} <= {each["name"] for each in bill["components"]}
    assert (copy / "dist" / "image" / "Dockerfile").exists()
    assert len(list((copy / "dist").glob("faradisc-*"))) == 2
