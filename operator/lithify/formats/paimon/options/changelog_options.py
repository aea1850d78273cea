"""Table options of changelogs and lookups.

Called by `table_options`; the options are read by `changelogs`, `lookups` and `support`. Names and
defaults are those of Paimon's CoreOptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.schema.schema import Schema

PRODUCER = "changelog-producer"
DEDUPLICATE = "changelog-producer.row-deduplicate"
IGNORED = "changelog-producer.row-deduplicate-ignore-fields"
_GENTLE = "gentle"
GENTLE_MILLIS = 3_600_000
"""Age of a level-0 file after which a gentle compaction takes all of level 0.

Java's writers count an attempt at every checkpoint, also without new files while level 0 has some, so that it
is emptied in the end.
"""


class ChangelogProducer(StrEnum):
    """Who writes changelog files, by option values."""

    NONE = "none"
    INPUT = "input"
    FULL_COMPACTION = "full-compaction"
    LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class ChangelogOptions:
    """How changelogs are produced.

    Attributes:
        producer: who writes changelog files.
        deduplicates: whether updates that change nothing are left out.
        ignored: columns that are not compared for that.
        force_lookup: whether compactions look up keys although they write no changelog.
    """

    producer: ChangelogProducer = ChangelogProducer.NONE
    deduplicates: bool = False
    ignored: frozenset[str] = frozenset()
    force_lookup: bool = False

    @property
    def is_compacted(self) -> bool:
        """Whether compactions write changelog files."""
        return self.producer in (ChangelogProducer.FULL_COMPACTION, ChangelogProducer.LOOKUP)

    @property
    def looks_up(self) -> bool:
        """Whether compactions look up keys above their output level; tables with first-row always do."""
        return self.producer is ChangelogProducer.LOOKUP or self.force_lookup


NO_CHANGELOG = ChangelogOptions()


def changelog_producer(options: Mapping[str, str]) -> ChangelogProducer:
    """The producer of a table; NONE if this release does not know it: `support` refuses such tables."""
    written = options.get(PRODUCER, ChangelogProducer.NONE).strip().lower()
    found = (producer for producer in ChangelogProducer if producer == written)
    return next(found, ChangelogProducer.NONE)


def read_changelog_options(reader: OptionReader, options: Mapping[str, str]) -> ChangelogOptions:
    """Reads how changelogs are produced.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    return ChangelogOptions(
        producer=changelog_producer(options),
        deduplicates=reader.boolean(DEDUPLICATE, default=False),
        ignored=frozenset(reader.text(IGNORED, "", stripped=False).split(",")) - {""},
        force_lookup=reader.boolean("force-lookup", default=False),
    )


def compared_columns(schema: Schema, changelog: ChangelogOptions) -> tuple[str, ...]:
    """The columns in which an update must change something to be recorded."""
    return tuple(column.name for column in schema.columns if column.name not in changelog.ignored)


def is_gentle(reader: OptionReader) -> bool:
    """Whether compactions with lookups may leave files in level 0."""
    return reader.text("lookup-compact", "radical").lower() == _GENTLE


def level0_trigger(reader: OptionReader, run_trigger: int) -> int:
    """Number of level-0 files from which a compaction with lookups takes all of them.

    Java counts attempts of one writer; most of them follow a new file of level 0.
    """
    if not is_gentle(reader):
        return 1
    return max(run_trigger, reader.integer("lookup-compact.max-interval", 2 * run_trigger))
