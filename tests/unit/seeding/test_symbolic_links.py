"""Symbolic links that lead out of a seed directory are errors."""

from __future__ import annotations

import json
from pathlib import Path

from faradisc.tools.seeding import read_seed
from unit.seeding.seed_files import REQUEST, errors, read


def test_link_out_of_the_directory_is_reported(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(REQUEST))
    seed = tmp_path / "seed"
    (seed / "items").mkdir(parents=True)
    (seed / "music.json").symlink_to(outside)
    (seed / "items" / "music.json").symlink_to(outside)
    found = read_seed(seed, {})
    assert (found.tables, found.files) == ([], [])
    text = f"the symbolic link leads out of {seed}; put the file itself here."
    assert errors(found) == [f"music.json:1: {text}", f"items/music.json:1: {text}"]


def test_link_within_the_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()  # the layout of a mounted Kubernetes ConfigMap
    (tmp_path / "..data" / "music.json").write_text(json.dumps(REQUEST))
    (tmp_path / "music.json").symlink_to(tmp_path / "..data" / "music.json")
    assert [table.name for table in read(tmp_path, {}).tables] == ["music"]
