"""Files as columns: their paths, what they are, and digests by which spellings of one path are equal.

Called by `doomed_files` and `journal`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, flags, whole, with_columns
from lithify.columns.text_hashes import Hashes, text_hashes

TEXT = pa.large_string()
"""Paths of many files exceed the 2 GiB of Arrow's short strings."""
_AZURE = r"^(?i:abfss?|wasbs?)://([^/@]*@[^/.]*)\.(?i:dfs|blob)\."
FILES = pa.schema([("path", TEXT), ("kind", pa.int8())])
"""The columns of files."""


class FileKind(IntEnum):
    """What a file is; files are deleted in this order."""

    DATA = 0
    DELETES = 1
    MANIFEST = 2
    LIST = 3
    STATISTICS = 4


def files_of(paths: Any, kind: FileKind) -> pa.Table:
    """Files of one kind, from a column or a sequence of paths."""
    texts = (
        whole(paths).cast(TEXT) if isinstance(paths, pa.Array | pa.ChunkedArray) else pa.array(paths, TEXT)
    )
    return pa.table([texts, np.full(len(texts), kind, dtype=np.int8)], schema=FILES)


def distinct(parts: Iterable[pa.Table]) -> pa.Table:
    """All files with their `digest`, each once: names that come again are dropped part by part."""
    seen, found = np.empty(0, np.uint64), [_with_digests(FILES.empty_table())]
    for part in map(_with_digests, parts):
        fresh, places = np.unique(digests_in(part), return_index=True)
        is_new = ~is_in_sorted(fresh, seen)
        if is_new.any():
            seen = np.insert(seen, np.searchsorted(seen, fresh[is_new]), fresh[is_new])
            found.append(part.take(pa.array(np.sort(places[is_new]))))
    return pa.concat_tables(found)


def digests_in(files: pa.Table) -> Hashes:
    """The digests of files."""
    return cast(Hashes, whole(files["digest"]).to_numpy())


def is_in_sorted(digests: Hashes, among: Hashes) -> Flags:
    """Mask of the digests that are among sorted ones."""
    if not len(among):
        return np.zeros(len(digests), dtype=bool)
    places = np.minimum(np.searchsorted(among, digests), len(among) - 1)
    return np.asarray(among[places] == digests)


def digests_of(paths: Any) -> Hashes:
    """A number of 64 bits for each path, the same for all spellings of one file.

    That two files have the same number is as good as impossible, and would only keep one of them.
    """
    return text_hashes(keys_of(paths))


def _with_digests(files: pa.Table) -> pa.Table:
    return with_columns(files, digest=pa.array(digests_of(files["path"]), pa.uint64()))


def keys_of(paths: Any) -> pa.Array:
    """The paths without scheme and host, and with single slashes.

    A store may be spelled in several ways (`s3`, `s3a`, an alias of a bucket, `file:` or nothing). Two files
    may have the same key and then keep each other, but one file has one key however it is spelled.
    """
    plain = pc.replace_substring_regex(
        whole(paths).cast(TEXT), r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://[^/]*)?", ""
    )
    return pc.replace_substring_regex(plain, "//+", "/")


def are_below(paths: Any, folders: Sequence[str]) -> Flags:
    """Mask of the paths that lie below one of some folders: on the same store, and by no detour."""
    places = _places(paths)
    found = np.zeros(len(places), dtype=bool)
    for folder in _places(pa.array([f"{each.rstrip('/')}/" for each in folders], TEXT)):
        found |= flags(pc.starts_with(places, folder.as_py()))
    return np.asarray(found & ~flags(pc.match_substring_regex(places, r"/\.\.?(?:/|$)")))


def _places(paths: Any) -> pa.Array:
    """The paths with one spelling of each scheme, and with single slashes."""
    texts = pc.replace_substring_regex(whole(paths).cast(TEXT), "^[sS]3[aAnN]?://", "s3://")
    texts = pc.replace_substring_regex(texts, _AZURE, r"abfss://\1.dfs.")
    texts = pc.replace_substring_regex(texts, "^file:(?://[^/]*)?/", "/")
    return pc.replace_substring_regex(texts, "([^:/])//+", r"\1/")
