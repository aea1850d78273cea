"""A range of keys: what a merge asks of its runs, and readers of files can skip."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.columns.order import KeyValue

Key = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys above `after` up to and including `upto`; None leaves an end open."""

    after: Key | None = None
    upto: Key | None = None


EVERYTHING = KeyRange()
