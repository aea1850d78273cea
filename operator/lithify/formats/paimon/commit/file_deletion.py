"""Deletes unreferenced files of attempts.

Called by `remains` and by steps, once an attempt has committed or never can. Lists the
directories of the journal's buckets and of the manifests, and recognises an attempt's files by their names:
the form that our writers use, with the attempt's prefix. Anyone who may write to the table's folder can forge
a journal, so file locations do not come from it but from `file_locations`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.commit.references import unreferenced
from lithify.formats.paimon.commit.table_writing import journal_of
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.names.file_names import INDEX_FOLDER, is_data_file_of, is_index_file_of
from lithify.formats.paimon.snapshots.attempt_scope import ExternalRoots, JournalUnit, PaimonAttempt
from lithify.formats.paimon.table import PaimonTable

_SHOWN = 5


def sweep(table: PaimonTable, *attempts: PaimonAttempt) -> int:
    """Deletes unreferenced files of attempts; returns how many there were.

    May only be called when each attempt has committed or never can, and none of its requests is pending.

    Raises:
        CorruptTable: metadata that references files cannot be read, or a journal has buckets that the table
            cannot have, so nothing was deleted; or a file is reached through a symbolic link.
    """
    data = {path: _name(path) for attempt in attempts for path in _files_of(table, attempt)}
    names = [name for attempt in attempts for name in table.manifests.names_with(attempt.prefix)]
    found = data | {table.manifests.path(name): name for name in names}
    if not found:
        return 0
    orphans = unreferenced(table, found.values())
    doomed = [path for path, name in found.items() if name in orphans]
    table.storage.delete_all(doomed)
    failpoint("orphans-deleted")
    return len(doomed)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def buckets_of(table: PaimonTable, attempt: PaimonAttempt) -> dict[BucketId, JournalUnit]:
    """The buckets of an attempt.

    Raises:
        CorruptTable: the table cannot have such a bucket.
    """
    try:
        return {
            table.bucket_id(bytes.fromhex(unit.partition), unit.bucket): unit for unit in attempt.scope.units
        }
    except (ValueError, LookupError, ArithmeticError, struct.error, UnsupportedTable) as error:
        problem = f"the journal has a partition that the table cannot have ({error}); delete it"
        raise CorruptTable(journal_of(table).path(attempt), problem) from error


def _files_of(table: PaimonTable, attempt: PaimonAttempt) -> Iterator[str]:
    """The data files and index files of an attempt."""
    yield from data_files(table, attempt)
    for path in table.storage.files_below(f"{table.root}/{INDEX_FOLDER}"):
        if is_index_file_of(attempt.prefix, _name(path)):
            yield path


def data_files(table: PaimonTable, attempt: PaimonAttempt) -> Iterator[str]:
    """The files of an attempt in its buckets' directories, also in external paths that are its own.

    Index files may be there, too (`index-file-in-data-file-dir`).

    Raises:
        CorruptTable: the table cannot have a bucket of the attempt, or a bucket's directory lies elsewhere.
    """
    buckets = buckets_of(table, attempt)
    is_outside = attempt.scope.outside is not None and is_of_table(table, attempt)
    folders = {
        folder
        for bucket in buckets
        for folder in table.locations.existing_folders(bucket, external=is_outside)
    }
    for folder in sorted(folders):
        for path in table.storage.files_below(folder):
            if is_data_file_of(attempt.prefix, _name(path)) or is_index_file_of(attempt.prefix, _name(path)):
                yield path


def is_of_table(table: PaimonTable, attempt: PaimonAttempt) -> bool:
    """Whether an attempt's files outside the table's folder belong to this table and not to another copy.

    They do not if the table has been moved or copied since: in a copy, the files there may be those of the
    original, and the two cannot be told apart.
    """
    return attempt.scope.outside is None or table.storage.is_same_place(
        attempt.scope.outside.table, table.root
    )


def knows_all_places(table: PaimonTable, attempt: PaimonAttempt) -> bool:
    """Whether this table's present options name all directories into which an attempt wrote."""
    return attempt.scope.outside is None or (
        is_of_table(table, attempt) and table.locations.are_current(attempt.scope.outside.roots)
    )


def left_alone(table: PaimonTable, attempt: PaimonAttempt) -> CorruptTable:
    """Why the journal of an attempt is kept whose directories are not all this table's."""
    outside = attempt.scope.outside or ExternalRoots("", ())
    problem = (
        f"it was written for {outside.table} with external paths that this table does not have now, so files "
        f"in {' and '.join(outside.roots[:_SHOWN])} whose names contain {attempt.prefix} were left alone; "
        "delete those that no table uses, then this journal"
    )
    return CorruptTable(journal_of(table).path(attempt), problem)
