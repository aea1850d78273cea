"""Objects that the pages show are what our kinds ask for, and printed columns are those of now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lithify.errors import InvalidResource
from lithify.resources.compaction import Reason, RunStrategy
from lithify.resources.crd import DEFINITIONS, Definition
from lithify.resources.names import API_VERSION, OWN_KINDS
from lithify.resources.validating import validated
from support.pages import CURRENT, OPERATOR, README, ROOT, Page, arguments

Object = dict[str, Any]
KINDS = {kind.name: kind for kind in OWN_KINDS}
SHOWN = tuple(
    page for page in CURRENT if any(found["apiVersion"] == API_VERSION for found in page.manifests())
)
EXAMPLES = sorted(
    path
    for path in (ROOT / "examples").rglob("*.yaml")
    if "\ncommits:\n" not in path.read_text("utf-8")  # tables of differential/test_examples.py
)
_CELLS = re.compile(r"\s{2,}")


def problems(objects: list[Object]) -> Iterator[str]:
    """What the API server would refuse of our kinds among objects."""
    for found in objects:
        if found["apiVersion"] == API_VERSION:
            meta = {"name": f"{found['metadata'].get('generateName')}x", **found["metadata"]}
            try:
                validated(KINDS[found["kind"]], {**found, "metadata": meta})
            except InvalidResource as error:
                yield str(error)


def printed(page: Page) -> Iterator[tuple[Definition, bool, list[list[str]]]]:
    """What a page shows of `kubectl get`: the kind, whether it is wide, and the cells of each line."""
    for block in page.blocks:
        lines = block.text.splitlines()
        for number, line in enumerate(lines):
            words = arguments(line[2:]) if line.startswith("$ kubectl get ") else []
            rows = [_CELLS.split(row.strip()) for row in lines[number + 1 :] if not row.startswith("$")]
            kinds = [each for each in DEFINITIONS if words[2:3] == [each.kind.plural]]
            if kinds and rows:
                yield kinds[0], "wide" in words, rows


def columns(definition: Definition, *, wide: bool = True) -> list[str]:
    """The headings that `kubectl get` prints for a kind."""
    return ["NAME", *(each.name.upper() for each in definition.columns if wide or not each.wide)]


def of_kind(plural: str) -> Definition:
    """The definition of a kind."""
    (found,) = [each for each in DEFINITIONS if each.kind.plural == plural]
    return found


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_objects_on_the_pages_are_accepted(page: Page) -> None:
    assert list(problems(page.manifests())) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_accepted(path: Path) -> None:
    assert list(problems([found for found in yaml.safe_load_all(path.read_text("utf-8")) if found])) == []


def test_a_wrong_object_is_noticed() -> None:
    text = "kind: LakeTable\nmetadata: {name: x}\nspec: {identifier: shop.orders, catalogRef: {name: lake}}"
    right = Page(ROOT / "x.md", f"```yaml\napiVersion: {API_VERSION}\n{text}\n```\n")
    wrong = Page(right.path, right.text.replace("shop.orders", "orders"))
    assert list(problems(right.manifests())) == []
    assert len(list(problems(wrong.manifests()))) == 1


def test_what_kubectl_prints_has_the_columns_of_now() -> None:
    (found,) = printed(README)
    definition, wide, rows = found
    assert rows[0] == columns(definition, wide=wide)
    for row in rows[1:]:
        said = dict(zip(rows[0], row, strict=True))
        assert said["STRATEGY"] in set(RunStrategy)
        assert Reason(said["STATUS"]).is_final
        assert re.fullmatch(r"\d+→\d+", said["FILES"])
        assert re.fullmatch(r"[\d.]+[KMGT]i→[\d.]+[KMGT]i", said["BYTES"])


@pytest.mark.parametrize(
    ("column", "plural"), re.findall(r"([A-Z]{3,}) column of `kubectl get (\w+)`", OPERATOR.sentences)
)
def test_columns_that_the_pages_name_are_printed(column: str, plural: str) -> None:
    assert column in columns(of_kind(plural), wide=False)


def test_why_is_a_wide_column() -> None:
    """Both pages send people to `-o wide` for it."""
    of_tables = of_kind("laketables")
    assert "WHY" in set(columns(of_tables)) - set(columns(of_tables, wide=False))
    assert "`kubectl get laketables -o wide`" in OPERATOR.sentences


def test_kinds_are_those_of_now() -> None:
    rows = {row[0]: row[1] for row in OPERATOR.table("kind", "short")}
    assert rows == {each.kind.name: each.short_names[0] for each in DEFINITIONS}
    assert all(len(each.short_names) == 1 for each in DEFINITIONS)
