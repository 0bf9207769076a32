"""Every page and section that code, tests and documents cite exists.

A citation is the name of a page, with the numbers of its sections where it has some: `errors.md section 4`,
`capacity.md sections 2.2 and 2.11`, `errors.md 6.3`. A bare name is a page below docs/ or at the root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "bench", "tools", "docs", "examples")
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md", ".script", ".txt", ".yaml"} and path.is_file()
)
FILES += sorted(ROOT.glob("*.md"))
PAGES: dict[str, list[Path]] = {}
for _page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
    PAGES.setdefault(_page.name, []).append(_page)

NUMBERS = r"\d+(?:\.\d+)*(?:(?:, and |, | and | to )\d+(?:\.\d+)*(?!\d*%))*"
CITATION = re.compile(
    r"(?<![\w/<{*.-])(?P<page>(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+\.md)\b"
    rf"(?:[\"`]?\)?,? ?(?:(?:sections?|part) )?(?P<numbers>{NUMBERS}))?"
)
LINK = re.compile(r"\]\((?!https?://)(?P<page>[^)#\s]*)(?:#(?P<anchor>[^)]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
VECTOR = re.compile(r"\bV(\d+[a-d]?)\b")


def prose(path: Path) -> str:
    """Returns a file as one line, so that a citation may go over the end of a line."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text())


def citations(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yields the pages that a file cites, each with its section numbers."""
    for found in CITATION.finditer(prose(path)):
        numbers = re.findall(r"\d+(?:\.\d+)*", found["numbers"] or "")
        yield found["page"], numbers


@cache
def sections(page: Path) -> set[str]:
    """Returns the numbers that begin the headings of a page, without the dot behind a single one."""
    numbers = (re.match(r"\d+(?:\.\d+)*", heading) for heading in HEADING.findall(page.read_text()))
    return {number[0] for number in numbers if number}


def resolve(path: Path, page: str) -> list[Path]:
    """Returns the pages that a citation may mean: by its path from the root or the file, or by its name."""
    for folder in (ROOT, path.parent):
        if (folder / page).is_file():
            return [(folder / page).resolve()]
    if (page_of_root := ROOT / page.replace("../", "")).is_file():  # a text that another folder's page gets
        return [page_of_root]
    return PAGES.get(page, [])


@cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in HEADING.findall(page.read_text())
    }


def test_cited_pages_and_sections_exist() -> None:
    missing: list[str] = []
    for path in FILES:
        for page, numbers in citations(path):
            targets = resolve(path, page)
            if not targets:
                missing.append(f"{path.relative_to(ROOT)}: {page}")
            known = set().union(*map(sections, targets)) if targets else set()
            if known:
                missing += [
                    f"{path.relative_to(ROOT)}: {page} section {number}"
                    for number in numbers
                    if number not in known
                ]
    assert missing == []


def test_links_lead_to_files_and_headings() -> None:
    broken: list[str] = []
    for path in (path for path in FILES if path.suffix == ".md"):
        for link in LINK.finditer(path.read_text()):
            target = path.parent / unquote(link["page"]) if link["page"] else path
            if not target.exists() or (
                link["anchor"] and target.suffix == ".md" and link["anchor"] not in anchors(target)
            ):
                broken.append(f"{path.relative_to(ROOT)}: {link[0]}")
    assert broken == []


def test_names_of_reference_pages_are_unique() -> None:
    names = {path.name for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert [name for name in sorted(names) if len(PAGES[name]) > 1] == []


def test_cited_vectors_are_listed() -> None:
    listed = set(VECTOR.findall((ROOT / "tools" / "test_vectors.txt").read_text()))
    cited = {
        number
        for path in FILES
        if path.suffix == ".py" and path.is_relative_to(ROOT / "src")
        for number in VECTOR.findall(path.read_text())
    }
    assert cited <= listed
