"""All reasons why this release cannot compact an Iceberg table, each a sentence that names its cause. Pure.

Called when a table is opened, before any work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lithify.engine.support.refusals import refused_options
from lithify.formats.iceberg.support.rules import load

NEWEST_VERSION = 3
HIVE_ROOT = "base.hive.location-root"
"""The property by which tables of Arctic and Amoro say that Hive reads their data files."""
_OBEYED = ("write.", "commit.", "compatibility.", "encryption.")
"""Properties that Iceberg's writers obey; others that nobody classified are notes of users and engines."""
_REFUSED_TYPES = ("variant", "geometry", "geography", "unknown")
_UNKNOWN = "Lithify does not know what it asks of writers"


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """What decides whether a table can be compacted.

    Attributes:
        json: its metadata, as stored.
        overrides: properties of this run that replace stored ones.
        branch: the branch that is written.
        is_remotely_signed: whether its catalog's server wants to sign each request for a file.
        is_keyed_store: whether it is a store of a keyed table of Arctic or Amoro.
        is_read_by_hive: whether it is a table of theirs whose data files Hive reads in place.
    """

    json: Mapping[str, Any]
    overrides: Mapping[str, str]
    branch: str
    is_remotely_signed: bool = False
    is_keyed_store: bool = False
    is_read_by_hive: bool = False


def refusals(table: LoadedTable) -> Iterator[str]:
    """Every reason why the table cannot be compacted."""
    version = table.json.get("format-version")
    if version not in range(1, NEWEST_VERSION + 1):
        yield f"format-version = {version}: this release knows the versions 1 to {NEWEST_VERSION}"
        return
    if table.is_remotely_signed:
        yield (
            "s3.remote-signing-enabled = true: the catalog's server wants to sign each request, which this "
            "release does not ask it for; have it vend credentials, or give the Catalog keys"
        )
    if table.is_keyed_store:
        yield (
            "mixed-format.table-store: it is a store of a keyed table of Arctic or Amoro, and names of its "
            "files tell what rows are; give the Catalog the format MixedIceberg"
        )
    if table.is_read_by_hive:
        yield (
            f"{HIVE_ROOT}: Hive reads its files where they are; open it by a Catalog of the format "
            "MixedIceberg and the metastore Hive"
        )
    yield from _encryption(table.json)
    yield from _inline_manifests(table.json)
    yield from _staging(table)
    stored = table.json.get("properties") or {}
    properties = {name: str(value) for name, value in {**stored, **table.overrides}.items()}
    yield from map(str, refused_options("property", properties, load(), _UNKNOWN, _OBEYED))
    yield from _columns(table.json)


def _encryption(found: Mapping[str, Any]) -> Iterator[str]:
    if found.get("encryption-keys"):
        yield "encryption-keys: this release can neither read nor write encrypted files"
    elif any(each.get("key-id") for each in found.get("snapshots") or ()):
        yield "key-id of a snapshot: this release can neither read nor write encrypted manifest lists"


def _inline_manifests(found: Mapping[str, Any]) -> Iterator[str]:
    """The first writers of version 1 named manifests in the metadata; every later commit makes a list."""
    if any(each.get("manifests") and not each.get("manifest-list") for each in found.get("snapshots") or ()):
        yield (
            "manifests of a snapshot: this release reads manifests from lists only; append to the table, and "
            "expire the snapshots before"
        )


def _staging(table: LoadedTable) -> Iterator[str]:
    """Branches on which others prepare what they publish later: a compaction would be published with it."""
    reference = (table.json.get("refs") or {}).get(table.branch) or {}
    heads = [
        each
        for each in table.json.get("snapshots") or ()
        if each.get("snapshot-id") == reference.get("snapshot-id")
    ]
    if table.branch != "main" and any("wap.id" in (each.get("summary") or {}) for each in heads):
        yield f"branch {table.branch}: its newest snapshot is staged (wap.id), and awaits its writer's audit"


def _columns(found: Mapping[str, Any]) -> Iterator[str]:
    current = found.get("current-schema-id", 0)
    schemas = found.get("schemas") or [found.get("schema") or {}]
    for schema in schemas:
        if schema.get("schema-id", 0) == current or len(schemas) == 1:
            for field in schema.get("fields") or ():
                for kind in sorted(set(_types_in(field.get("type"))) & set(_REFUSED_TYPES)):
                    yield f"column {field.get('name')} has the type {kind}, which this release cannot rewrite"


def _types_in(kind: Any) -> Iterator[str]:
    """The names of all types in a type, without their parameters."""
    if isinstance(kind, str):
        yield kind.partition("(")[0]
    elif isinstance(kind, Mapping):
        for key in ("element", "key", "value"):
            yield from _types_in(kind.get(key))
        for field in kind.get("fields") or ():
            yield from _types_in(field.get("type"))
