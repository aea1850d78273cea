"""Files that only expired snapshots reach, beside a model that knows sets of names only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import MissingFile
from lithify.formats.iceberg.maintenance.doomed_files import DoomedFiles, doomed_files, still_doomed
from lithify.formats.iceberg.maintenance.named_files import FileKind, files_of
from lithify.formats.iceberg.maintenance.next_metadata import without
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.manifests.manifest_lists import ListOwner, ManifestContent, write_list
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from support.iceberg_manifests import entry, listed, manifest_bytes

HOME = "s3://lake/t"
DELETED, EXISTING = 2, 0
Names = frozenset[str]


@dataclass
class Files:
    """Files in memory; counts how often each is read."""

    content: dict[str, bytes] = field(default_factory=dict)
    reads: dict[str, int] = field(default_factory=dict)

    def read_bytes(self, path: str, most: int) -> bytes:
        del most
        self.reads[path] = self.reads.get(path, 0) + 1
        if path not in self.content:
            raise FileNotFoundError(path)
        return self.content[path]


@dataclass(frozen=True)
class Manifest:
    """What a manifest names, and of which kind."""

    number: int
    live: Names
    removed: Names
    is_delete: bool

    @property
    def path(self) -> str:
        return f"{HOME}/metadata/m{self.number}.avro"


@dataclass(frozen=True)
class World:
    """Snapshots, each with the numbers of its manifests; some go, and files of those that go are missing."""

    manifests: tuple[Manifest, ...]
    snapshots: tuple[frozenset[int], ...]
    gone: frozenset[int]
    missing: frozenset[int]
    statistics: frozenset[int]

    def list_of(self, number: int) -> str:
        return f"{HOME}/metadata/l{number}.avro"

    def metadata(self) -> TableMetadata:
        numbers = range(len(self.snapshots))
        found: dict[str, Any] = {
            "format-version": 2,
            "location": HOME,
            "last-updated-ms": 1,
            "last-sequence-number": 9,
            "schemas": [{"schema-id": 0, "fields": []}],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "snapshots": [
                {"snapshot-id": each, "timestamp-ms": 1, "manifest-list": self.list_of(each)}
                for each in numbers
            ],
            "statistics": [
                {"snapshot-id": each, "statistics-path": f"{HOME}/s{each}"} for each in self.statistics
            ],
        }
        return parse_metadata(found, f"{HOME}/metadata/v1.metadata.json")

    def files(self) -> Files:
        found = Files()
        staying = frozenset[int]().union(
            *(each for number, each in enumerate(self.snapshots) if number not in self.gone)
        )
        for each in self.manifests:
            if each.number not in self.missing or each.number in staying:
                found.content[each.path] = _manifest_bytes(each)
        for number, numbers in enumerate(self.snapshots):
            if number not in self.gone or number + 100 not in self.missing:
                found.content[self.list_of(number)] = _list_bytes([self.manifests[each] for each in numbers])
        return found

    def reached(self, numbers: set[int], files: Files) -> set[str]:
        """What snapshots reach of what can be read."""
        lists = {self.list_of(each) for each in numbers}
        manifests = {
            self.manifests[each]
            for number in numbers
            if self.list_of(number) in files.content
            for each in self.snapshots[number]
        }
        live = {name for each in manifests if each.path in files.content for name in each.live}
        statistics = {f"{HOME}/s{each}" for each in numbers & self.statistics}
        return {*lists, *(each.path for each in manifests), *live, *statistics}


def _manifest_bytes(manifest: Manifest) -> bytes:
    content = 1 if manifest.is_delete else 0
    rows = [
        entry(status=status, snapshot=1, sequence=1, content=content, file_path=name)
        for status, names in ((EXISTING, manifest.live), (DELETED, manifest.removed))
        for name in sorted(names)
    ]
    return manifest_bytes(rows)


def _list_bytes(manifests: list[Manifest]) -> bytes:
    content = {True: ManifestContent.DELETES, False: ManifestContent.DATA}
    named = [listed(each.path, content=content[each.is_delete]) for each in manifests]
    return write_list(named, ListOwner(2, 7, None, 1)).content


_names = st.sampled_from(
    [f"{HOME}/data/{each}" for each in range(12)] + ["s3a://lake/t/data/0", "s3://other/x"]
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    count = draw(st.integers(1, 7))
    manifests = tuple(
        Manifest(
            number,
            draw(st.frozensets(_names, max_size=5)),
            draw(st.frozensets(_names, max_size=2)),
            draw(st.booleans()),
        )
        for number in range(count)
    )
    which = st.frozensets(st.integers(0, count - 1))
    snapshots = tuple(draw(st.lists(which, min_size=1, max_size=6)))
    numbers = st.integers(0, len(snapshots) - 1)
    missing = st.frozensets(st.one_of(st.integers(0, count - 1), st.integers(100, 105)), max_size=2)
    return World(
        manifests, snapshots, draw(st.frozensets(numbers)), draw(missing), draw(st.frozensets(numbers))
    )


def plain(names: set[str]) -> set[str]:
    return {name.replace("s3a://", "s3://") for name in names}


def found_in(doomed: DoomedFiles) -> set[str]:
    return plain(set(doomed.files["path"].to_pylist()))


@pytest.mark.thorough
@given(worlds(), st.frozensets(_names, max_size=4))
@settings(max_examples=60)
def test_what_only_gone_snapshots_reach(world: World, more: Names) -> None:
    files, metadata = world.files(), world.metadata()
    after = parse_metadata(without(metadata, Removal(world.gone)), metadata.file)

    doomed = doomed_files(
        ManifestReader(files), [HOME], [metadata], [after], [files_of(sorted(more), FileKind.DATA)]
    )

    stay = set(range(len(world.snapshots))) - world.gone
    before = world.reached(set(world.gone), files) | more
    expected = plain(before) - plain(world.reached(stay, files))
    assert found_in(doomed) == expected
    assert plain(set(doomed.own["path"].to_pylist())) == {name for name in expected if name.startswith(HOME)}
    assert doomed.foreign == len(expected - {name for name in expected if name.startswith(HOME)})
    assert max(files.reads.values(), default=0) <= 1, "every file is read once"
    assert found_in(still_doomed(ManifestReader(files), doomed, [after])) == expected
    assert max(files.reads.values(), default=0) <= 1


@pytest.mark.thorough
@given(worlds(), st.lists(st.frozensets(_names, max_size=5), max_size=3))
@settings(max_examples=40)
def test_what_later_snapshots_name_is_left_out(world: World, later: list[Names]) -> None:
    """What others have committed since the plan: only their files are read."""
    files, metadata = world.files(), world.metadata()
    after = parse_metadata(without(metadata, Removal(world.gone)), metadata.file)
    doomed = doomed_files(ManifestReader(files), [HOME], [metadata], [after])
    snapshots = [*after.json["snapshots"]]
    for number, names in enumerate(later, 100):
        manifest = Manifest(number, names, frozenset(), is_delete=False)
        files.content[manifest.path] = _manifest_bytes(manifest)
        files.content[world.list_of(number)] = _list_bytes([manifest])
        snapshots.append({"snapshot-id": number, "timestamp-ms": 1, "manifest-list": world.list_of(number)})

    newest = parse_metadata({**after.json, "snapshots": snapshots}, metadata.file)
    found = still_doomed(ManifestReader(files), doomed, [newest])

    assert found_in(found) == found_in(doomed) - plain({name for names in later for name in names})
    assert max(files.reads.values(), default=0) <= 1


@pytest.mark.parametrize("name", ["m0", "l0"])
def test_missing_file_of_a_snapshot_that_stays_is_an_error(name: str) -> None:
    manifest = Manifest(0, frozenset({f"{HOME}/data/0"}), frozenset(), is_delete=False)
    other = Manifest(1, frozenset({f"{HOME}/data/1"}), frozenset(), is_delete=False)
    world = World(
        (manifest, other), (frozenset({0}), frozenset({1})), frozenset({1}), frozenset(), frozenset()
    )
    files, metadata = world.files(), world.metadata()
    del files.content[f"{HOME}/metadata/{name}.avro"]
    after = parse_metadata(without(metadata, Removal(world.gone)), metadata.file)
    with pytest.raises(MissingFile):
        doomed_files(ManifestReader(files), [HOME], [metadata], [after])
