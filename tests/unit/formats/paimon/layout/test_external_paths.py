"""Which new file goes to which external path."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.layout.external_paths import ExternalPaths, entropy

FOLDERS = ("file:/a/bucket-0", "file:/b/bucket-0", "file:/c/bucket-0")


def name(number: int, writer: int = 0, ending: str = "parquet") -> str:
    return f"data-{UUID(int=writer)}-{number}.{ending}"


def test_entropy_is_that_of_files_that_java_wrote() -> None:
    """Names and directories of two files that Java 1.4.2 has written."""
    assert entropy("data-1538160e-e428-452a-8174-842e69962e67-0.parquet") == "0100/1010/1111/10110010"
    assert entropy("data-1538160e-e428-452a-8174-842e69962e67-1.parquet") == "0011/0100/0010/10010110"


@given(st.integers(0, 2**128 - 1), st.integers(1, 3))
def test_files_of_a_writer_take_turns(writer: int, paths: int) -> None:
    outside = ExternalPaths(FOLDERS[:paths])
    taken = [outside.path(name(number, writer)) for number in range(2 * paths)]
    assert {path.rpartition("/")[0] for path in taken[:paths]} == set(FOLDERS[:paths])
    folders = [path.rpartition("/")[0] for path in taken]
    assert folders[paths:] == folders[:paths]
    assert [path.rpartition("/")[2] for path in taken] == [
        name(number, writer) for number in range(2 * paths)
    ]


def test_writers_begin_at_different_paths() -> None:
    begins = Counter(ExternalPaths(FOLDERS).path(name(0, writer)).rpartition("/")[0] for writer in range(300))
    assert set(begins) == set(FOLDERS)
    assert min(begins.values()) > 50


def test_files_with_entropy_lie_deeper_and_take_turns_as_in_java() -> None:
    outside = ExternalPaths(FOLDERS, has_entropy=True)
    for number in range(4):
        file = name(number)
        assert outside.path(file) == f"{FOLDERS[(number + 1) % 3]}/{entropy(file)}/{file}"


def test_weights_say_how_often_a_path_is_taken() -> None:
    outside = ExternalPaths(FOLDERS, weights=(1, 3, 6))
    taken = Counter(outside.path(name(n, n)).rpartition("/")[0] for n in range(2000))
    shares = [taken[folder] / 2000 for folder in FOLDERS]
    assert shares == pytest.approx([0.1, 0.3, 0.6], abs=0.04)


def test_a_codec_in_a_name_does_not_confuse_its_number() -> None:
    assert (
        ExternalPaths(FOLDERS, has_entropy=True).path(name(1, ending="zstd.parquet")).startswith(FOLDERS[2])
    )
