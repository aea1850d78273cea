"""Names from metadata are names; names of our own files are those that our writers make."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.attempts.names import is_prefix, is_temporary, sign_of, stop_file_of, writer_id
from lithify.formats.paimon.data_files.writer import FileTarget
from lithify.formats.paimon.manifests.entries import check_record, record_of_entry
from lithify.formats.paimon.manifests.entry_columns import _check_names
from lithify.formats.paimon.names.file_names import is_data_file_of, is_manifest_of
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.io.file_names import check_file_name, is_file_name, is_plain_path
from support.manifests import entry, schema

PREFIX = "1538160e-e428-452a-8174-"
UUID_4 = "1538160e-e428-452a-8174-842e69962e67"

NAMES = [
    "data-1538160e-e428-452a-8174-842e69962e67-0.parquet",
    "manifest-list-x-1",
    "...",
    "a b",
    "ä€𝄞.orc",
    "%2e%2e",
    "x" * 255,
]
NO_NAMES = {
    "nothing": "",
    "here": ".",
    "up": "..",
    "a path": "a/b",
    "an absolute path": "/a",
    "a path up": "../a",
    "a Windows path": "..\\a",
    "a null character": "a\0",
    "a line": "a\n",
    "a tabulator": "\ta",
    "DEL": "a\x7f",
    "a control character of the second set": "a\x9b31m",
    "half a character": "\ud800",
    "longer than any": "x" * 256,
    "longer in bytes": "ä" * 128,
    "a number": 5,
    "null": None,
    "bytes": b"a",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_may_have_what_file_systems_take(name: str) -> None:
    check_file_name(name)
    _check_names(pa.array([name]))


@pytest.mark.parametrize("name", NO_NAMES.values(), ids=NO_NAMES)
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="no name of a file") as refused:
        check_file_name(name)
    assert all(letter.isprintable() for letter in str(refused.value))


@given(st.text(max_size=300))
def test_a_name_is_one_part_of_a_path(text: str) -> None:
    if is_file_name(text):
        path = PurePosixPath("/table/bucket-0") / text
        assert (path.parent, path.name) == (PurePosixPath("/table/bucket-0"), text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_columns_of_names_are_checked_as_single_ones(text: str) -> None:
    try:
        _check_names(pa.array([text], pa.string()))
    except ValueError:
        assert not is_file_name(text)
    else:
        assert is_file_name(text)


@pytest.mark.parametrize(
    ("path", "is_plain"),
    [
        ("file:/a/b", True),
        ("s3://bucket/a//b/", True),
        ("file:/a/../b", False),
        ("file:/a/./b", False),
        ("s3://bucket/a\\b", False),
        ("file:/a\n/b", False),
    ],
)
def test_paths_are_made_of_names(path: str, is_plain: bool) -> None:
    assert is_plain_path(path) is is_plain


def test_prefixes_are_those_of_random_uuids() -> None:
    assert all(is_prefix(str(uuid4())[:24]) for _ in range(50))


NO_PREFIXES = ["", "-", "d", "data-", ".*", PREFIX[:-1], f"{PREFIX}0", PREFIX.upper(), f"{PREFIX}\n", UUID_4]
OTHER_PREFIXES = ["1538160e-e428-152a-8174-", "1538160e-e428-452a-c174-", "1538160é-e428-452a-8174-"]
"""Of UUIDs of another version and variant, and with a letter that is no hexadecimal digit."""


@pytest.mark.parametrize("text", [*NO_PREFIXES, *OTHER_PREFIXES])
def test_nothing_else_is_a_prefix(text: str) -> None:
    assert not is_prefix(text)


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("suffix", ["true", "false"])
@pytest.mark.parametrize("front", ["data-", "", "a.b c-"])
@given(writer=st.integers(0, 2**20 - 1), attempt=st.integers(0, 2**28 - 1))
def test_names_that_tasks_make_are_known(
    kind: str, suffix: str, front: str, writer: int, attempt: int
) -> None:
    chosen = {"file.format": kind, "file.suffix.include.compression": suffix, "data-file.prefix": front}
    options = read_options({"file.compression": "zstd", **chosen}).files
    target = FileTarget("/", 5, schema([("id", "INT")], ["id"]), options)
    names = [target.name(writer_id(PREFIX, writer, attempt), number) for number in range(12)]
    assert all(is_data_file_of(PREFIX, name) for name in (*names, *(f"{name}.index" for name in names)))


@pytest.mark.parametrize(
    "name",
    [
        f"data-{PREFIX}-0.parquet",
        f"data-{UUID_4}.parquet",
        f"data-{UUID_4}-0.parquet.bak",
        f"data-{UUID_4}-0.index",
        f"data-{UUID_4}-0.parquet.index.index",
        f"data-{UUID_4}-0.txt",
        f"data-{UUID_4}-x.parquet",
        f"data-{UUID_4}-٣.parquet",
        f"data-{UUID_4}-0.parquet\n",
        f"data-{UUID(int=4)}-0.parquet",
        f"manifest-{UUID_4}-0",
        PREFIX,
    ],
)
def test_other_names_are_no_data_files_of_an_attempt(name: str) -> None:
    assert not is_data_file_of(PREFIX, name)


@pytest.mark.parametrize("prefix", ["", "1", PREFIX[:23], "data-"])
def test_a_prefix_that_is_too_short_has_no_files(prefix: str) -> None:
    assert not is_data_file_of(prefix, f"data-{UUID_4}-0.parquet")
    assert not is_manifest_of(prefix, f"manifest-{UUID_4}-0")


@given(st.uuids(version=4), st.uuids(version=4), st.integers(0, 10**6))
def test_files_belong_to_one_attempt(one: UUID, other: UUID, number: int) -> None:
    name, manifest = f"data-{one}-{number}.parquet", f"manifest-list-{one}-{number}"
    for uuid in (one, other):
        is_its = str(uuid)[:24] == str(one)[:24]
        assert is_data_file_of(str(uuid)[:24], name) is is_its
        assert is_manifest_of(str(uuid)[:24], manifest) is is_its


SOME = "61cd08bc-7d96-4546-889c-ec4b916307bc"


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        (f"manifest-{UUID_4}-0", True),
        (f"manifest-list-{UUID_4}-17", True),
        (f"index-manifest-{UUID_4}-0", True),
        (f"index-manifest-list-{UUID_4}-0", False),
        (f"index-{UUID_4}-0", False),
        (f"manifest-list-{UUID_4}-x", False),
        (f"manifest-{UUID_4}", False),
        (f"xmanifest-{UUID_4}-0", False),
        (f"data-{UUID_4}-0.parquet", False),
    ],
)
def test_manifests_of_an_attempt(name: str, is_ours: bool) -> None:
    assert is_manifest_of(PREFIX, name) is is_ours
    assert is_manifest_of(UUID_4, name) is is_ours


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        (sign_of("run-1.json"), True),
        (stop_file_of("run-1.json"), True),
        (f".lithify-{sign_of('run-1.json')}.{SOME}", True),
        (f".lithify-run-1.json.{SOME}", True),
        (f".lithify-snapshot-7.{SOME}", True),
        (f".lithify-probe-{SOME}", True),
        (".lithify-", False),
        (".lithify-alive-", False),
        (".lithify-alive-x", False),
        (".lithify-stop-x", False),
        (".lithify-notes.txt", False),
        (f"snapshot-1.{SOME}", False),
        (f".lithify-a/b.{SOME}", False),
    ],
)
def test_small_files_that_a_crash_leaves_behind(name: str, is_ours: bool) -> None:
    assert is_temporary(name) is is_ours


def test_a_message_shows_what_it_is_about_in_printable_letters() -> None:
    with pytest.raises(ValueError, match=re.escape(r"'\x1b[31m")):
        check_file_name("\x1b[31m" + "x" * 1000)


@pytest.mark.parametrize("changes", [{"name": "../x"}, {"extra_files": ("x", "a/b")}], ids=str)
def test_entries_that_are_written_again_have_names(changes: dict[str, Any]) -> None:
    check_record(record_of_entry(entry("x")))
    with pytest.raises(ValueError, match="no name of a file"):
        check_record(record_of_entry(entry(**{"name": "x", **changes})))


@pytest.mark.parametrize("key", ["baseManifestList", "changelogManifestList", "indexManifest", "statistics"])
@pytest.mark.parametrize("name", [name for name in NO_NAMES.values() if isinstance(name, str)])
def test_snapshots_name_files(key: str, name: str) -> None:
    snapshot = {"id": 1, "schemaId": 0, "commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND"}
    sound = {**snapshot, "timeMillis": 1, "baseManifestList": "b", "deltaManifestList": "d"}
    assert parse_snapshot(json.dumps({**sound, key: "x"})).id == 1
    with pytest.raises(ValueError, match=r"no name of a file|half a character"):
        parse_snapshot(json.dumps({**sound, key: name}))
