"""The interface between `lithify import` and table formats: settings of other programs, as ours.

`registry` finds the adapters that can read such settings. Plain data: fields of resources are paths and
values here, because formats do not know the resources, and commands do not know the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

FieldValue: TypeAlias = bool | int | str | Mapping[str, Any]
"""The value of a field of a resource."""
Spec: TypeAlias = Mapping[str, FieldValue]
"""A spec of a resource, or a part of one: fields in camelCase."""


@dataclass(frozen=True, slots=True)
class ImportNote:
    """What became of one setting.

    Attributes:
        source: where it stands, such as `line 3, rewrite_data_files of db.t`.
        name: the setting; empty for a remark about the whole source.
        value: its value, as written; empty if it has none.
        meaning: what it became, or why it became nothing and what to do instead.
        statement: SQL that does what no resource can say; empty for none.
    """

    source: str
    name: str
    value: str
    meaning: str
    statement: str = ""


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """A table that the settings name.

    Attributes:
        catalog: the catalog as the source calls it; empty if it does not say.
        identifier: `database.table`, as in a LakeTable.
        spec: fields of the LakeTable's spec besides references and identifier.
    """

    catalog: str
    identifier: str
    spec: Spec = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedSettings:
    """The settings of another program, as ours.

    Attributes:
        origin: what was read, for people, such as `2 CALL statements`.
        policy: fields of the CompactionPolicy's spec.
        tables: the tables that are named.
        notes: what became of each setting, in the order of the source.
    """

    origin: str
    policy: Spec
    tables: tuple[ImportedTable, ...]
    notes: tuple[ImportNote, ...]


Importer: TypeAlias = Callable[[str, str | None], ImportedSettings | None]
"""Reads a text, and the name of the table whose properties it has, if known; None if it is of another kind.

Raises InvalidOption with the place if the text cannot be read.
"""
