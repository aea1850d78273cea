"""What names of keyed files say, as Amoro reads them; new names, which its readers and clean-up both know."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.attempts.names import writer_id
from lithify.errors import CorruptTable
from lithify.formats.mixed.file_names import (
    FileKind,
    FileNames,
    name_start,
    names_in_base,
    names_in_change,
)
from lithify.formats.mixed.nodes import ROOT
from support.cases import case

PREFIX = "1538160e-e428-452a-8174-"
PATTERN = re.compile(r"\.?(\d+)-(\w+)-(\d+)-(\d+)-(\d+)-.*", re.ASCII)
KINDS = {kind.value: kind for kind in FileKind}
NUMBERS = st.integers(1, (1 << 63) - 1).map(str) | st.just("00007")
NAMES = st.text("01IBEDPL-._x", max_size=30) | st.builds(
    "{}{}-{}-{}-{}-{}-{}".format,
    st.sampled_from(["", "", "", ".", "..", "x"]),
    NUMBERS,
    st.sampled_from([*KINDS, "X", "ID", "b", "1"]),
    NUMBERS | st.just("0"),
    NUMBERS,
    NUMBERS | st.just("x"),
    st.text("a0-./", max_size=5),
)


def rows_of(names: FileNames) -> list[tuple[int, int, FileKind]]:
    kinds = [list(FileKind)[number] for number in names.kinds.tolist()]
    return [*zip(names.nodes.tolist(), names.transactions.tolist(), kinds, strict=True)]


@pytest.mark.parametrize(
    ("name", "base", "change"),
    [
        case("4-B-100-00000-0-42-00001.parquet", (4, 100, "B"), (4, 100, "B"), id="base"),
        case("4-I-101-00000-0-42-00002.parquet", (4, 101, "B"), (4, 101, "I"), id="insert"),
        case("5-ED-101-00000-0-42-00001.parquet", (5, 101, "ED"), (5, 101, "ED"), id="delete"),
        case("7-PD-101-00000-0-42-00001.parquet", (7, 101, "PD"), (7, 101, "PD"), id="position delete"),
        case(
            "7-IED-1-00000-0-42-00001.parquet", (7, 1, "IED"), (7, 1, "IED"), id="equality delete of Iceberg"
        ),
        case("6-I-0-00000-0-42-00001.parquet", (6, 0, "B"), (6, 9, "I"), id="Flink's transaction 0"),
        case(".6-I-5-00000-0-42-00001.parquet", (6, 5, "B"), (6, 5, "I"), id="hidden from Hive"),
        case("6-X-5-00000-0-42-00001.parquet", (1, 0, "B"), (1, 9, "I"), id="unknown kind"),
        case("6-b-5-00000-0-42-00001.parquet", (1, 0, "B"), (1, 9, "I"), id="kind in lower case"),
        case("000000_0", (1, 0, "B"), (1, 9, "I"), id="Hive"),
        case(f"00000-0-{PREFIX}000000000000-00001.parquet", (1, 0, "B"), (1, 9, "I"), id="Iceberg"),
        case("6-B-5-1-2.parquet", (1, 0, "B"), (1, 9, "I"), id="nothing behind the task"),
        case("6-B-5-1-2-", (6, 5, "B"), (6, 5, "B"), id="an empty rest"),
        case("x6-B-5-1-2-3", (1, 0, "B"), (1, 9, "I"), id="letters before the node"),
    ],
)
@pytest.mark.parametrize("folder", ["", "s3://bucket/t/base/data/4-I-7-0-0-0/p=5-B-7-1-1-1/"])
def test_names_are_read_as_amoro_reads_them(
    name: str, base: tuple[int, int, str], change: tuple[int, int, str], folder: str
) -> None:
    paths = pa.array([folder + name])

    assert rows_of(names_in_base(paths)) == [base]
    assert rows_of(names_in_change(paths, np.array([9]))) == [change]


@given(st.lists(NAMES, max_size=10))
def test_columns_are_read_as_single_names(names: list[str]) -> None:
    paths = pa.chunked_array([pa.array([f"s3://b/{name}" for name in names], pa.string())])
    found = [PATTERN.fullmatch(name.rpartition("/")[2]) for name in names]
    keyed = [match if match and match[2] in KINDS else None for match in found]
    expected = [
        (int(match[1]), int(match[3]) or 9, KINDS[match[2]]) if match else (ROOT, 9, FileKind.INSERT)
        for match in keyed
    ]

    assert rows_of(names_in_change(paths, np.full(len(names), 9))) == expected


def test_kinds_select_files() -> None:
    names = names_in_change(pa.array(["4-I-1-0-0-0", "5-ED-1-0-0-0", "plain"]), np.array([1, 1, 1]))

    assert names.of_kind(FileKind.INSERT).tolist() == [True, False, True]
    assert names.of_kind(FileKind.DELETE).tolist() == [False, True, False]
    assert len(names) == 3


def test_no_names_are_no_rows() -> None:
    assert len(names_in_base(pa.array([], pa.string()))) == 0
    assert len(names_in_base(pa.chunked_array([], pa.string()))) == 0


@pytest.mark.parametrize("name", ["0-B-1-0-0-0", f"{1 << 63}-B-1-0-0-0", f"4-B-{1 << 63}-0-0-0"])
def test_names_that_no_writer_makes_are_corrupt(name: str) -> None:
    with pytest.raises(CorruptTable):
        names_in_base(pa.array([name]))


@given(
    st.integers(1, 1 << 40),
    st.sampled_from(FileKind),
    st.integers(1, 1 << 40),
    st.integers(0, 99),
    st.integers(0, 99),
)
def test_new_names_are_read_again(
    node: int, kind: FileKind, transaction: int, task: int, number: int
) -> None:
    name = f"{name_start(node, kind, transaction, task)}{writer_id(PREFIX, task, 3)}-{number:05}"

    assert rows_of(names_in_change(pa.array([f"{name}.parquet"]), np.array([0]))) == [
        (node, transaction, kind)
    ]


def test_new_names_have_amoros_form_and_the_prefix_of_their_attempt() -> None:
    name = f"{name_start(4, FileKind.BASE, 7, 12)}{writer_id(PREFIX, 12, 1)}-{3:05}"

    assert name == f"4-B-7-00000-12-{PREFIX}0000c0000001-00003"
