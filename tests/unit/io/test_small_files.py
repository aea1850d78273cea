"""Small files are read up to a bound, and JSON that no writer writes is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable, InvalidOption
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.options.table_options import read_options
from support.cases import case


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("12345")
    storage = storage_of(LocalFileIO())

    assert storage.read_text(str(file), 5) == "12345"
    with pytest.raises(CorruptTable) as raised:
        storage.read_text(str(file), 4)
    assert raised.value.path == str(file)
    assert storage.read_text(str(tmp_path / "none"), 4) is None


def test_a_pipe_and_a_device_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(CorruptTable):
            storage_of(LocalFileIO()).read_text(str(tmp_path / name), 1000)


@pytest.mark.parametrize(
    "text",
    [
        case("[]", id="a list"),
        case("[" * 100_000, id="deep beyond the parser"),
        case('{"a":' + "[" * 65 + "]" * 65 + "}", id="deep"),
        case('{"a": NaN}', id="no number"),
        case('{"a": 1e400}', id="a number beyond all"),
        case('{"a": "\\ud800"}', id="half a character"),
        case('{"a": ' + "9" * 5000 + "}", id="a number without end"),
    ],
)
def test_json_that_no_writer_writes(text: str) -> None:
    with pytest.raises(ValueError):
        parse_object(text)


def test_json_of_the_depth_of_types_is_read() -> None:
    assert parse_object('{"a":' + "[" * 40 + "]" * 40 + "}")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("num-levels", str(1 << 31)),
        ("num-sorted-run.compaction-trigger", "9" * 5000),
        ("target-file-size", f"{1 << 90} b"),
        ("target-file-size", "0 b"),
        ("commit.max-retry-wait", "9" * 400 + " ns"),
        ("file.format.per.level", "2147483647:avro"),
        ("file.format.per.level", "0:avro," * 20_000),
    ],
)
def test_absurd_options_are_named(option: str, value: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        read_options({option: value})
    assert raised.value.option == option
    assert len(str(raised.value)) < 20_000


@pytest.mark.parametrize(
    "options",
    [
        {"compaction.optimization-interval": f"{10**15} d"},
        {"compaction.small-file-ratio": "1e308"},
        {"snapshot.time-retained": "9999999 d"},
    ],
)
def test_what_is_only_very_large_is_read(options: dict[str, str]) -> None:
    assert read_options(options)
