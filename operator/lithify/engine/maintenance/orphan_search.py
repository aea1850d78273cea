"""Finds and deletes the files of a table that nothing names, in any format.

Called by adapters, which know where a format puts files and what names them. The order makes it safe: first
files are listed, then names are read. A commit between the two only adds names, and what it names was written
before it: an orphan is a file that was old when it was listed and that no later look at the metadata names.
Names that commits add after the plan are read again before each portion of files is deleted.

Files go through the local disk, so memory depends on `MOST_AT_ONCE`, not on the table: beyond that many old
files, names are read once for each portion of them. The method is that of Java Paimon's `OrphanFilesClean`,
but for the listing, which is one recursive one, and the comparison, which is by hashes instead of sets of
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flagged, integers, listed, whole
from lithify.columns.text_hashes import Hashes, text_hashes
from lithify.engine.maintenance.name_marks import NameMarks
from lithify.engine.maintenance.share_limit import Amount
from lithify.engine.maintenance.stored_files import STORED, Disk, StoredFiles
from lithify.faults import failpoint
from lithify.formats.protocol.maintenance import MOST_SAMPLES

MOST_AT_ONCE = 8 << 20
"""Files that are compared with names at the same time; each takes 17 bytes of memory."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files that are old enough and lie where the format puts files of such names.

    Attributes:
        portions: the files, in parts that are compared at the same time.
        listed: all files of the table's folder, of any age and name.
        disk: where the portions are.
    """

    portions: tuple[StoredFiles, ...]
    listed: Amount
    disk: Disk


@dataclass(frozen=True, slots=True)
class Orphans:
    """The files that nothing names.

    Attributes:
        files: where they are listed.
        counts: number of files of each kind, by the kind's number.
        listed: all files of the table's folder.
        samples: paths of some of them.
        disk: where `files` is.
    """

    files: StoredFiles
    counts: Numbers
    listed: Amount
    samples: tuple[str, ...]
    disk: Disk

    @property
    def amount(self) -> Amount:
        """How many they are."""
        return Amount(self.files.count, self.files.size)


Chosen = tuple[pa.Table, pa.Array]
"""Files of a listing that may be orphans, with a column `kind`, and the name of each."""


def gather(
    listings: Iterable[pa.Table],
    choose: Callable[[pa.Table], Chosen],
    before_millis: int,
    most_at_once: int = MOST_AT_ONCE,
) -> Candidates:
    """Lists the old files of a table that may be orphans.

    Args:
        listings: batches of `io.listings.LISTED`.
        choose: which of them lie where the format puts such files.
        before_millis: when a file must have been written for the last time. Files without a time are young.
        most_at_once: files in a portion.

    Raises:
        StorageError: the table or the local disk refuses.
    """
    disk = Disk()
    portions: list[StoredFiles] = []
    listed_files = listed_bytes = 0
    for files in listings:
        listed_files += len(files)
        listed_bytes += int(integers(files["size"]).sum())
        chosen, names = choose(files)
        stored = _stored(chosen, names, _is_old(integers(chosen["modified_millis"]), before_millis))
        if not portions or portions[-1].count + len(stored) > most_at_once:
            portions.append(StoredFiles(disk.folder / f"candidates-{len(portions)}.arrow"))
        portions[-1].add(stored)
    amount = Amount(listed_files, listed_bytes)
    return Candidates(tuple(each.finish() for each in portions), amount, disk)


def find_orphans(
    candidates: Candidates,
    names: Callable[[], Iterable[pa.Array]],
    is_spared: Callable[[pa.Array], Flags],
    kinds: int,
) -> Orphans:
    """The candidates that nothing names.

    Args:
        candidates: the files.
        names: reads the names of all files that something needs; called once for each portion.
        is_spared: which paths stay although nothing names them.
        kinds: the number of kinds of files.

    Raises:
        CorruptTable: names cannot be read, so it is unknown what is needed.
        StorageError: the table or the local disk refuses.
    """
    found = StoredFiles(candidates.disk.folder / "orphans.arrow")
    counts = np.zeros(kinds, dtype=np.int64)
    samples: list[str] = []
    for portion in candidates.portions:
        marks = NameMarks(portion.hashes())
        for some in names():
            marks.mark(some)
        for files in _unnamed(portion, marks.unnamed):
            left = flagged(files, ~is_spared(whole(files["path"])))
            found.add(left)
            counts += np.bincount(integers(left["kind"]), minlength=kinds)
            samples += listed(whole(left["path"]).slice(0, MOST_SAMPLES - len(samples)))
        portion.delete()
    return Orphans(found.finish(), counts, candidates.listed, tuple(samples), candidates.disk)


def delete_orphans(
    orphans: Orphans,
    root: str,
    delete: Callable[[Sequence[str]], None],
    new_names: Callable[[], Iterable[pa.Array]],
) -> tuple[Numbers, int]:
    """Deletes orphans, but those that commits since have named; returns how many of each kind, and bytes.

    May be repeated after it was ended at any point: then the next search finds what is left.

    Args:
        orphans: the files.
        root: the folder to which their paths are relative.
        delete: deletes files; missing ones are no error.
        new_names: reads the names that commits have added since the last call; called before each portion.

    Raises:
        CorruptTable: names cannot be read; nothing of this portion and later ones was deleted.
        StorageError: the file system refuses; the next search finds what is left.
    """
    counts, size = np.zeros_like(orphans.counts), 0
    named: list[Hashes] = []
    for files in orphans.files.batches():
        named += map(text_hashes, new_names())
        part = _without(files, named)
        paths = pc.binary_join_element_wise(root, whole(part["path"]), "/")
        delete(listed(paths))
        failpoint("orphans-removed")
        counts += np.bincount(integers(part["kind"]), minlength=len(counts))
        size += int(integers(part["size"]).sum())
    return counts, size


def _is_old(modified_millis: Numbers, before_millis: int) -> Flags:
    """Stores that know no time say 1970, or earlier."""
    return (modified_millis > 0) & (modified_millis < before_millis)


def _stored(chosen: pa.Table, names: pa.Array, is_old: Flags) -> pa.Table:
    columns = [chosen["path"], chosen["kind"], chosen["size"], pa.array(text_hashes(names), pa.uint64())]
    return flagged(pa.table(columns, schema=STORED), is_old)


def _unnamed(portion: StoredFiles, unnamed: Flags) -> Iterator[pa.Table]:
    start = 0
    for files in portion.batches():
        yield flagged(files, unnamed[start : start + len(files)])
        start += len(files)


def _without(files: pa.Table, named: Iterable[Hashes]) -> pa.Table:
    """The files whose names have none of some hashes."""
    hashes = whole(files["hash"]).to_numpy()
    stays = np.ones(len(files), dtype=bool)
    for each in named:
        stays &= ~np.isin(hashes, each)
    return flagged(files, stays)
