"""Lithify keeps lakehouse tables compacted: plans as the format plans, merges in Arrow, runs on Spark.

As a library: `lithify.inspect`, `lithify.plan`, `lithify.compact` and `lithify.maintain`, with the types that
they take. They are imported on first use, because the operator imports this package and must stay small.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = frozenset(
    {
        "Commits",
        "InlineRunner",
        "MaintenanceKind",
        "MaintenanceReport",
        "MaintenanceSettings",
        "Plan",
        "Report",
        "Selection",
        "Sizing",
        "SparkSettings",
        "Strategy",
        "TableAddress",
        "TableInspection",
        "compact",
        "inspect",
        "maintain",
        "plan",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lithify' has no attribute '{name}'")
    return getattr(import_module("lithify.library"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
