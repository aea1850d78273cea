"""Upper limits on what tenants may ask for, set by the operator's flags. Pure.

Used by `reconciling`. The CRDs allow more: clusters differ in what is right.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.resources.catalog import CatalogSpec


@dataclass(frozen=True, slots=True)
class OperatorLimits:
    """Limits on the settings of tenants.

    Attributes:
        timeout_seconds: maximum duration of one observation, which occupies a worker, whatever its Catalog
            says.
        check_seconds: minimum time between two observations of a table.
        tables: LakeTables of one Catalog beyond which discovery makes none.
    """

    timeout_seconds: float = 120.0
    check_seconds: float = 1.0
    tables: int = 10_000

    def timeout_of(self, catalog: CatalogSpec) -> float:
        """Timeout of one observation of the catalog's tables, in seconds."""
        return min(float(catalog.timeout_seconds), self.timeout_seconds)

    def cut_timeout(self, catalog: CatalogSpec) -> float | None:
        """The reduced value of a Catalog's `timeoutSeconds`, None if that is not reduced."""
        return self.timeout_seconds if catalog.timeout_seconds > self.timeout_seconds else None
