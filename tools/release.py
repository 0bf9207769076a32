"""Makes everything of a release in dist/, and checks it in a clean environment: `make release`.

    faradisc-VERSION.tar.gz, faradisc-VERSION-py3-none-any.whl
    sbom.json         CycloneDX 1.6: what `pip install` of the wheel installs, with versions and licences
    licences.txt       the same for people
    notes.txt          the section of CHANGELOG.md
    image/            Dockerfile, constraints and sources: `docker build -t faradisc:VERSION dist/image`

Publishing is two commands that a maintainer gives afterwards; the last lines print them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LISTING = """
import json
from importlib import metadata
print(json.dumps([
    [each.metadata["Name"], each.version,
     each.metadata.get("License-Expression") or each.metadata.get("License") or "",
     [line for line in each.metadata.get_all("Classifier") or [] if line.startswith("License ::")]]
    for each in metadata.distributions()]))
"""
TRIAL = """
import subprocess, sys
from pathlib import Path
from botocore.session import get_session
server = subprocess.Popen([sys.argv[1], "serve", "--data-dir", "data", "--port", "0", "--port-file", "port"])
try:
    subprocess.run([sys.argv[1], "wait", "--port-file", "port"], check=True)
    url = "http://127.0.0.1:" + Path("port").read_text().strip()
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    client = get_session().create_client("dynamodb", region_name="us-east-1", endpoint_url=url, **keys)
    client.create_table(TableName="Things", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
    client.put_item(TableName="Things", Item={"pk": {"S": "a"}})
    assert client.get_item(TableName="Things", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}
finally:
    server.terminate()
    assert server.wait(30) == 0
"""


class NotReleasable(Exception):
    """Raised when something of the release is missing; the text is a sentence for the maintainer."""


@dataclass(frozen=True, slots=True)
class Installed:
    """A package that the release installs."""

    name: str
    version: str
    licence: str


def installed(listed: list[list[Any]]) -> list[Installed]:
    """Returns the packages of an environment, by name, without what an empty environment has."""
    packages = []
    for name, version, licence, classifiers in listed:
        if name.lower() in ("pip", "setuptools", "wheel"):
            continue
        first = licence.strip().splitlines()[0] if licence.strip() else ""
        if not first or len(first) > 60:  # some packages give the whole text
            first = ", ".join(line.rpartition(" :: ")[2] for line in classifiers)
        packages.append(Installed(name, version, first))
    return sorted(packages, key=lambda each: each.name.lower())


def bill_of_materials(packages: list[Installed], version: str) -> dict[str, Any]:
    """Returns the document of CycloneDX 1.6. Raises NotReleasable for a package without a licence."""
    for each in packages:
        if not each.licence:
            raise NotReleasable(f"{each.name} {each.version} names no licence")

    def component(each: Installed) -> dict[str, Any]:
        name = re.sub(r"[-_.]+", "-", each.name).lower()  # as package URLs have it
        return {
            "type": "library",
            "name": each.name,
            "version": each.version,
            "purl": f"pkg:pypi/{name}@{each.version}",
            "licenses": [{"license": {"name": each.licence}}],
        }

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'faradisc ' + version)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "faradisc", "version": version}},
        "components": [component(each) for each in packages if each.name != "faradisc"],
    }


def licences(packages: list[Installed]) -> str:
    """Returns a table for people."""
    rows = [f"| {each.name} | {each.version} | {each.licence} |" for each in packages]
    return "\n".join(["| Package | Version | Licence |", "|---|---|---|", *rows]) + "\n"


def notes(changelog: str, version: str) -> str:
    """Returns the section of a version. Raises NotReleasable."""
    section = re.compile(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    found = section.search(changelog)
    if found is None or not found[1].strip():
        raise NotReleasable(f"CHANGELOG.md has no section of {version}")
    return found[1].strip() + "\n"


def main() -> int:
    """Returns the exit code."""
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    try:
        with tempfile.TemporaryDirectory() as folder:
            _make(ROOT / "dist", Path(folder), version[1])
    except NotReleasable as reason:
        print(f"release: {reason}.", file=sys.stderr)
        return 1
    return 0


def _make(dist: Path, folder: Path, version: str) -> None:
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    (dist / "notes.txt").write_text(notes((ROOT / "CHANGELOG.md").read_text(), version))
    builder = _environment(folder / "builder", "hatchling>=1.25")
    subprocess.run([builder / "hatchling", "build", "-d", dist], cwd=ROOT, check=True)
    (wheel,) = dist.glob("*.whl")
    (source,) = dist.glob("*.tar.gz")
    clean = _environment(folder / "clean", "-c", str(ROOT / "constraints.txt"), str(wheel))
    subprocess.run([clean / "python", "-c", TRIAL, clean / "faradisc"], cwd=folder, check=True)
    packages = installed(json.loads(subprocess.check_output([clean / "python", "-c", LISTING])))
    (dist / "sbom.json").write_text(json.dumps(bill_of_materials(packages, version), indent=1) + "\n")
    (dist / "licences.txt").write_text(licences(packages))
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    for each in ("Dockerfile", "constraints.txt", "src", "pyproject.toml", "README.md", "LICENSE"):
        if not (unpacked / each).exists():
            raise NotReleasable(f"the source archive lacks {each}, which the image needs")
    shutil.copytree(unpacked, dist / "image")
    print(
        f"\nfaradisc {version} is in dist/; its wheel was served from a clean environment. To publish it:\n"
        f"    twine upload dist/*.whl dist/*.tar.gz\n"
        f"    docker build -t faradisc:{version} dist/image && docker push faradisc:{version}"
    )


def _environment(folder: Path, *packages: str) -> Path:
    """Returns the programs of a new environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    bin_folder = folder / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [bin_folder / "python", "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*pip, *packages], check=True)
    return bin_folder


if __name__ == "__main__":
    sys.exit(main())
