"""The list of adapters: a new format is one folder beside this module, and one entry here.

Read by `registry`, which imports adapters on first use, and by `resources`, which offers their formats and
checks what their catalogs need. Imports nothing, so that those who only need the names stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CatalogRule:
    """What the spec of a Catalog of one format must fulfil, besides the rules for all.

    Attributes:
        expression: a CEL expression over the spec, as `self`.
        message: what must be, for people.
        field_path: the field to which it belongs, such as `.options`.
    """

    expression: str
    message: str
    field_path: str


@dataclass(frozen=True, slots=True)
class Adapter:
    """The modules of an adapter, and what it declares.

    Attributes:
        runs: module with `open_table`.
        observes: module with `open_observer`; imports nothing that writes data files.
        samples: module with `sample_maker`; None for formats without sample tables.
        is_offered: whether users may have tables of it; only the reference for adapters is not offered.
        catalog_rules: what its Catalogs must fulfil.
        has_nested_namespaces: whether its tables may be named `a.b.table`.
    """

    runs: str
    observes: str
    samples: str | None = None
    is_offered: bool = True
    catalog_rules: tuple[CatalogRule, ...] = ()
    has_nested_namespaces: bool = False


_FOLDER = "lithify.formats"

_PAIMON_CATALOGS = (
    CatalogRule(
        "self.metastore != 'Rest' || (has(self.options) && 'token.provider' in self.options) "
        "|| (has(self.secretRef) && 'token.provider' in self.secretRef.options)",
        "a Rest catalog needs the option token.provider, which is bear",
        ".options",
    ),
    CatalogRule(
        "self.metastore != 'Rest' || (has(self.secretRef) && 'token' in self.secretRef.options) "
        "|| (has(self.options) && 'token.provider' in self.options "
        "&& self.options['token.provider'] != 'bear')",
        "the token.provider bear needs the option token, from a Secret: see spec.secretRef.options",
        ".secretRef",
    ),
)

ADAPTERS = MappingProxyType(
    {
        "paimon": Adapter(
            f"{_FOLDER}.paimon.adapter",
            f"{_FOLDER}.paimon.observing.observer",
            f"{_FOLDER}.paimon.sample",
            catalog_rules=_PAIMON_CATALOGS,
        ),
        "iceberg": Adapter(
            f"{_FOLDER}.iceberg.adapter",
            f"{_FOLDER}.iceberg.observer",
            is_offered=False,
            has_nested_namespaces=True,
        ),
        "memory": Adapter(
            f"{_FOLDER}.memory.adapter",
            f"{_FOLDER}.memory.observing",
            is_offered=False,
            has_nested_namespaces=True,
        ),
    }
)
"""The adapters by the name of their format. Catalogs spell it with a capital first letter."""

FORMATS = tuple(name for name, adapter in ADAPTERS.items() if adapter.is_offered)
"""The formats that this release offers; the first is the default."""
