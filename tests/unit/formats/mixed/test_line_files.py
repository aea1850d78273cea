"""The line in Puffin files: as Amoro writes and registers them, and damaged ones are found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.table.puffin import PuffinFile as OtherReader

from lithify.errors import CorruptTable
from lithify.files.puffin import Blob, puffin_file
from lithify.formats.mixed.line_files import (
    SEQUENCES,
    TIMES,
    LineFile,
    flagged_snapshot,
    line_file,
    parse_blob,
    statistics_entry,
    summary_flags,
    write_line,
)
from lithify.formats.mixed.optimized_line import OptimizedLine
from support.cases import case
from unit.formats.mixed.lines import base_of, keys_of

KEYS = keys_of("string")
FLAGS = summary_flags()
LINE = OptimizedLine({"p0=a": 7, "p0=b+c": 9}, {"p0=a": 1_700_000_000_000})


def entry(snapshot: int, path: str = "file:///t/base/data/puffin/1-x.puffin") -> dict[str, Any]:
    return dict(statistics_entry(write_line(LINE, snapshot, snapshot), path, snapshot))


def test_summaries_have_the_flags_of_amoro() -> None:
    assert FLAGS == {"optimized-sequence.exist": "true", "base-optimized-time.exist": "true"}


def test_written_lines_are_read_again() -> None:
    file = write_line(LINE, 12, 3)

    assert parse_blob(file.data, "x", SEQUENCES, KEYS) == LINE.sequences
    assert parse_blob(file.data, "x", TIMES, KEYS) == LINE.times


def test_blobs_are_those_of_amoro() -> None:
    """Uncompressed JSON by partition, about no field, of the snapshot."""
    file = write_line(LINE, 12, 3)

    first, second = OtherReader(file.data).footer.blobs

    assert [(blob.type, blob.fields, blob.snapshot_id, blob.sequence_number) for blob in (first, second)] == [
        ("optimized-sequence", [], 12, 3),
        ("base-optimized-time", [], 12, 3),
    ]
    assert json.loads(file.data[first.offset : first.offset + first.length]) == {"p0=a": 7, "p0=b+c": 9}


def test_entries_of_statistics_are_those_of_iceberg() -> None:
    file = write_line(OptimizedLine({"": 7}), 12, 3)

    assert statistics_entry(file, "file:///x", 13) == {
        "snapshot-id": 13,
        "statistics-path": "file:///x",
        "file-size-in-bytes": len(file.data),
        "file-footer-size-in-bytes": file.footer_bytes,
        "blob-metadata": [
            {"type": "optimized-sequence", "snapshot-id": 12, "sequence-number": 3, "fields": []},
            {"type": "base-optimized-time", "snapshot-id": 12, "sequence-number": 3, "fields": []},
        ],
    }


class TestWhichSnapshotHasIt:
    def test_the_nearest_ancestor_with_a_flag(self) -> None:
        base = base_of([FLAGS, FLAGS, {}, {}], [entry(1, "one"), entry(2, "two")])

        assert line_file(base, "main", SEQUENCES) == LineFile("two", entry(2)["file-size-in-bytes"])

    def test_flags_are_asked_by_kind(self) -> None:
        """A writer of Amoro writes the sequences alone."""
        base = base_of([FLAGS, {"optimized-sequence.exist": "false"}], [entry(1)])

        sequences, times = (flagged_snapshot(base, "main", kind) for kind in (SEQUENCES, TIMES))

        assert (sequences and sequences.id, times and times.id) == (2, 1)

    def test_none_without_flags(self) -> None:
        assert line_file(base_of([{}, {}], [entry(1)]), "main", SEQUENCES) is None
        assert line_file(base_of([]), "main", SEQUENCES) is None

    @pytest.mark.parametrize(
        "statistics",
        [
            case([], id="none"),
            case([entry(1), entry(1)], id="two"),
            case([entry(2)], id="of another snapshot"),
            case([{**entry(1), "blob-metadata": []}], id="without the blob"),
        ],
    )
    def test_a_flag_without_its_file_is_corrupt(self, statistics: list[dict[str, Any]]) -> None:
        with pytest.raises(CorruptTable):
            line_file(base_of([FLAGS], statistics), "main", SEQUENCES)


@pytest.mark.parametrize(
    "contents",
    [
        case([], id="no blob"),
        case([b"{}", b"{}"], id="two"),
        case([b"{"], id="cut off"),
        case([b"7"], id="no object"),
        case([b'{"p0=a": "7"}'], id="texts"),
        case([b'{"p0=a": true}'], id="booleans"),
        case([b'{"p0=a": 9223372036854775808}'], id="too large"),
        case([b'{"other=a": 7}'], id="another spec"),
        case([b"\xff"], id="not UTF-8"),
    ],
)
def test_other_blobs_are_corrupt(contents: list[bytes]) -> None:
    file = puffin_file([(Blob(SEQUENCES), content) for content in contents])

    with pytest.raises(CorruptTable):
        parse_blob(file.data, "x", SEQUENCES, KEYS)
