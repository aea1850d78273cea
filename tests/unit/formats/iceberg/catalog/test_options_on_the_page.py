"""docs/commands.md lists every catalog option of Iceberg, and every metastore with its name in resources."""

from __future__ import annotations

from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS
from lithify.formats.iceberg.declarations import FORMAT
from lithify.io.objects.stores import OPTION_NAMES
from support.pages import COMMANDS

SECTION = COMMANDS.prose.partition("### Catalog options of Iceberg")[2].partition("\n## ")[0]


def test_every_option_is_there() -> None:
    every = {name for options in CATALOG_OPTIONS.known.values() for name in options} - OPTION_NAMES
    assert sorted(name for name in every if f"`{name}`" not in SECTION) == []


def test_every_metastore_is_there_and_declared() -> None:
    assert {each.option for each in FORMAT.metastores} == {*CATALOG_OPTIONS.known}
    for each in FORMAT.metastores:
        assert f"| `{each.option}`" in SECTION
        assert f"| `{each.name}` |" in SECTION
