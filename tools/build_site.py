"""Builds the documentation as a site: `python tools/build_site.py [DIRECTORY]`, by default build/site.

MkDocs wants all pages below one directory; ours stand beside the code that they describe. So the pages and
what they link to are copied with their paths, and no link has to be rewritten. A broken link fails the build.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "LICENSE", "docs/**/*", "bench/*.md", "bench/*.py", "examples/**/*", "packages/**/*")


def collect(target: Path) -> None:
    """Copies the pages and the files that they link to into an empty `target`."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts and "node_modules" not in path.parts:
                copy = target / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


def main(site: Path) -> None:
    """Raises mkdocs.exceptions.Abort when a page has a broken link or is in no menu."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    pages = site.parent / f"{site.name}-pages"
    collect(pages)
    try:
        build(load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(site)))
    finally:
        shutil.rmtree(pages)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site")
