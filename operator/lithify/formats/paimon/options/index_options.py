"""Table options of file indexes (`file-index.*`), read as Java's `FileIndexOptions` does.

Called by `table_options`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.errors import InvalidOption
from lithify.formats.paimon.file_indexes.model import (
    FileIndexOptions,
    IndexedColumn,
    IndexKind,
    IndexSettings,
)
from lithify.formats.paimon.options.option_reader import (
    OptionReader,
    as_positive,
    as_share,
    bounded,
)
from lithify.sizes import parse_size

_PREFIX = "file-index."
_COLUMNS = ".columns"
_PARTS = 3
"""Parts of the name of an option of one index: its kind, its column, and what it is about."""
_MOST_BITS = 1 << 29
"""Upper bound of a bloom filter's bits: each data file has one, and a task holds it in memory."""
_LARGEST_INT = (1 << 31) - 1

_Name = tuple[IndexKind, str]
"""A kind, and a column or `column[key]`."""


def read_index_options(reader: OptionReader, options: Mapping[str, str]) -> FileIndexOptions:
    """Reads which columns have which indexes.

    Kinds that this release does not know are left to `support`, which refuses them.

    Raises:
        InvalidOption: a value cannot be parsed, or belongs to a column without such an index.
    """
    default = FileIndexOptions()
    names = dict.fromkeys(
        (kind, name) for kind in IndexKind for name in _names(f"{_PREFIX}{kind}{_COLUMNS}", options)
    )
    own = _own_options(options, names)
    return FileIndexOptions(
        indexed=tuple(_indexed(reader, kind, name, own) for kind, name in names),
        most_embedded=reader.size(f"{_PREFIX}in-manifest-threshold", default.most_embedded),
    )


def _names(key: str, options: Mapping[str, str]) -> Iterator[str]:
    """The columns that an option names."""
    names = options[key].split(",") if key in options else []
    while len(names) > 1 and not names[-1]:
        names.pop()  # as Java splits texts
    for name in names:
        if not name.strip():
            raise InvalidOption(key, "a column in it is empty")
        yield name.strip()


def _own_options(options: Mapping[str, str], names: Mapping[_Name, None]) -> dict[_Name, dict[str, str]]:
    """By index, or by MAP for all its keys, the full names of its options by their last part."""
    maps = {(kind, name.partition("[")[0]): None for kind, name in names if _is_of_key(name)}
    found: dict[_Name, dict[str, str]] = {}
    for key in sorted(options):
        parts = key.removeprefix(_PREFIX).split(".")
        if not key.startswith(_PREFIX) or key.endswith(_COLUMNS) or len(parts) != _PARTS:
            continue
        if parts[0] not in {*IndexKind}:
            continue
        index = (IndexKind(parts[0]), parts[1])
        if index not in names and index not in maps:
            listed = f"{_PREFIX}{parts[0]}{_COLUMNS}"
            raise InvalidOption(key, f"{listed} does not name the column {parts[1]}")
        found.setdefault(index, {})[parts[2]] = key
    return found


def _is_of_key(name: str) -> bool:
    return "[" in name and name.endswith("]")


def _indexed(
    reader: OptionReader, kind: IndexKind, name: str, own: Mapping[_Name, Mapping[str, str]]
) -> IndexedColumn:
    """One index; options of a MAP hold for all its keys that have none of their own."""
    column, key = name, None
    if _is_of_key(name):
        column, _, rest = name.partition("[")
        key = rest.removesuffix("]")
    keys = {**own.get((kind, column), {}), **own.get((kind, name), {})}
    return IndexedColumn(column, kind, _settings(reader, keys), key)


def _settings(reader: OptionReader, keys: Mapping[str, str]) -> IndexSettings:
    """The options of one index.

    Args:
        reader: all options.
        keys: the full names of its options by their last part.
    """
    default = IndexSettings()

    def name(part: str) -> str:
        return keys.get(part, "")

    settings = IndexSettings(
        items=reader.optional(name("items"), as_positive) or default.items,
        false_positives=reader.optional(name("fpp"), as_share) or default.false_positives,
        version=reader.integer(name("version"), default.version, low=1, high=2),
        block_size=reader.size(name("index-block-size"), default.block_size),
        chunk_size=reader.optional(name("chunk-size"), _as_chunk_size),
    )
    if settings.bits > _MOST_BITS:
        option = name("items") or name("fpp")
        raise InvalidOption(option, f"a filter would have {settings.bits} bits, more than {_MOST_BITS}")
    return settings


def _as_chunk_size(text: str) -> int:
    return bounded(parse_size(text), 0, _LARGEST_INT)
