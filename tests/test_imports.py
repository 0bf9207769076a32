"""The house stands: imports go downwards only, the pure parts are pure, one file asks for time and chance.

What it proves: that the order of layers in ARCHITECTURE.md is the order of the code, and that no module is
longer than can be read at once. Why from the syntax
trees: a test that imports would miss what a function imports when it runs.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import faradisc

ROOT = Path(faradisc.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ROWS = (
    ("limits", "records"),
    ("errors", "clock", "charts", "addresses", "files"),
    ("model.values", "metrics"),
    (
        "model.codec",
        "language.expressions",
        "capacity",
        "auth",
        "storage",
        "tools.consumers",
        "engine.objects",
    ),
    ("engine.jobs", "engine.inspection", "engine.copying", "tools.traces"),
    (
        *("language.partiql", "engine.vectors", "engine.sealing", "engine.catalog_log", "tools.planner"),
        *("engine.cluster", "engine.formats"),
    ),
    ("engine.streams", "engine.throughput"),
    ("engine.tables",),
    ("engine.derived",),
    ("engine.encryption",),
    ("engine.backups",),
    ("engine.exchange",),
    ("engine.transactions", "engine.ttl", "engine.kinesis", "engine.replication"),
    ("operations", "engine.check"),
    ("protocol", "services.administration"),
    ("services.cloudwatch", "services.iam"),
    ("services.autoscaling",),
    ("services.other_services",),
    ("background",),
    ("tools.readers",),
    ("database", "tools.seeding", "tools.advisor"),
    ("streams", "tools.transfer", "tools.console", "tools.migrating"),
    ("tools.mcp", "frames"),
    ("server", "local"),
    ("testing",),
    ("cli",),
    ("__main__",),
)
"""Lowest first. A module imports from its own package and from rows below its own; packages of one row
do not import each other. A new package gets a place here before anything else."""

FOLDERS_OF_PACKAGES = ("engine", "language", "model", "services", "tools")
"""Folders that only group packages: the package is one level below, and they contain nothing else."""

RANK = {name: rank for rank, row in enumerate(ROWS) for name in row}

PURE = (
    *("model.values", "model.codec", "language.expressions", "language.partiql"),
    *("capacity", "auth", "charts", "metrics"),
)
"""No I/O, no clock, no `await`."""

BELOW_THE_TOOLS = (
    *(
        "engine",
        "language",
        "model",
        "services",
        "capacity",
        "metrics",
        "storage",
        "operations",
        "protocol",
        "database",
    ),
)
"""None of these may import a tool, a face of the package, or the web pages."""

IMPURE_MODULES = frozenset(
    {"asyncio", "io", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "selectors"}
    | {"shutil", "signal", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "uuid"}
)
IMPURE_FILES = {
    "auth/credentials_file.py": "reads the file it is named for",
    "auth/sealed_file.py": "reads and writes the files that it describes",
}

STORAGE_KNOWS = {"clock", "errors", "files", "limits", "records"}
"""The engines stand beside everything else: they know bytes, not items."""

_CHANCE = ("random", "randint", "randrange", "randbytes", "getrandbits", "choice", "choices", "shuffle")
ASKING_FOR_TIME_OR_CHANCE = frozenset(
    {
        *(f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time")),
        *(f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time")),
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
        *("datetime.date.today", "time.localtime", "time.ctime"),
        *("os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4", "random.SystemRandom"),
        *(f"random.{name}" for name in (*_CHANCE, "sample", "uniform", "gauss", "seed")),
    }
)
ASKING_WITHOUT_ARGUMENT = frozenset({"random.Random", "time.gmtime", "time.strftime"})
"""Harmless with an argument, such as a seed or a time."""


LINES_MAX = 450
"""A longer module has more than one responsibility: give the second one a module with its name."""


def package_of_name(name: str) -> str:
    """Returns the package of a module: `engine.tables` of `faradisc.engine.tables.catalog`."""
    parts = name.split(".")[1:]
    return ".".join(parts[:2] if parts[0] in FOLDERS_OF_PACKAGES else parts[:1])


def name_of(file: Path) -> str:
    """Returns the dotted name of the module in a file."""
    parts = ("faradisc", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(file: Path) -> str:
    return package_of_name(name_of(file)) if file.parent != ROOT or file.stem != "__init__" else "__init__"


@dataclass(frozen=True)
class Facts:
    """What a file imports and calls. Each file is parsed once: that takes most of the time of these tests."""

    imported: tuple[str, ...]
    """Dotted names, without those under `if TYPE_CHECKING:`."""
    targets: tuple[tuple[str, str], ...]
    """All imports: a module and what is imported of it, "" where it is the module itself."""
    waits: tuple[int, ...]
    """Lines that wait, or define what does."""
    asking: tuple[str, ...]
    """Calls that ask for time or chance."""


@cache
def facts_of(file: Path) -> Facts:
    tree = ast.parse(file.read_text())
    nodes = list(ast.walk(tree))
    for_types = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    imported: list[str] = []
    targets: list[tuple[str, str]] = []
    meanings: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
            meanings.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            found = [(str(node.module), alias.name) for alias in node.names]
            meanings.update(
                {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            )
        else:
            continue
        targets += found
        if id(node) not in for_types:
            imported += [f"{module}.{name}" if name else module for module, name in found]
    asking = []
    for node in nodes:
        if isinstance(node, ast.Call):
            head, _, rest = dotted(node.func).partition(".")
            name = meanings.get(head, "") + (f".{rest}" if rest else "")
            if head in meanings and asks(name, node):
                asking.append(name)
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    waits = tuple(node.lineno for node in nodes if isinstance(node, waiting))
    return Facts(tuple(imported), tuple(targets), waits, tuple(asking))


def dotted(node: ast.AST) -> str:
    """Returns a name with its attributes, as it is written; "" for another expression."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def packages_imported(file: Path) -> set[str]:
    """Returns the packages of this project that a file imports, without its own."""
    ours = {package_of_name(name) for name in facts_of(file).imported if name.startswith("faradisc.")}
    return (ours & RANK.keys()) - {package_of(file)}


def test_every_package_has_its_place() -> None:
    packages = {package_of(file) for file in FILES} - {"__init__", *FOLDERS_OF_PACKAGES}
    assert packages - RANK.keys() == set(), "give it a row in ROWS"


def test_the_map_shows_these_rows() -> None:
    text = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text()
    _, _, layers = text.partition("## Layers\n")
    shown = re.findall(r"^    (.+)$", layers.partition("\n## ")[0], re.MULTILINE)
    assert [tuple(row.split(", ")) for row in reversed(shown)] == [*ROWS[:-1]]


@cache
def module_imports() -> dict[str, set[str]]:
    """Returns for every module the modules of this project that it imports, under TYPE_CHECKING too."""
    modules = {name_of(file): file for file in FILES}
    return {
        name: {
            target if (target := f"{module}.{of}") in modules else module
            for module, of in facts_of(file).targets
            if f"{module}.{of}" in modules or module in modules
        }
        - {name}
        for name, file in modules.items()
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    imports = module_imports()
    sorter = TopologicalSorter(imports)
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_nothing_below_the_tools_imports_them() -> None:
    above = ("tools", "cli", "server", "local", "testing", "streams")
    found = [
        f"{name} imports {other}"
        for name, others in module_imports().items()
        if name.split(".")[1:2] and name.split(".")[1] in BELOW_THE_TOOLS
        for other in sorted(others)
        if other.split(".")[1:2] and other.split(".")[1] in above
    ]
    assert found == []


def test_imports_go_downwards() -> None:
    climbing = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in FILES
        if (package := package_of(file)) in RANK
        for name in sorted(packages_imported(file))
        if RANK[name] >= RANK[package]
    ]
    assert climbing == []


def test_no_module_is_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_MAX} == {}


def test_storage_knows_nothing_of_items() -> None:
    known = {name for file in FILES if package_of(file) == "storage" for name in packages_imported(file)}
    assert known <= STORAGE_KNOWS


def test_the_pure_packages_do_no_input_or_output() -> None:
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in FILES
        if package_of(file) in PURE and str(file.relative_to(ROOT)) not in IMPURE_FILES
        for name in facts_of(file).imported
        if name.split(".")[0] in IMPURE_MODULES
    ]
    assert found == []


def test_the_pure_packages_wait_for_nothing() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in FILES
        if package_of(file) in PURE
        for line in facts_of(file).waits
    ]
    assert found == []


def asks(name: str, call: ast.Call) -> bool:
    if name in ASKING_WITHOUT_ARGUMENT:
        return len(call.args) + len(call.keywords) < (2 if name == "time.strftime" else 1)
    return name in ASKING_FOR_TIME_OR_CHANCE or name.startswith("secrets.")


def test_only_the_clock_asks_for_time_and_chance() -> None:
    assert {str(file.relative_to(ROOT)) for file in FILES if facts_of(file).asking} == {"clock.py"}
