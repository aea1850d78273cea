"""Docstrings of modules name other modules and functions; renames must not leave old names behind."""

import ast
import re
from pathlib import Path

import pytest

import lithify

ROOT = Path(lithify.__file__).parent
OUTSIDE = {
    *("k", "kubectl", "jdbc", "hadoop", "kubernetes"),  # a unit, a program, prefixes of options
    *("_row_id", "_last_updated_sequence_number", "expected_parameter_key", "rewrite_data_files"),
}
"""Words of others in backticks, such as columns and procedures of Iceberg."""


@pytest.mark.thorough
def test_module_docstrings_name_only_what_exists() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    known = OUTSIDE | _names_of(trees)
    stale = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees.items()
        for name in re.findall(r"`([a-z_][a-z_.]*)`", ast.get_docstring(tree) or "")
        if name.rstrip(".").rpartition(".")[2] not in known
    ]
    assert stale == []


def _names_of(trees: dict[Path, ast.Module]) -> set[str]:
    """Modules, packages, and all names that code defines or uses."""
    found = {part for path in trees for part in (path.stem, path.parent.name)}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.arg | ast.keyword) and node.arg:
                found.add(node.arg)
    return found
