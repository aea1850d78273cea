"""Whether the files of a view can be compacted under the table's newest schema.

Called by `planning` for what concerns all buckets, and by the planners of `primary_key` and `append` for the
files that they pick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lithify.errors import MissingFile, UnsupportedTable
from lithify.files.names import format_of
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.support.evolution import (
    file_problems,
    format_problems,
    old_format_problems,
    type_changes,
)
from lithify.formats.paimon.table import PaimonTable


def check_view(table: PaimonTable, view: View) -> None:
    """Checks that nothing in a view prevents the compaction of all its buckets.

    Raises:
        UnsupportedTable: something does, or the newest schema has a column that new files cannot hold.
    """
    problem = table.index_problem(view.indexes.types)
    problems = [
        *([] if problem is None else [problem]),
        *format_problems(table.schema, _new_formats(table)),
    ]
    if problems:
        raise UnsupportedTable(table.name, tuple(problems))


def check_files(table: PaimonTable, view: View, bucket: BucketId, files: Sequence[DataFile]) -> None:
    """Checks that some files of a bucket can be compacted, and the index files with its deletion vectors.

    Raises:
        UnsupportedTable: some cannot, or their directory is unknown.
        CorruptTable: the schema of some is gone.
    """
    table.folder(bucket)
    stored = sorted({(file.schema_id, format_of(file.name)) for file in files})
    unusual = view.unusual(bucket, files)
    problems = [
        *(problem for entry in unusual for problem in file_problems(entry, table.storage.reaches)),
        *(problem for entry in unusual if (problem := table.locations.external_problem(entry.file))),
        *(problem for entry in unusual for problem in _order_problems(table, entry)),
        *(problem for schema_id, name in stored for problem in _old_problems(table, schema_id, name)),
        *(
            f"index file {index.name}: it lies in an external path"
            for index in view.vectors(bucket)
            if index.external_path
        ),
    ]
    if problems:
        raise UnsupportedTable(table.name, tuple(dict.fromkeys(problems)))


def check_present(table: PaimonTable, entries: Sequence[ManifestEntry]) -> None:
    """Checks that files exist, by one listing of each directory of theirs.

    Raises:
        MissingFile: one does not.
    """
    paths = [table.path(entry) for entry in entries]
    folders = {path.rpartition("/")[0] for path in paths}
    there = {folder: frozenset(table.storage.names_in(folder)) for folder in folders}
    for folder, _, name in (path.rpartition("/") for path in paths):
        if name not in there[folder]:
            raise MissingFile(f"{folder}/{name}")


def _order_problems(table: PaimonTable, entry: ManifestEntry) -> Iterator[str]:
    if table.options.snapshot_ordering and entry.file.source is None:
        yield f"data file {entry.file.name}: nothing tells which snapshot its rows came with"


def _old_problems(table: PaimonTable, schema_id: int, name: str) -> Iterator[str]:
    """What prevents files of a schema and a format from being read as rows of the newest schema."""
    old = table.schema_of(schema_id)
    yield from old_format_problems(old, table.schema, (name,))
    yield from type_changes(old, table.schema)


def _new_formats(table: PaimonTable) -> set[str]:
    """The formats of the files to be written."""
    written = [table.options.files]
    if table.options.changelog_files is not None:
        written.append(table.options.changelog_files)
    return {of_level.format for each in written for of_level in (each, *each.levels.values())}
