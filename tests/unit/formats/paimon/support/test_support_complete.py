"""Every option and every type that Paimon has, in Python or in Java, is classified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pypaimon
import pytest
from pypaimon.common.options import config, core_options
from pypaimon.common.options.config_option import ConfigOption
from pypaimon.schema.data_types import Keyword

from infrastructure.oracle.client import Oracle
from lithify.formats.paimon.support.checks import check_options
from lithify.formats.paimon.support.loading import load


def unclassified(names: set[str]) -> list[str]:
    return sorted(name for name in names if load().options.rule(name) is None)


def python_options() -> Iterator[ConfigOption[Any]]:
    """Every option object of pypaimon's option classes."""
    for module in (core_options, config):
        for owner in vars(module).values():
            if isinstance(owner, type) and owner.__module__ == module.__name__:
                yield from (value for value in vars(owner).values() if isinstance(value, ConfigOption))


def python_names() -> set[str]:
    """Every option name that pypaimon's code declares, wherever it does."""
    names = {option.key() for option in python_options()}
    for path in Path(pypaimon.__file__).parent.rglob("*.py"):
        names |= set(re.findall(r"ConfigOptions\s*\.\s*key\(\s*\"([^\"]+)\"", path.read_text("utf-8")))
    return names - {"tmp.dir", "application.parallelism", "user.name"}  # examples in a docstring


def test_every_option_of_pypaimon_is_classified() -> None:
    assert len(python_names()) > 150
    assert unclassified(python_names()) == []


def test_every_column_option_of_pypaimon_is_classified() -> None:
    owner = core_options.CoreOptions
    suffixes = [value for name, value in vars(owner).items() if type(value) is str and name in COLUMN_OPTIONS]
    assert len(suffixes) > 5
    assert unclassified({f"fields.f.{suffix}" for suffix in suffixes}) == []


def test_every_type_of_pypaimon_is_classified() -> None:
    assert [word.value for word in Keyword if load().type(word.value) is None] == []


def test_what_pypaimon_does_unasked_is_accepted() -> None:
    defaults = {o.key(): as_text(o.default_value()) for o in python_options() if o.has_default_value()}
    assert check_options(defaults) == []


def as_text(value: object) -> str:
    """A default as a table would spell it."""
    if isinstance(value, Enum):
        return str(value.value)
    return "" if value == {} else str(value)


# The constants of both CoreOptions that end the name of a column's option, `fields.<column>.<constant>`.
COLUMN_OPTIONS = {
    *("AGG_FUNCTION", "IGNORE_RETRACT", "NESTED_KEY", "NESTED_KEY_NULL_STRATEGY", "NESTED_SEQUENCE_FIELD"),
    *("COUNT_LIMIT", "DISTINCT", "LIST_AGG_DELIMITER", "MERGE_MAP_TS_FIELD", "STATS_MODE_SUFFIX"),
    *(
        "MAP_STORAGE_LAYOUT",
        "MAP_SHARED_SHREDDING_MAX_COLUMNS",
        "MAP_SHARED_SHREDDING_COLUMN_PLACEMENT_POLICY",
    ),
}


def java_names(oracle: Oracle) -> set[str]:
    return {name for option in oracle.options().options for name in (option.key, *option.fallback_keys)}


@pytest.mark.oracle
def test_every_option_of_java_is_classified(oracle: Oracle) -> None:
    assert len(java_names(oracle)) > 400
    assert unclassified(java_names(oracle)) == []


@pytest.mark.oracle
def test_every_column_option_of_java_is_classified(oracle: Oracle) -> None:
    constants = oracle.options().constants
    suffixes = [
        constants[f"CoreOptions.{name}"] for name in COLUMN_OPTIONS if f"CoreOptions.{name}" in constants
    ]
    assert len(suffixes) > 5
    assert unclassified({f"fields.f.{suffix}" for suffix in suffixes}) == []


@pytest.mark.oracle
def test_every_type_of_java_is_classified(oracle: Oracle) -> None:
    roots = [root.replace("_", " ").removesuffix(" WITHOUT TIME ZONE") for root in oracle.types()]
    assert len(roots) > 20
    assert [root for root in roots if load().type(root) is None] == []


@pytest.mark.oracle
def test_what_java_does_unasked_is_accepted(oracle: Oracle) -> None:
    options = oracle.options().options
    defaults = {o.key: "" if o.default == "{}" else o.default for o in options if o.default is not None}
    assert check_options(defaults) == []


@pytest.mark.oracle
def test_no_option_is_misspelt_or_filed_under_a_wrong_source(oracle: Oracle) -> None:
    declared = java_names(oracle) | python_names()
    exact = [(name, r.source) for r in load().options for name in r.names if "*" not in name]
    assert [name for name, source in exact if source == "paimon" and name not in declared] == []
    assert [(name, source) for name, source in exact if source != "paimon" and name in declared] == []


@pytest.mark.oracle
def test_every_family_has_a_member(oracle: Oracle) -> None:
    declared = java_names(oracle) | python_names()
    globs = [name for r in load().options for name in r.names if "*" in name and r.source == "paimon"]
    patterns = {
        glob: re.escape(glob).replace(r"\*", ".*")
        for glob in globs
        if not glob.startswith(("fields.", "file-index."))
    }
    empty = [
        glob for glob, pattern in patterns.items() if not any(re.fullmatch(pattern, d) for d in declared)
    ]
    assert empty == []
