"""Folders of tests: none imports another one's modules, and those of `unit` are the folders of the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cases import case

TESTS = Path(__file__).resolve().parents[1]
SHARED = frozenset({"support", "infrastructure"})
FOLDERS = frozenset(path.name for path in TESTS.iterdir() if path.is_dir() and next(path.rglob("*.py"), None))
MODULES = sorted(path.relative_to(TESTS) for folder in FOLDERS for path in (TESTS / folder).rglob("*.py"))
# Parsing all of the tests takes seconds, so only files with such a line are parsed.
SUSPECT = re.compile(rf"^\s*(?:from|import)\s+(?:{'|'.join(sorted(FOLDERS - SHARED))})\b", re.MULTILINE)


def imported(source: str) -> Iterator[str]:
    """The names of all modules that a source imports, as it writes them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def home(folder: Path) -> tuple[str, ...]:
    """What belongs together: each folder of `unit` for itself, elsewhere what has one thing to prove."""
    return folder.parts if folder.parts[0] == "unit" else folder.parts[:2]


def foreign(module: Path, source: str) -> list[str]:
    """Imports of a module, given by its path below `tests`, that belong to another folder of tests."""
    found = []
    for name in imported(source) if SUSPECT.search(source) else ():
        parts = name.split(".")
        if parts[0] in FOLDERS - SHARED:
            path = Path(*parts)
            folder = path.parent if (TESTS / path).with_suffix(".py").exists() else path
            if home(folder) != home(module.parent):
                found.append(name)
    return found


def test_every_import_is_its_own_or_shared() -> None:
    found = {str(module): foreign(module, (TESTS / module).read_text("utf-8")) for module in MODULES}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        case(
            "java/safety/test_x.py",
            "import cluster.hostile.catalogs",
            ["cluster.hostile.catalogs"],
            id="another folder",
        ),
        case(
            "java/safety/test_x.py",
            "from unit.cli.conftest import A",
            ["unit.cli.conftest"],
            id="a unit test's",
        ),
        case("unit/docs/test_x.py", "from unit.cli import conftest", ["unit.cli"], id="another unit"),
        case(
            "java/fuzz/x.py",
            "def f():\n    import java.memory.page",
            ["java.memory.page"],
            id="inside a function",
        ),
        case(
            "support/runs.py",
            "from java.safety.conftest import a",
            ["java.safety.conftest"],
            id="a fixture's",
        ),
        case("unit/cli/test_x.py", "from unit.cli.conftest import A", [], id="its own"),
        case("cluster/hostile/test_x.py", "from cluster.hostile import catalogs", [], id="its own below"),
        case(
            "java/safety/test_x.py",
            "from support.cases import case\nimport infrastructure.chart",
            [],
            id="shared",
        ),
        case("java/safety/test_x.py", '"""All that comes\nfrom java of ours."""', [], id="only words"),
    ],
)
def test_an_import_is_judged_by_where_it_stands(module: str, source: str, expected: list[str]) -> None:
    assert foreign(Path(module), source) == expected


UNIT, SOURCE = TESTS / "unit", TESTS.parent / "operator" / "lithify"
APART = frozenset({"chart", "cluster", "docs"})
"""Folders of `unit` about what is outside of the source: chart, cluster infrastructure and pages."""


def test_folders_of_unit_tests_are_those_of_the_source() -> None:
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("*.py")}
    mirrored = [folder for folder in folders if not APART & {*folder.parts[:1]}]
    assert [str(folder) for folder in mirrored if not (SOURCE / folder).is_dir()] == []
