"""Schema changes that are supported between a table's files, and during a run.

Called by `table` before any work (can all files be rewritten under the newest schema?) and by `committer`
(was the table changed concurrently?). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lithify.engine.support.rules import Support
from lithify.files.casting import cast_between
from lithify.files.names import FORMATS, format_of
from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.model import SUFFIX
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.options.picking_options import has_compacting_writers
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.support.loading import load


def schema_conflict(running: Schema, newest: Schema) -> str | None:
    """Why a run that was planned with one schema may not commit under a newer one; None if it may.

    Options that do not concern compaction may change at any time.
    """
    if running.id == newest.id:
        return None
    if running.columns != newest.columns or running.primary_key != newest.primary_key:
        return "the columns of the table were changed meanwhile"
    options = load().options
    for key in sorted(running.options.keys() | newest.options.keys()):
        rule = options.rule(key)
        harmless = rule is not None and rule.support is Support.HARMLESS
        if not harmless and running.options.get(key) != newest.options.get(key):
            return f"the table option {key} was changed meanwhile"
    if has_compacting_writers(newest.options) and not has_compacting_writers(running.options):
        return "writers of the table compact since the option write-only was changed meanwhile"
    return None


def file_problems(entry: ManifestEntry, reaches: Callable[[str], bool]) -> Iterator[str]:
    """Why this release cannot compact a data file; table options do not tell, they may have changed since.

    Args:
        entry: the file.
        reaches: whether a file outside the table's folder can be read.
    """
    file = entry.file
    if format_of(file.name) not in FORMATS:
        yield f"data file {file.name}: only {', '.join(FORMATS)} files are rewritten"
    if any(not name.endswith(SUFFIX) for name in file.extra_files):
        yield f"data file {file.name}: it has a file beside it that is no index, which would be lost"
    if file.external_path is not None and not reaches(file.external_path):
        place = file.external_path
        yield f"data file {file.name}: it lies in {place}, on another kind of file system than the table"
    if file.first_row_id is not None or file.write_columns is not None:
        yield f"data file {file.name}: it belongs to row tracking or data evolution"


def format_problems(schema: Schema, formats: Iterable[str]) -> Iterator[str]:
    """Columns whose types some of the files' formats cannot hold yet."""
    for name in sorted(set(formats)):
        for column in schema.columns:
            for kind in sorted(set(_not_held(column.type, name))):
                yield f"column {column.name}: {kind} in {name.upper()} files"


def old_format_problems(old: Schema, newest: Schema, formats: Iterable[str]) -> Iterator[str]:
    """Like `format_problems` for files of an older schema: columns may be missing or have other types."""
    names = {column.id: column.name for column in newest.columns}
    columns = (replace(column, name=names[column.id]) for column in old.columns if column.id in names)
    yield from format_problems(replace(old, columns=tuple(columns)), formats)


def _not_held(column: ColumnType, name: str) -> Iterator[str]:
    """The types, including parts, that a format cannot hold; nanoseconds cannot go from ORC to Parquet."""
    if _ONLY_IN.get(column.root, name) != name:
        yield column.root
    elif column.is_nanos and name == "avro":
        yield "timestamps of nanoseconds"
    else:
        for part in column.fields:
            yield from _not_held(part.type, name)


_ONLY_IN = {"MULTISET": "parquet", "VARIANT": "parquet", "VECTOR": "avro"}
"""Types that Java supports in one format only."""


def type_changes(old: Schema, newest: Schema) -> Iterator[str]:
    """Columns whose type changed since a file was written, without a conversion that matches Java's."""
    before = {column.id: column.type for column in old.columns}
    for column in newest.columns:
        known = before.get(column.id)
        if known is not None and cast_between(known, column.type) is None:
            yield (
                f"column {column.name}: it had another type in schema {old.id}, "
                "and files from then are not converted as Paimon does it"
            )
