"""The four kinds of objects as tests apply them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithify.resources.catalog import is_credential
from lithify.resources.names import API_VERSION

Object = dict[str, Any]

QUIET = {"primaryKey": {"sortedRuns": 100}}
"""Triggers that never fire for the small tables of tests."""
HASTY = {"backoffSeconds": 1, "maxBackoffSeconds": 1}
"""Retries that come at once."""
NO_RETRIES = {"infrastructure": 0, "scheduling": 0, "conflict": 0, "outOfMemory": 0, "bug": 0, **HASTY}


def catalog(name: str, warehouse: Path | str, **spec: Any) -> Object:
    """A catalog of files, unless `spec` says otherwise."""
    return _object("Catalog", name, {"warehouse": str(warehouse), **spec})


def catalog_and_keys(catalog: Object) -> list[Object]:
    """A Catalog whose options hold credentials, as people have to write it: with a Secret beside it."""
    spec = dict(catalog["spec"])
    options = spec.get("options", {})
    keys = {option: value for option, value in options.items() if is_credential(option)}
    if not keys:
        return [catalog]
    name = f"{catalog['metadata']['name']}-credentials"
    told = spec.get("secretRef", {"name": name, "options": {}})
    assert told["name"] == name, "a Catalog has one Secret"
    spec["options"] = {option: value for option, value in options.items() if option not in keys}
    spec["secretRef"] = {"name": name, "options": {option: option for option in keys}}
    return [secret(name, **keys), {**catalog, "spec": spec}]


def policy(name: str, **spec: Any) -> Object:
    """A policy that looks every second and tries again at once."""
    return _object("CompactionPolicy", name, {"checkIntervalSeconds": 1, "retries": HASTY, **spec})


def lake_table(name: str, *, catalog: str, policy: str, identifier: str = "db.t", **spec: Any) -> Object:
    """A table under care."""
    references = {"catalogRef": {"name": catalog}, "policyRef": {"name": policy}}
    return _object("LakeTable", name, {**references, "identifier": identifier, **spec})


def compaction(name: str, table: str, *, strategy: str = "Full", **spec: Any) -> Object:
    """A run that somebody asks for."""
    return _object("Compaction", name, {"tableRef": {"name": table}, "strategy": strategy, **spec})


def secret(name: str, **values: str) -> Object:
    """A Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def _object(kind: str, name: str, spec: Mapping[str, Any]) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
