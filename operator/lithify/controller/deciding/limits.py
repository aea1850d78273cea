"""What tenants may ask for at most, as the operator's flags say. Pure.

Used by `reconciling`. The definitions of the kinds allow more: what is right for one cluster is not for all.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.resources.catalog import CatalogSpec


@dataclass(frozen=True, slots=True)
class OperatorLimits:
    """Limits on the wishes of tenants.

    Attributes:
        timeout_seconds: how long one look may take whatever its Catalog says: while it takes, a worker waits.
        check_seconds: how often a table may be looked at, at most once in this time.
        tables: LakeTables of one Catalog beyond which discovery makes none.
    """

    timeout_seconds: float = 120.0
    check_seconds: float = 1.0
    tables: int = 10_000

    def timeout_of(self, catalog: CatalogSpec) -> float:
        """Seconds that one look at a catalog may take."""
        return min(float(catalog.timeout_seconds), self.timeout_seconds)

    def cut_timeout(self, catalog: CatalogSpec) -> float | None:
        """What a Catalog gets instead of its `timeoutSeconds`, None if it gets what it asks for."""
        return self.timeout_seconds if catalog.timeout_seconds > self.timeout_seconds else None
