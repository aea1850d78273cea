"""Table options of the locations of data files.

Called by `table_options`. Names and defaults are those of Paimon's CoreOptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader, bounded
from lithify.io.file_names import is_plain_path, shown
from lithify.io.locations import parse_location

_EXTERNAL = "data-file.external-paths"


@dataclass(frozen=True, slots=True)
class LocationOptions:
    """Locations of data files.

    Attributes:
        default_name: the directory of null or blank partition values.
        legacy: whether directories spell partition values like Java's `toString`.
        directory: the folder of all data files in the table's folder, empty for that itself.
        external: directories for new files instead of the table's folder, as URIs.
        listed: all paths in the option, whatever the strategy: older files may be there.
        weights: relative frequency of each of those; empty for round robin.
        has_entropy: whether files there are in directories named after a hash of their names.
    """

    default_name: str
    legacy: bool
    directory: str
    external: tuple[str, ...]
    listed: tuple[str, ...]
    weights: tuple[int, ...]
    has_entropy: bool


def read_locations(reader: OptionReader) -> LocationOptions:
    """Reads where data files are.

    Raises:
        InvalidOption: a value cannot be parsed, or has no meaning in Paimon.
    """
    strategy = reader.text("data-file.external-paths.strategy", "none").lower()
    external = () if strategy == "none" else _external_paths(reader, strategy)
    return LocationOptions(
        default_name=reader.text("partition.default-name", "__DEFAULT_PARTITION__", stripped=False),
        legacy=reader.boolean("partition.legacy-name", default=True),
        directory=reader.optional("data-file.path-directory", _directory) or "",
        external=external,
        listed=tuple(dict.fromkeys((*external, *_listed_paths(reader)))),
        weights=_weights(reader, external) if strategy == "weight-robin" and len(external) > 1 else (),
        has_entropy=strategy == "entropy-inject",
    )


def _directory(text: str) -> str:
    if parse_location(text).scheme or text.startswith("/") or not is_plain_path(text):
        raise ValueError("it is no folder in the table's own")
    return _java_path(text)


def _external_paths(reader: OptionReader, strategy: str) -> tuple[str, ...]:
    texts = reader.text(_EXTERNAL, "")
    if not texts:
        return ()
    paths = [text.strip() for text in texts.split(",")]
    for path in paths:
        if not parse_location(path).scheme:
            raise InvalidOption(
                _EXTERNAL, f"'{path}' does not say which file system it is on, like file:{path}"
            )
        if not is_plain_path(path):
            raise InvalidOption(_EXTERNAL, f"{shown(path)} has parts or characters that no directory has")
    if strategy == "specific-fs":
        meant = reader.text(f"{_EXTERNAL}.specific-fs", "").lower()
        paths = [path for path in paths if parse_location(path).scheme == meant]
        if not paths:
            raise InvalidOption(f"{_EXTERNAL}.specific-fs", f"no external path is on '{meant}'")
    return tuple(map(_java_path, paths))


def _listed_paths(reader: OptionReader) -> Iterator[str]:
    """The external paths with an explicit scheme; no strategy needs others."""
    for text in reader.text(_EXTERNAL, "").split(","):
        if parse_location(text.strip()).scheme and is_plain_path(text.strip()):
            yield _java_path(text.strip())


def _java_path(text: str) -> str:
    """A path as Paimon's Path class writes it: no empty parts, no trailing slash, no empty host."""
    parts = parse_location(text)
    path = re.sub("/+", "/", parts.path)
    return f"{parts.scheme and parts.scheme + ':'}{parts.host and '//' + parts.host}{path.rstrip('/')}"


def _weights(reader: OptionReader, paths: Sequence[str]) -> tuple[int, ...]:
    key = f"{_EXTERNAL}.weights"
    weights = reader.optional(key, lambda text: tuple(bounded(int(n), 1, None) for n in text.split(",")))
    if weights is not None and len(weights) != len(paths):
        raise InvalidOption(key, f"{len(weights)} weights for {len(paths)} paths")
    return weights or ()
