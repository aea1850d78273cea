"""Changelog producers of random histories, and what compactions of ours and of Java's have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import KeyValue
from java.fuzz.engines import FIRST_ROW, IGNORE
from java.fuzz.history import Alter, Change, Step, with_beside
from java.fuzz.options import VECTORS
from support.comparing.changelogs import changelog_files, outline
from support.comparing.file_indexes import assert_same_indexes

_OWN: Mapping[str, Sequence[str]] = {
    "changelog-file.prefix": ["changes-", "data-"],
    "changelog-file.stats-mode": ["none", "counts", "full"],
}
_CODECS = ["zstd", "snappy"]
"""Those that every format has."""
_WHENEVER: Mapping[str, Sequence[str]] = {
    "full-compaction.delta-commits": ["1", "2", "5"],
    "lookup-wait": ["true", "false"],
    "changelog-producer.lookup-wait": ["true", "false"],
}
"""They tell writers and the operator when to compact; a compaction does not depend on them."""
PRODUCERS_WITH_VECTORS: Sequence[str] = ("input", "lookup")
"""Those that Lithify supports in tables with deletion vectors."""
_TRIGGER = "num-sorted-run.compaction-trigger"
"""One less than the number of levels, where a table does not state that."""
_NOT_COMPARED = ("MAP", "MULTISET", "VARIANT")
_NO_KEYS = ("BYTES", "BINARY", "VARBINARY")
NOT_LOOKED_UP = ("VARIANT", "VECTOR", "MULTISET")
"""Types that Java's lookups do not take, in keys or at all."""


def draw_producer(
    random: Random,
    options: Mapping[str, str],
    key: Mapping[str, str],
    values: Mapping[str, str],
    steps: Sequence[Step],
) -> dict[str, str]:
    """Options of a changelog, none for most histories.

    With deletion vectors half of the histories have a producer, and there are no full-compaction producers.
    Java fails over keys of which it ignores all records, and writes no changelog of levels that the table
    does not have any more.
    """
    changes = _changes(steps)
    set_later = {change["set_option"][0] for change in changes if "set_option" in change}
    loses_levels = set_later & {"num-levels", *([] if "num-levels" in options else [_TRIGGER])}
    if random.random() < 0.5 or loses_levels or set_later & {*IGNORE} or {*options} & {*IGNORE}:
        return {}
    same_columns = _keeps_columns(steps)
    kinds = [*key.values(), *values.values(), *_later_kinds(changes)]
    has_lookups = not any(
        [kind.startswith(NOT_LOOKED_UP) for kind in kinds]
        + [kind.startswith(_NO_KEYS) for kind in key.values()]
    )
    engine = options.get("merge-engine")
    producers = [] if engine == FIRST_ROW else ["input"] * 2 + ["full-compaction"] * 4
    producers += ["lookup"] * 4 if has_lookups else []
    if VECTORS in options:
        producers = [producer for producer in producers if producer in PRODUCERS_WITH_VECTORS]
    if not producers:
        return {}
    drawn = {"changelog-producer": random.choice(producers)}
    if drawn["changelog-producer"] == "lookup" and engine != FIRST_ROW and random.random() < 0.15:
        return {"force-lookup": "true"}
    if same_columns and engine != FIRST_ROW and random.random() < 0.3:
        ignored = [name for name, kind in {**key, **values}.items() if any(n in kind for n in _NOT_COMPARED)]
        drawn["changelog-producer.row-deduplicate"] = "true"
        if ignored:
            drawn["changelog-producer.row-deduplicate-ignore-fields"] = ",".join(ignored)
    drawn.update({name: random.choice(own) for name, own in _OWN.items() if random.random() < 0.2})
    return drawn


def draw_details(
    random: Random,
    options: Mapping[str, str],
    formats: Sequence[str],
    kinds: Sequence[str],
    steps: Sequence[Step],
) -> dict[str, str]:
    """How the files of a changelog are written, and when compactions of the table are due.

    Args:
        random: draws them.
        options: of the table, with those of its changelog.
        formats: of its files.
        kinds: the types of its columns.
        steps: of the history.
    """
    drawn = {name: random.choice(values) for name, values in _WHENEVER.items() if random.random() < 0.1}
    if looks_up(options) and random.random() < 0.3:
        drawn["lookup-compact"] = random.choice(["gentle", "radical"])
        if random.random() < 0.7:
            drawn["lookup-compact.max-interval"] = random.choice(["1", "2", "4", "9"])
    if options.get("changelog-producer", "none") != "none":
        held = _formats_too(formats, kinds, keeps_columns=_keeps_columns(steps))
        if len(held) > 1 and random.random() < 0.4:
            drawn["changelog-file.format"] = random.choice(held)
        # A codec of the data files, of all or of those of a level, may be none of the changelog's format.
        is_foreign = "changelog-file.format" in drawn and any("file.compression" in name for name in options)
        if random.random() < 0.3 or is_foreign:
            drawn["changelog-file.compression"] = random.choice(_CODECS)
    return drawn


def looks_up(options: Mapping[str, str]) -> bool:
    """Whether compactions look up keys above their output."""
    says_so = options.get("changelog-producer") == "lookup" or "true" in (
        options.get("force-lookup"),
        options.get(VECTORS),
    )
    return says_so or options.get("merge-engine") == FIRST_ROW


def _formats_too(formats: Sequence[str], kinds: Sequence[str], *, keeps_columns: bool) -> Sequence[str]:
    """The formats that hold what these formats hold."""
    if [*formats] == ["orc"] or ([*formats] == ["avro"] and keeps_columns and "VECTOR" not in f"{kinds}"):
        return [*formats, "parquet"]
    return formats


def _keeps_columns(steps: Sequence[Step]) -> bool:
    return all("set_option" in change for change in _changes(steps))


def _later_kinds(changes: Sequence[Change]) -> Sequence[str]:
    """The types that columns, or parts of them, get by changes."""
    added = [change["add_column"]["type"] for change in changes if "add_column" in change]
    return [*added, *(change["update_type"][1] for change in changes if "update_type" in change)]


def _changes(steps: Sequence[Step]) -> Sequence[Change]:
    return [change for step in with_beside(steps) if isinstance(step, Alter) for change in step.changes]


def written_changes(oracle: Oracle, table: Table, after: int) -> dict[str, list[KeyValue]]:
    """The changes of each bucket in snapshots after one, in the order of the files."""
    found: dict[str, list[KeyValue]] = {}
    for snapshot in oracle.snapshots(table):
        if int(snapshot["id"]) > after:
            rows, files = 0, [entry.file for entry in oracle.files_of_changelog(table, int(snapshot["id"]))]
            for file, changes in zip(files, oracle.kv_rows_of(table, files), strict=True):
                found.setdefault(f"{file.partition} {file.bucket}", []).extend(changes)
                rows += len(changes)
            assert (snapshot.get("changelogRecordCount") or 0) == rows
    return found


def assert_changelog_files_agree(
    oracle: Oracle, ours: Table, java: Table, after: int, types: Mapping[str, str]
) -> None:
    """Our changelog files are Java's if one snapshot after one has as many of both.

    Args:
        oracle: real Java Paimon.
        ours: the table.
        java: a copy that Java has compacted.
        after: the snapshot.
        types: of the columns that have file indexes.
    """
    if not all(any(int(each["id"]) > after for each in oracle.snapshots(table)) for table in (ours, java)):
        return
    mine, theirs = (changelog_files(oracle, table, after + 1) for table in (ours, java))
    if len(mine) == len(theirs):
        assert [outline(file) for file in mine] == [
            outline(file, like=like) for file, like in zip(theirs, mine, strict=True)
        ]
        assert_same_indexes(zip(mine, theirs, strict=True), types)
