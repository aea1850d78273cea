"""What formats declare: one thing by each name, loaded without them, and named nowhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lithify
from lithify.formats.adapters import ADAPTERS, FORMATS
from lithify.formats.declarations import MOST_GROUPS, Block, Figure, Format, Kind
from lithify.formats.declared import blocks, check_blocks, declared, format_named, joined
from support.cases import case

ROOMS = ("cli", "contract", "controller", "engine", "resources")
COMMON = {"append", "buckets", "dueBuckets", "smallFiles", "deletedRows", "primaryKey", "sizeRatioPercent"}
"""Words of formats that others may use: for what all tables have, and for hours of larger compactions."""
BLOCK = Block(
    "rowGroups",
    "tables in tests",
    "Row groups.",
    (
        Figure("most", Kind.COUNT, "Most in a file."),
        Figure("mostIn", Kind.GROUP, "Where."),
        Figure("known", Kind.PERCENT, "Known.", is_optional=True),
    ),
)
SEEN: Mapping[str, Any] = {
    "buckets": 1,
    "dueBuckets": 0,
    "maxSmallFiles": 3,
    "maxSmallFilesBucket": "bucket-0",
    "deletedRows": 7,
}
BEHIND: Mapping[str, Any] = {"name": "p=a", "line": 4, "lag": 2, "changeFiles": 3, "deleteBytes": 100}
CHANGES: Mapping[str, Any] = {
    "changeFiles": 3,
    "insertBytes": 10,
    "deleteBytes": 100,
    "positionDeleteFiles": 0,
    "maxChangeFiles": 3,
    "maxChangeFilesPartition": "p=a",
    "maxLag": 2,
    "maxLagPartition": "p=a",
    "furthestBehind": (BEHIND,),
}


def words(found: Format) -> Iterator[str]:
    """The names that a format declares."""
    for block in found.blocks:
        yield block.name
        yield from (figure.name for figure in (*block.figures, *block.group_figures))
    for group in found.triggers:
        yield group.name
        yield from (trigger.name for trigger in group.triggers)


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)


def test_figures_and_triggers_of_a_format_are_named_by_it_alone() -> None:
    declared_words = {word for name in FORMATS for word in words(declared(name))} - COMMON
    names = "|".join(sorted({*declared_words, *map(snake, declared_words)}))
    package = Path(lithify.__file__).parent
    sources = (path for room in ROOMS for path in (package / room).rglob("*.py"))
    found = {
        f"{path.relative_to(package)}: {match}"
        for path in sources
        for match in re.findall(rf"\b(?:{names})\b", path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_declarations_are_loaded_without_adapters_and_their_libraries() -> None:
    script = (
        "import sys, lithify.resources.crd, lithify.controller.telemetry.metrics\n"
        "heavy = {'pyarrow', 'pypaimon', 'pandas', 'polars', 'numpy', 'pyspark'}\n"
        f"heavy |= {{f'lithify.formats.{{name}}' for name in {[*ADAPTERS]}}}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_what_two_formats_declare_alike_is_one_thing() -> None:
    assert joined([BLOCK, replace(BLOCK)]) == (BLOCK,)


def test_two_formats_cannot_mean_different_things_by_one_name() -> None:
    with pytest.raises(ValueError, match="rowGroups"):
        joined([BLOCK, replace(BLOCK, figures=BLOCK.figures[:1])])


def test_figures_and_columns_have_one_name_each() -> None:
    figures = [figure for block in blocks() for figure in block.figures]
    columns = [figure.column for figure in figures if figure.column]
    series = [figure.metric.name for figure in figures if figure.metric]
    assert len(columns) == len(set(columns))
    assert len(series) == len(set(series))


def test_format_that_this_release_does_not_have_declares_nothing() -> None:
    assert format_named("delta") is None
    assert format_named("paimon") == declared("paimon")


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_declares_a_metastore(name: str) -> None:
    assert declared(name).metastores != ()


def test_blocks_as_declared_are_taken() -> None:
    check_blocks({"append": SEEN})
    check_blocks({"append": {**SEEN, "deletedRows": None, "maxSmallFilesBucket": None}})
    check_blocks({"changeStore": CHANGES})
    check_blocks({"changeStore": {**CHANGES, "furthestBehind": (BEHIND,) * MOST_GROUPS}})
    check_blocks({})


@pytest.mark.parametrize(
    "found",
    [
        case({"appended": SEEN}, id="an unknown block"),
        case({"append": {**SEEN, "files": 1}}, id="a figure more"),
        case({"append": {"buckets": 1}}, id="a figure less"),
        case({"append": {**SEEN, "buckets": None}}, id="no number"),
        case({"append": {**SEEN, "buckets": "1"}}, id="a text for a number"),
        case({"append": {**SEEN, "buckets": True}}, id="a truth value for a number"),
        case({"append": {**SEEN, "maxSmallFilesBucket": 1}}, id="a number for a path"),
        case({"changeStore": {**CHANGES, "furthestBehind": None}}, id="no groups"),
        case({"changeStore": {**CHANGES, "furthestBehind": ("p=a",)}}, id="a text for a group"),
        case({"changeStore": {**CHANGES, "furthestBehind": (BEHIND,) * 11}}, id="too many groups"),
        case({"changeStore": {**CHANGES, "furthestBehind": ({**BEHIND, "lag": "2"},)}}, id="a text"),
        case(
            {"changeStore": {**CHANGES, "furthestBehind": ({"name": "p=a"},)}}, id="a figure less of a group"
        ),
    ],
)
def test_blocks_that_are_not_as_declared_are_refused(found: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError):
        check_blocks(found)
