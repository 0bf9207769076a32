"""The npm package in packages/javascript: its files, its tests, and Jest and Vitest with its tarball."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import faradisc
from fixtures.environments import cache_folder

PACKAGE = Path(__file__).resolve().parents[2] / "packages" / "javascript"
MANIFEST = json.loads((PACKAGE / "package.json").read_text())

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def run(folder: Path, *command: str) -> str:
    """Returns what the command prints. Raises AssertionError with it when the command fails."""
    program = Path(sys.executable).with_name("faradisc")
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "FARADISC_BIN": str(program)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_manifest_names_files_that_are_published() -> None:
    exported = [each if isinstance(each, str) else each["default"] for each in MANIFEST["exports"].values()]
    for name in exported:
        assert (PACKAGE / name).is_file(), name
        first = Path(name).parts[0]
        assert first in [*MANIFEST["files"], "package.json"], name
    assert MANIFEST["version"] == faradisc.__version__
    assert "dependencies" not in MANIFEST


def test_types_declare_what_is_exported() -> None:
    exported = re.search(r"module\.exports = \{(.+)\};", (PACKAGE / "index.js").read_text())
    assert exported is not None
    names = {name.strip() for name in exported[1].split(",")}
    declared = re.findall(r"^export function (\w+)", (PACKAGE / "index.d.ts").read_text(), re.MULTILINE)
    assert set(declared) == names


@pytest.mark.slow
@needs_npm
def test_own_tests_of_package() -> None:
    assert re.search(r"^. pass 6$", run(PACKAGE, "npm", "test"), re.MULTILINE)


@pytest.fixture(scope="module")
def project() -> Path:
    """A project of a user: the examples, with the package, Jest, Vitest, TypeScript and the SDK installed."""
    folder = cache_folder() / "javascript-package"
    shutil.rmtree(folder / "examples", ignore_errors=True)
    shutil.copytree(PACKAGE / "examples", folder / "examples")
    (folder / "package.json").write_text('{"private": true}')
    run(PACKAGE, "npm", "pack", "--silent", "--pack-destination", str(folder))
    tarball = f"./faradisc-{MANIFEST['version']}.tgz"
    wanted = ("jest", "vitest", "typescript", "@types/node", "@aws-sdk/client-dynamodb", tarball)
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent", *wanted)
    return folder


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize("workers", ["1", "2"])
def test_jest_begins_each_file_with_an_empty_database(project: Path, workers: str) -> None:
    assert "4 passed, 4 total" in run(project / "examples" / "jest", "npx", "jest", "--maxWorkers", workers)


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize("pool", ["forks", "threads"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_vitest_begins_each_file_with_an_empty_database(project: Path, pool: str, workers: str) -> None:
    command = ["npx", "vitest", "run", "--no-color", "--pool", pool, "--maxWorkers", workers]
    assert re.search(r"Tests +4 passed \(4\)", run(project / "examples" / "vitest", *command))


@pytest.mark.slow
@needs_npm
def test_typescript_accepts_documented_use(project: Path) -> None:
    (project / "use.ts").write_text(
        'import { startPool, startServer, freshDatabase, type Server } from "faradisc";\n'
        "export default async (): Promise<() => Promise<void>> => {\n"
        '  const server: Server = await startServer({ options: ["--throughput", "aws"] });\n'
        "  await server.reset();\n"
        "  const url: string = await freshDatabase();\n"
        "  return (await startPool({ environment: { ...process.env, URL: url } })).stop;\n"
        "};\n"
    )
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node"]
    run(project, "npx", "tsc", *options, "use.ts")
