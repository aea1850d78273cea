"""The line of a table, in whichever form readers use."""

from __future__ import annotations

import json
from dataclasses import replace

from lithify.formats.mixed.line_files import LineFile, statistics_entry, summary_flags, write_line
from lithify.formats.mixed.line_properties import PROPERTY
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.stored_line import is_in_files, read_line
from unit.formats.mixed.lines import base_of, keys_of

KEYS = keys_of("int")
STORED = OptimizedLine({"p0=1": 3}, {"p0=1": 30}, {"p0=2": 1})
PROPERTIES = {
    PROPERTY: json.dumps(
        {"p0=1": {"max-txId": "3", "base-op-time": "30"}, "p0=2": {"base.table.max-transaction-id": "1"}}
    )
}
WRITTEN = OptimizedLine({"p0=1": 5, "p0=3": 6}, {"p0=1": 50})
FILES = {"one": write_line(WRITTEN, 1, 1), "two": write_line(replace(WRITTEN, sequences={"p0=1": 8}), 2, 2)}
ENTRIES = [statistics_entry(file, path, number) for number, (path, file) in enumerate(FILES.items(), 1)]


def read(file: LineFile) -> bytes:
    assert file.size == len(FILES[file.path].data)
    return FILES[file.path].data


def test_the_property_is_the_line_while_there_are_no_files() -> None:
    base = base_of([{}, {}], properties=PROPERTIES)

    assert read_line(base, "main", KEYS, read) == STORED
    assert not is_in_files(base, "main")


def test_files_replace_the_property() -> None:
    base = base_of([summary_flags(), {}], ENTRIES[:1], PROPERTIES)

    assert read_line(base, "main", KEYS, read) == WRITTEN
    assert is_in_files(base, "main")


def test_each_kind_is_taken_from_its_own_file() -> None:
    base = base_of([summary_flags(), {"optimized-sequence.exist": "true"}], ENTRIES, PROPERTIES)

    assert read_line(base, "main", KEYS, read) == OptimizedLine({"p0=1": 8}, WRITTEN.times)


def test_a_kind_without_a_file_is_taken_from_the_property() -> None:
    base = base_of([{"optimized-sequence.exist": "true"}], ENTRIES[:1], PROPERTIES)

    assert read_line(base, "main", KEYS, read) == OptimizedLine(WRITTEN.sequences, STORED.times)


def test_tables_without_snapshots_have_no_line() -> None:
    assert read_line(base_of([]), "main", KEYS, read) == OptimizedLine()
