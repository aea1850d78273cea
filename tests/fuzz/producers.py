"""Changelog producers of random histories, and what compactions of ours and of Java's have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from fuzz.engines import FIRST_ROW, IGNORE
from fuzz.history import Alter, Compact, Step
from fuzz.options import VECTORS
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import KeyValue

_OWN: Mapping[str, Sequence[str]] = {
    "changelog-file.prefix": ["changes-", "data-"],
    "changelog-file.stats-mode": ["none", "counts", "full"],
}
_NOT_COMPARED = ("MAP", "MULTISET", "VARIANT")
_NOT_LOOKED_UP = ("BYTES", "BINARY", "VARBINARY", "VARIANT", "VECTOR", "MULTISET")
"""Types that Java's lookups do not take, in keys or at all."""


def draw_producer(
    random: Random,
    options: Mapping[str, str],
    key: Mapping[str, str],
    values: Mapping[str, str],
    steps: Sequence[Step],
) -> dict[str, str]:
    """Options of a changelog, none for most histories.

    With deletion vectors there are no full-compaction producers. Java fails over keys of which it ignores all
    records, and writes no changelog of levels that the table does not have any more.
    """
    has_vectors = VECTORS in options
    if has_vectors and random.random() < 0.5:
        return {"changelog-producer": "input"} if random.random() < 0.5 else {}
    changes = [change for step in _taken(steps) if isinstance(step, Alter) for change in step.changes]
    set_later = {change["set_option"][0] for change in changes if "set_option" in change}
    if random.random() < 0.5 or set_later & {*IGNORE, "num-levels"} or {*options} & {*IGNORE}:
        return {}
    same_columns = all("set_option" in change for change in changes)
    kinds = [*key.values(), *values.values()]
    looks_up = same_columns and not any(kind.startswith(_NOT_LOOKED_UP) for kind in kinds)
    engine = options.get("merge-engine")
    producers = [] if engine == FIRST_ROW or has_vectors else ["input", *["full-compaction"] * 4]
    producers += ["lookup"] * 4 if looks_up else []
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


def _taken(steps: Sequence[Step]) -> Sequence[Step]:
    """All steps, those beside our compactions, too."""
    beside = [other for step in steps if isinstance(step, Compact) for other in step.beside]
    return [*steps, *beside]


def written_changes(oracle: Oracle, table: Table, after: int) -> dict[str, list[KeyValue]]:
    """The changes of each bucket in snapshots after one, in the order of the files."""
    found: dict[str, list[KeyValue]] = {}
    for snapshot in oracle.snapshots(table):
        if int(snapshot["id"]) > after:
            rows = 0
            for entry in oracle.files_of_changelog(table, int(snapshot["id"])):
                file = entry.file
                changes = oracle.kv_rows(table, file.name, file.partition, file.bucket)
                found.setdefault(f"{file.partition} {file.bucket}", []).extend(changes)
                rows += len(changes)
            assert (snapshot.get("changelogRecordCount") or 0) == rows
    return found
