"""Root's own directories hide PostgreSQL's programs from the user it runs as."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from pathlib import Path

import pytest

from faradisc.storage.postgres import private
from fixtures.postgres import QUICK, needs_programs, temporary_place


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives up its rights")
def test_programs_below_a_closed_directory_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_programs()
    found = private.programs()
    assert found is not None
    package, closed = found.parents[1], tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for each in package.parent.glob(f"{package.name}*"):
        shutil.copytree(each, closed / each.name, symlinks=True)
    monkeypatch.setattr(private, "programs", lambda: closed / found.relative_to(package.parent))
    place = temporary_place(f"closed-{uuid.uuid4().hex}")
    server = private.PrivatePostgres(place, QUICK)
    server.join()
    assert server.leave()
    assert (place / "programs").is_dir()
    shutil.rmtree(place)
