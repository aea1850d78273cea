"""Damaged metadata ends in one clear error, or is read: no hang, no crash, no growth, no surprise.

Real files of all versions of Paimon are damaged. What decodes them runs in a process of bounded memory.
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import secrets
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from random import Random

import cramjam
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from infrastructure.oracle.client import Table
from infrastructure.paimon_versions.archive import VERSIONS, unpack
from infrastructure.paimon_versions.reading_damage import real_files
from lithify.clock import SystemClock
from lithify.errors import LithifyError
from lithify.files.avro.container import (
    MAGIC,
    as_long,
    block,
    blocks,
    decompress,
    new_header,
    read_header,
)
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.manifests.entry_columns import decode_entries
from lithify.formats.paimon.manifests.manifest_lists import read_list
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.compacting import CompactedTable
from lithify.formats.paimon.primary_key.planning import plan_run
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.damage import damaged_avro, damaged_hint, damaged_json
from support.properties import examples

TESTS = Path(__file__).resolve().parents[4]
MEBIBYTES = 3000
"""Of address space; a Python with Polars and PyArrow has 1.5 GiB of it before it does anything."""
LOOK_MEBIBYTES = 700
"""Of data, in which a look and a plan have room."""
PATIENCE = 300.0
MANIFEST = next(content for kind, content in reversed(real_files()) if kind == "manifest")


def read_in_a_process(
    seed: int, count: int, module: str = "reading_damage", mebibytes: int = MEBIBYTES
) -> dict[str, object]:
    command = [sys.executable, "-m", f"infrastructure.paimon_versions.{module}"]
    done = subprocess.run(
        [*command, str(seed), str(count), str(mebibytes)],
        env={**os.environ, "PYTHONPATH": str(TESTS), "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"from seed {seed} on: {done.stderr[-3000:]}"
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.thorough
def test_decoding_ends_in_an_expected_error_within_bounds() -> None:
    found = read_in_a_process(seed=0, count=20 * examples(100))

    assert found["surprises"] == []
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert {"manifest read", "manifest refused", "manifest-list read", "snapshot refused"} <= set(outcomes)
    assert isinstance(found["mebibytes"], int)
    assert isinstance(found["longest"], float)
    assert found["mebibytes"] < 800
    assert found["longest"] < 30


@pytest.mark.thorough
def test_whole_looks_and_plans_end_in_an_expected_error_within_bounds() -> None:
    seed = secrets.randbelow(1 << 40)

    found = read_in_a_process(seed, examples(60), "looking_at_damage", LOOK_MEBIBYTES)

    assert found["surprises"] == [], f"from seed {seed} on"
    assert isinstance(found["longest"], float)
    assert found["longest"] < 60, f"from seed {seed} on"


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "zstandard": lambda data: bytes(cramjam.zstd.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(4, "big"),
    "deflate": lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "null": bytes,
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "codec", sorted(set(BOMBS) - {"null", "snappy"})
)  # snappy inflates to 21 times at most
def test_what_inflates_without_bound_is_refused(codec: str) -> None:
    head, marker = new_header(MANIFEST_ENTRY_SCHEMA, codec)
    content = head + block(1000, BOMBS[codec](bytes(65 << 20)), marker)

    with pytest.raises(EOFError, match="more than"):
        decode_entries(content)


@pytest.mark.parametrize("codec", sorted(BOMBS))
def test_what_is_cut_off_within_a_block_is_refused(codec: str) -> None:
    head, marker = new_header(MANIFEST_ENTRY_SCHEMA, codec)
    packed = BOMBS[codec](Random(0).randbytes(3000))

    with pytest.raises((EOFError, ValueError)):
        decode_entries(head + block(3, packed[:-9], marker))


def schema_of_references() -> object:
    """A schema of a few kB that would be one of ten billion types."""
    kind: object = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    for number in range(5):
        name = "r" if number == 0 else f"r{number - 1}"
        others = [{"name": f"f{field}", "type": name} for field in range(100)]
        kind = {"type": "record", "name": f"r{number}", "fields": [{"name": "f", "type": kind}, *others]}
    return {
        **MANIFEST_ENTRY_SCHEMA,
        "fields": [*MANIFEST_ENTRY_SCHEMA["fields"], {"name": "z", "type": kind}],
    }


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(new_header(schema_of_references(), "null")[0], id="references"),  # type: ignore[arg-type]
        pytest.param(
            MAGIC + as_long(1) + as_long(11) + b"avro.schema" + as_long(200_000) + b"[" * 200_000,
            id="deep JSON",
        ),
        pytest.param(MAGIC + b"\xff" * (1 << 20), id="a number without end"),
        pytest.param(MAGIC + as_long(1) + as_long(1 << 60) + b"x", id="a length of everything"),
    ],
)
def test_headers_are_believed_up_to_a_bound(content: bytes) -> None:
    for read in (decode_entries, read_list):
        with pytest.raises((ValueError, EOFError, LookupError)):
            read(content)


@pytest.mark.parametrize("change", [-1, 1])
def test_rows_that_a_block_does_not_count_are_noticed(change: int) -> None:
    content = damaged_count(MANIFEST, change)

    with pytest.raises((ValueError, EOFError)):
        decode_entries(content)


def damaged_count(manifest: bytes, change: int) -> bytes:
    """A manifest whose only block says that it has more or fewer rows than it has."""
    source = pa.BufferReader(manifest)
    header = read_header(source)
    (found,) = blocks(source, header)
    data = decompress(header.codec, manifest[found.start : found.start + found.size])
    head, marker = new_header(header.schema, "null")
    return head + block(found.rows + change, data, marker)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "5", "[" * 100_000, '{"id": 1}', "\ufeff{}", '{"id":' + "9" * 5000]
)
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_snapshot(text)


DAMAGE = {"manifest": damaged_avro, "snapshot": damaged_json, "schema": damaged_json}


@pytest.fixture(scope="module", params=[VERSIONS[3], VERSIONS[-1]])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return unpack(request.param, tmp_path_factory.mktemp("warehouse"), "t")


@settings(max_examples=examples(150), deadline=None)
@given(place=st.sampled_from(["snapshot", "schema", "manifest", "hint"]), seed=st.integers(0, 1 << 32))
def test_a_table_with_a_damaged_file_is_read_or_refused(table: Table, place: str, seed: int) -> None:
    rng = Random(seed)
    path, damage = chosen(rng, table, place)
    content = path.read_bytes()
    path.write_bytes(damage(rng, content))
    try:
        problem = problem_of(table)
    finally:
        path.write_bytes(content)

    assert problem is None or str(table.folder) in problem or str(table.name) in problem


def problem_of(table: Table) -> str | None:
    """The message of the one error in which a look ends that asks for all metadata."""
    try:
        look_at(table)
    except LithifyError as error:
        return str(error)
    return None


def look_at(table: Table) -> None:
    """Whatever is asked of metadata before a compaction reads data."""
    clock = SystemClock(UTC)
    opened = open_table(TableAddress(str(table.warehouse), str(table.name)))
    opened.check_supported()
    view = opened.view(Selection())
    if view is not None:
        plan_run(BucketPlanner(opened, view, Strategy.FULL, clock))
    CompactedTable(opened).inspect(Selection(), clock)


def chosen(rng: Random, table: Table, place: str) -> tuple[Path, Callable[[Random, bytes], bytes]]:
    """A file of the table, and what damages such files."""
    if place == "hint":
        return table.folder / "snapshot" / rng.choice(["LATEST", "EARLIEST"]), damaged_hint
    files = sorted((table.folder / place).glob("*-*"))
    return rng.choice(files), DAMAGE[place]
