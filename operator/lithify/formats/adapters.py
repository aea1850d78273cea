"""The list of adapters: a new format is one folder beside this module, and one entry here.

Read by `registry`, which imports adapters on first use, and by `declared`, which reads what each declares of
its figures, triggers and catalogs. Imports nothing, so that those who only need the names stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Adapter:
    """The modules of an adapter, whose folder has a module `declarations`.

    Attributes:
        runs: module with `open_table`.
        observes: module with `open_observer`; imports nothing that writes data files.
        samples: module with `sample_maker`; None for formats without sample tables.
        maintains: module with `open_maintained`; None for formats without any kind of maintenance.
        imports: module with `import_settings`, an `Importer`; None for formats without one.
        rolls_back: whether its tables can be rolled back to an earlier snapshot.
        is_offered: whether users may have tables of it; only the reference for adapters is not offered.
        has_nested_namespaces: whether its tables may be named `a.b.table`.
        group_noun: what it calls a group of files that is compacted, in sentences for people.
        folder: its folder, beside this module; empty if that has the name of the format.
    """

    runs: str
    observes: str
    samples: str | None = None
    maintains: str | None = None
    imports: str | None = None
    rolls_back: bool = False
    is_offered: bool = True
    has_nested_namespaces: bool = False
    group_noun: str = "partition"
    folder: str = ""


_FOLDER = "lithify.formats"

ADAPTERS = MappingProxyType(
    {
        "paimon": Adapter(
            f"{_FOLDER}.paimon.adapter",
            f"{_FOLDER}.paimon.observing.observer",
            f"{_FOLDER}.paimon.sample",
            f"{_FOLDER}.paimon.maintaining",
            rolls_back=True,
            group_noun="bucket",
        ),
        "iceberg": Adapter(
            f"{_FOLDER}.iceberg.adapter",
            f"{_FOLDER}.iceberg.observing.observer",
            f"{_FOLDER}.iceberg.sample",
            f"{_FOLDER}.iceberg.maintaining",
            f"{_FOLDER}.iceberg.importing.importer",
            rolls_back=True,
            has_nested_namespaces=True,
        ),
        "mixed-iceberg": Adapter(
            f"{_FOLDER}.mixed.adapter",
            f"{_FOLDER}.mixed.observing.observer",
            maintains=f"{_FOLDER}.mixed.maintaining",
            has_nested_namespaces=True,
            folder="mixed",
        ),
        "memory": Adapter(
            f"{_FOLDER}.memory.adapter",
            f"{_FOLDER}.memory.observing",
            is_offered=False,
            has_nested_namespaces=True,
        ),
    }
)
"""The adapters by the name of their format."""

FORMATS = tuple(name for name, adapter in ADAPTERS.items() if adapter.is_offered)
"""The formats that this release offers; the first is the default."""


def can_roll_back(name: str) -> bool:
    """Whether tables of a format can be rolled back."""
    return name in ADAPTERS and ADAPTERS[name].rolls_back


def title_of(name: str) -> str:
    """How Catalogs spell the name of a format: `MixedIceberg` for `mixed-iceberg`."""
    return "".join(part.capitalize() for part in name.split("-"))


def format_titled(title: str) -> str:
    """The name of the format that Catalogs spell so; an unknown one stays as it is, in small letters."""
    return next((name for name in ADAPTERS if title_of(name) == title), title.lower())
