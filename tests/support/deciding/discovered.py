"""A catalog that discovers tables, and LakeTables as discovery makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithify.controller.deciding.discovery import discover
from lithify.resources.catalog import Catalog
from lithify.resources.modelling import read
from lithify.resources.table import LakeTable
from support.deciding.situations import CREATED

NOT_FOUND = {"Ready": ("False", "TableNotFound")}


def catalog(prune: str = "Delete", **discovery: Any) -> Catalog:
    """A catalog that discovers all tables, with something of its discovery changed."""
    found = {"include": ["*.*"], "prune": prune, **discovery}
    body = {
        "metadata": {"name": "warehouse", "namespace": "lake", "uid": "c-1", "generation": 1},
        "spec": {"warehouse": "s3://w", "discovery": found},
    }
    return read(Catalog, body)


def made(
    identifier: str = "db.t0",
    *,
    of: Catalog | None = None,
    ready: Mapping[str, tuple[str, str]] = NOT_FOUND,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> LakeTable:
    """A LakeTable as discovery makes it, with something changed."""
    (body,) = discover([identifier], 1, 100, of or catalog(), []).bodies
    conditions = [
        {"type": kind, "status": state, "reason": reason, "lastTransitionTime": CREATED}
        for kind, (state, reason) in ready.items()
    ]
    return read(
        LakeTable,
        {
            "metadata": {**body["metadata"], "uid": identifier, "resourceVersion": "7", **metadata},
            "spec": {**body["spec"], **(spec or {})},
            "status": {"conditions": conditions, **(status or {})},
        },
    )
