"""The list of adapters: a new format is one folder beside this module, and one entry here.

Read by `registry`, which imports adapters on first use, and by `resources`, which offers their formats.
Imports nothing, so that those who only need the names stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Adapter:
    """The modules of an adapter.

    Attributes:
        runs: module with `open_table`.
        observes: module with `open_observer`; imports nothing that writes data files.
        samples: module with `sample_maker`; None for formats without sample tables.
        is_offered: whether users may have tables of it; only the reference for adapters is not offered.
    """

    runs: str
    observes: str
    samples: str | None = None
    is_offered: bool = True


_FOLDER = "lithify.formats"

ADAPTERS = MappingProxyType(
    {
        "paimon": Adapter(
            f"{_FOLDER}.paimon.adapter", f"{_FOLDER}.paimon.observing.observer", f"{_FOLDER}.paimon.sample"
        ),
        "memory": Adapter(f"{_FOLDER}.memory.adapter", f"{_FOLDER}.memory.observing", is_offered=False),
    }
)
"""The adapters by the name of their format. Catalogs spell it with a capital first letter."""

FORMATS = tuple(name for name, adapter in ADAPTERS.items() if adapter.is_offered)
"""The formats that this release offers; the first is the default."""
