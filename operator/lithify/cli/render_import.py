"""Imported settings as YAML: a CompactionPolicy, LakeTables, and notes as comments.

Called by `import_settings`. Every object is validated as an API server would do it. Texts in comments are
plain and on one line, so that no value of the input can become a field.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import yaml

from lithify.controller.deciding.names import table_object_name
from lithify.errors import InvalidOption
from lithify.formats.protocol.importing import ImportedSettings, ImportedTable, ImportNote
from lithify.plain_text import plain_line
from lithify.resources.names import LAKE_TABLE, POLICY, ResourceKind
from lithify.resources.objects import NAME_FORM, OBJECT_NAME
from lithify.resources.validating import validated

CATALOG = "lake"
"""The Catalog's name if nothing says it."""
_WIDTH = 110
_LONGEST = 2000
_FOREIGN = re.compile(r"[^a-z0-9.]+")


def imported_yaml(settings: ImportedSettings, name: str, catalog: str | None = None) -> str:
    """The objects, a document each, below the notes.

    Args:
        settings: what was imported.
        name: the policy's name.
        catalog: the Catalog's name; None for what the settings call it.

    Raises:
        InvalidOption: a name is none of Kubernetes.
        InvalidResource: an object would be refused.
    """
    _check_name("--name", name)
    if catalog is not None:
        _check_name("--catalog", catalog)
    objects = [_object(POLICY, name, settings.policy), *_tables(settings.tables, name, catalog)]
    for each in objects:
        validated(POLICY if each["kind"] == POLICY.name else LAKE_TABLE, each)
    documents = "---\n".join(yaml.safe_dump(each, sort_keys=False, width=_WIDTH) for each in objects)
    return "\n".join([*_comments(settings), documents])


def _check_name(flag: str, name: str) -> None:
    if not re.fullmatch(OBJECT_NAME, name):
        raise InvalidOption(flag, NAME_FORM)


def _object(kind: ResourceKind, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": dict(spec)}


def _tables(tables: Iterable[ImportedTable], policy: str, catalog: str | None) -> Iterator[dict[str, Any]]:
    known: set[tuple[str, str]] = set()
    taken: set[str] = set()
    for table in tables:
        owner = catalog or _FOREIGN.sub("-", table.catalog.lower()).strip("-.") or CATALOG
        if (owner, table.identifier) in known:
            problem = f"two catalogs of the settings have {table.identifier}: import them one by one"
            raise InvalidOption("--catalog", problem)
        known.add((owner, table.identifier))
        name = table_object_name(owner, table.identifier, taken)
        taken.add(name)
        references = {
            "catalogRef": {"name": owner},
            "identifier": table.identifier,
            "policyRef": {"name": policy},
        }
        yield _object(LAKE_TABLE, name, {**references, **table.spec})


def _comments(settings: ImportedSettings) -> Iterator[str]:
    yield f"# Made by lithify import from {settings.origin}. What became of each setting:"
    for source, notes in groupby(settings.notes, lambda note: note.source):
        yield "#"
        yield f"# {plain_line(source, _LONGEST)}"
        for note in notes:
            yield from _comment(note)
    yield ""


def _comment(note: ImportNote) -> Iterator[str]:
    subject = f"{note.name} = {note.value}" if note.value else note.name
    text = plain_line(f"{subject}: {note.meaning}", _LONGEST)
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="# - ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    if note.statement:
        yield f"#     {plain_line(note.statement, _LONGEST)};"
