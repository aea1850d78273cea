"""What others do to an Iceberg table: writers, people with tags and branches, and those that crash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from java.fuzz.maintenance.drawing import put, set_time, uuid_of
from java.fuzz.maintenance.iceberg_files import (
    ADDED,
    DATA,
    DELETED,
    EQUALITY,
    EXISTING,
    POSITIONS,
    IcebergFiles,
)
from java.fuzz.maintenance.iceberg_reach import IcebergReach, content_of, key_of, local
from support.iceberg_manifests import Entry

MAIN = "main"
MINUTE = 60_000
START = 2_000_000_000_000
"""When histories begin, in milliseconds: years after the times that their files have."""
_FIELDS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "name", "required": False, "type": "string"},
]
Metadata = dict[str, Any]


class IcebergWriters:
    """Others, who know the table from its folder alone.

    Args:
        random: draws what they do.
        folder: an empty folder.
    """

    def __init__(self, random: Random, folder: Path) -> None:
        self.random = random
        self.warehouse, self.folder = folder, folder / "db" / "t"
        self.version = random.choice([1, 2, 2, 3, 3])
        self.files = IcebergFiles(self.folder, random, self.version, random.random() < 0.5)
        self.reach = IcebergReach(self.folder)
        self.millis = START
        self.foreign: list[Path] = []
        self.prepared: list[Entry] = []
        self._names = 0
        put(self.folder / "metadata" / "v1.metadata.json", json.dumps(self._empty()).encode())

    def _empty(self) -> Metadata:
        schema = {"type": "struct", "schema-id": 0, "fields": _FIELDS}
        field = {"source-id": 2, "field-id": 1000, "name": "name", "transform": "identity"}
        fields = [field] if self.files.is_partitioned else []
        properties = self.random.choice(
            [
                {},
                {
                    "write.metadata.delete-after-commit.enabled": "true",
                    "write.metadata.previous-versions-max": "2",
                },
            ]
        )
        of_version: dict[int, Metadata] = {
            1: {"schema": schema, "partition-spec": fields},
            2: {"last-sequence-number": 0},
            3: {"last-sequence-number": 0, "next-row-id": 0},
        }
        return {
            "format-version": self.version,
            "table-uuid": str(uuid_of(self.random)),
            "location": f"file://{self.folder}",
            "last-updated-ms": self.millis,
            "last-column-id": 2,
            "schemas": [schema],
            "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": fields}],
            "default-spec-id": 0,
            "last-partition-id": 1000,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "properties": properties,
            "current-snapshot-id": -1,
            "refs": {},
            "snapshots": [],
            "snapshot-log": [],
            "metadata-log": [],
            **of_version[self.version],
        }

    # What there is.

    def metadata(self) -> Metadata:
        """The newest metadata."""
        return self.reach.newest()[1]

    def names(self, kind: str) -> list[str]:
        """The branches but main, or the tags."""
        references = self.metadata()["refs"].items()
        return sorted(name for name, each in references if each["type"] == kind and name != MAIN)

    def snapshots(self) -> dict[int, Metadata]:
        """The snapshots by id."""
        return {each["snapshot-id"]: each for each in self.metadata()["snapshots"]}

    def head(self) -> int:
        """The newest snapshot of main."""
        return int(self.metadata()["refs"][MAIN]["snapshot-id"])

    def ancestors(self, number: int | None) -> Iterator[int]:
        """A snapshot and those that it was built on, newest first."""
        snapshots = self.snapshots()
        while number in snapshots:
            yield number
            number = snapshots[number].get("parent-snapshot-id")

    def publish(self, metadata: Metadata) -> None:
        """Writes the next metadata file, and deletes earlier ones if the table says so."""
        number, before = self.reach.newest()
        folder = self.folder / "metadata"
        log = [
            *before["metadata-log"],
            {
                "timestamp-ms": before["last-updated-ms"],
                "metadata-file": f"file://{folder}/v{number}.metadata.json",
            },
        ]
        most = int(metadata["properties"].get("write.metadata.previous-versions-max", 100))
        written = {**metadata, "metadata-log": log[-most:], "last-updated-ms": self.millis}
        put(folder / f"v{number + 1}.metadata.json", json.dumps(written).encode())
        if self.random.random() < 0.9:  # a hint may be late
            put(folder / "version-hint.text", str(number + 1).encode())
        if "write.metadata.delete-after-commit.enabled" in metadata["properties"]:
            for each in log[:-most]:
                Path(local(each["metadata-file"])).unlink(missing_ok=True)

    # Writers.

    def commit(self, branch: str = MAIN) -> None:
        """Adds, replaces and deletes files, or the rows in them."""
        metadata = self.metadata()
        parent = metadata["refs"].get(branch, {}).get("snapshot-id")
        manifests = self._manifests(parent)
        live = [(each, manifest) for manifest in manifests for each in self._live(manifest)]
        gone, new = self._changes(live)
        self._publish_snapshot(metadata, branch, parent, manifests, gone, new)

    def _manifests(self, snapshot: int | None) -> list[Metadata]:
        if snapshot is None:
            return []
        return self.reach.records(self.snapshots()[snapshot]["manifest-list"])

    def _live(self, manifest: Metadata) -> list[Entry]:
        """The live entries of a manifest, as they are written into another one."""
        return [
            {
                **each,
                "status": EXISTING,
                "snapshot_id": each["snapshot_id"] or manifest["added_snapshot_id"],
                "sequence_number": self._sequence(each, manifest, "sequence_number"),
                "file_sequence_number": self._sequence(each, manifest, "file_sequence_number"),
            }
            for each in self.reach.live(manifest["manifest_path"])
        ]

    def _sequence(self, entry: Entry, manifest: Metadata, name: str) -> int:
        found = entry.get(name)
        return manifest.get("sequence_number") or 0 if found is None else found

    def _changes(self, live: Sequence[tuple[Entry, Metadata]]) -> tuple[set[Any], list[Entry]]:
        """The keys of the files that a commit removes, and the entries of those that it adds."""
        random = self.random
        data = [each for each, _ in live if content_of(each) == DATA]
        deletes = [each for each, _ in live if content_of(each) != DATA]
        how = random.choices(
            ["append", "rewrite", "delete", "row delta", "drop deletes"],
            [8, 4, 1, 4 * (self.version > 1), 1 * (self.version > 1)],
        )[0]
        if how == "row delta" and data:
            return self._row_delta(data, deletes)
        if how == "drop deletes" and deletes:
            return {key_of(each) for each in random.sample(deletes, random.randint(1, len(deletes)))}, []
        if how in ("append", "row delta", "drop deletes") or not data:
            return set(), self._taken() or self._new()
        gone = {key_of(each) for each in random.sample(data, random.randint(1, len(data)))}
        return gone, self._new() if how == "rewrite" else []

    def _new(self) -> list[Entry]:
        """New data files, now and then one that lies elsewhere."""
        found = [self.files.data() for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.05:
            path = self.warehouse / "elsewhere" / f"{uuid_of(self.random)}.parquet"
            found.append(self.files.data(path=f"file://{path}"))
            self.foreign.append(path)
        return found

    def _taken(self) -> list[Entry]:
        """What a slow writer wrote or a cherry-pick read earlier, as far as nobody has deleted it."""
        taken, self.prepared = self.prepared, []
        return [each for each in taken if Path(key_of(each)[0]).exists()]

    def _row_delta(self, data: Sequence[Entry], deletes: Sequence[Entry]) -> tuple[set[Any], list[Entry]]:
        random, files = self.random, self.files
        chosen = random.sample(list(data), random.randint(1, min(3, len(data))))
        if random.random() < 0.4:
            return set(), [files.data(EQUALITY, equality_ids=[1])]
        if self.version < 3:
            return set(), [files.data(POSITIONS)]
        paths = {each["data_file"]["file_path"] for each in chosen}
        gone = {key_of(each) for each in deletes if each["data_file"].get("referenced_data_file") in paths}
        puffin = files.path("data", "00000-0-", "-00001.puffin")
        return gone, [
            files.data(
                POSITIONS,
                puffin,
                file_format="PUFFIN",
                referenced_data_file=each["data_file"]["file_path"],
                content_offset=4 + 40 * at,
                content_size_in_bytes=40,
                partition=each["data_file"]["partition"],
            )
            for at, each in enumerate(chosen)
        ]

    def _publish_snapshot(
        self,
        metadata: Metadata,
        branch: str | None,
        parent: int | None,
        manifests: Sequence[Metadata],
        gone: set[Any],
        new: Iterable[Entry],
    ) -> None:
        """Writes a snapshot of main, of another branch, or of none (staged)."""
        random = self.random
        number = random.getrandbits(62)
        sequence = metadata.get("last-sequence-number", 0) + (1 if self.version > 1 else 0)
        self.millis += random.choice([1, 1, 1, 20]) * MINUTE
        first_row = metadata.get("next-row-id", 0)
        listed = self._listed(manifests, gone, [*new], number, sequence, first_row)
        snapshot = {
            "snapshot-id": number,
            "timestamp-ms": self.millis,
            "summary": {"operation": random.choice(["append", "overwrite", "replace", "delete"])},
            "manifest-list": self.files.manifest_list(listed, number),
            "schema-id": 0,
        }
        if parent is not None:
            snapshot["parent-snapshot-id"] = parent
        if self.version > 1:
            snapshot["sequence-number"] = metadata["last-sequence-number"] = sequence
        if self.version > 2:
            snapshot |= {"first-row-id": first_row, "added-rows": 1000}
            metadata["next-row-id"] = first_row + 1000
        metadata["snapshots"].append(snapshot)
        if branch is not None:
            self._point(metadata, branch, number)
        self.publish(metadata)

    def _listed(
        self,
        manifests: Sequence[Metadata],
        gone: set[Any],
        new: list[Entry],
        snapshot: int,
        sequence: int,
        first_row: int,
    ) -> list[Metadata]:
        """The manifests of a snapshot: those of the one before, rewritten where files go, and new ones."""
        is_merged, listed = self.random.random() < 0.25, []
        kept: list[Entry] = []
        for manifest in manifests:
            live = self._live(manifest)
            if gone.isdisjoint(map(key_of, live)) and not is_merged:
                listed.append(manifest)
                continue
            for each in live:
                if key_of(each) in gone:
                    each.update(status=DELETED, snapshot_id=snapshot)
            kept += live
        added = [{**each, "snapshot_id": snapshot} for each in new]
        for each in (kept, added):
            for is_deletes in (False, True):
                part = [one for one in each if (content_of(one) != DATA) == is_deletes]
                if part:
                    self._number_rows(part, first_row)
                    listed.append(self.files.manifest(part, snapshot, sequence, first_row))
        return listed

    def _number_rows(self, entries: Iterable[Entry], first_row: int) -> None:
        """In version 3, files have numbers of rows once they are in a second manifest."""
        for at, each in enumerate(entries):
            file = each["data_file"]
            if self.version > 2 and content_of(each) == DATA and file.get("first_row_id") is None:
                file["first_row_id"] = first_row + 10 * at

    def _point(self, metadata: Metadata, branch: str, number: int) -> None:
        """Moves a branch."""
        known = metadata["refs"].get(branch, {"type": "branch"})
        metadata["refs"][branch] = {**known, "snapshot-id": number}
        if branch == MAIN:
            metadata["current-snapshot-id"] = number
            metadata["snapshot-log"].append({"timestamp-ms": self.millis, "snapshot-id": number})

    def commit_to_branch(self) -> None:
        """Commits to a branch."""
        branches = self.names("branch")
        if branches:
            self.commit(self.random.choice(branches))

    def stage(self) -> None:
        """Commits a snapshot that no branch has."""
        self._publish_snapshot(
            self.metadata(), None, self.head(), self._manifests(self.head()), set(), self._new()
        )

    def pick(self) -> None:
        """Reads what a snapshot added, to add it to main later."""
        chosen = self.random.choice(sorted(self.snapshots()))
        for manifest in self._manifests(chosen):
            if manifest["added_snapshot_id"] == chosen and not manifest.get("content"):
                for each in self.reach.records(manifest["manifest_path"]):
                    if each["status"] == ADDED:
                        cleared = dict.fromkeys(("snapshot_id", "sequence_number", "file_sequence_number"))
                        self.prepared.append(deepcopy({**each, **cleared}))

    def cherry_pick(self) -> None:
        """Adds to main what a snapshot added."""
        self.pick()
        self.commit_prepared()

    def commit_prepared(self) -> None:
        """Adds what was prepared earlier, to main."""
        present = {key for each in self._manifests(self.head()) for key in map(key_of, self._live(each))}
        new = [each for each in self._taken() if key_of(each) not in present]
        if new:
            unique = list({key_of(each): each for each in new}.values())
            self._publish_snapshot(
                self.metadata(), MAIN, self.head(), self._manifests(self.head()), set(), unique
            )

    def prepare(self) -> None:
        """A slow writer writes files that it commits later."""
        self.prepared += [self.files.data() for _ in range(2)]

    # People.

    def _kept(self) -> Metadata:
        return self.random.choice([{}, {"max-ref-age-ms": self.random.choice([1, 5, 60]) * MINUTE}])

    def _refer(self, name: str, reference: Metadata) -> None:
        metadata = self.metadata()
        metadata["refs"][name] = reference
        self.publish(metadata)

    def tag(self, number: int | None = None) -> None:
        """Tags a snapshot."""
        self._names += 1
        number = self.random.choice(sorted(self.snapshots())) if number is None else number
        self._refer(f"t{self._names}", {"snapshot-id": number, "type": "tag", **self._kept()})

    def tag_newest(self) -> None:
        """Tags the newest snapshot of main."""
        self.tag(self.head())

    def branch(self) -> None:
        """Makes a branch, which may say itself how long its snapshots are kept."""
        if len(self.names("branch")) > 2:
            return
        self._names += 1
        random = self.random
        rules = random.choice([{}, {"min-snapshots-to-keep": random.choice([1, 2, 3])}])
        ages = random.choice([{}, {"max-snapshot-age-ms": random.choice([1, 5]) * MINUTE}])
        number = random.choice(sorted(self.snapshots()))
        reference = {"snapshot-id": number, "type": "branch", **self._kept(), **rules, **ages}
        self._refer(f"b{self._names}", reference)

    def drop(self) -> None:
        """Drops a branch or a tag."""
        metadata = self.metadata()
        names = sorted(metadata["refs"].keys() - {MAIN})
        if names:
            del metadata["refs"][self.random.choice(names)]
            self.publish(metadata)

    def roll_back(self) -> None:
        """Makes an ancestor the newest snapshot of main."""
        self._set_main(self.random.choice([*self.ancestors(self.head())][:4]))

    def fast_forward(self) -> None:
        """Makes the newest snapshot of a branch that of main."""
        branches = self.names("branch")
        if branches:
            self._set_main(self.metadata()["refs"][self.random.choice(branches)]["snapshot-id"])

    def _set_main(self, number: int) -> None:
        metadata = self.metadata()
        self.millis += MINUTE
        self._point(metadata, MAIN, number)
        self.publish(metadata)

    def compute_statistics(self) -> None:
        """Writes statistics of a snapshot, of columns or of partitions."""
        metadata, number = self.metadata(), self.random.choice(sorted(self.snapshots()))
        kind, end = self.random.choice([("statistics", ".stats"), ("partition-statistics", ".parquet")])
        path = self.files.path("metadata", f"{number}-", end)
        put(Path(local(path)))
        others = [each for each in metadata.get(kind, []) if each["snapshot-id"] != number]
        new = {"snapshot-id": number, "statistics-path": path, "file-size-in-bytes": 10}
        if kind == "statistics":
            new |= {"file-footer-size-in-bytes": 1, "blob-metadata": []}
        self.publish({**metadata, kind: [*others, new]})

    def expire_metadata(self) -> None:
        """An expiry by others that deletes no file."""
        metadata = self.metadata()
        named = {each["snapshot-id"] for each in metadata["refs"].values()}
        free = [number for number in sorted(self.snapshots()) if number not in named]
        gone = set(self.random.sample(free, self.random.randint(0, len(free))))
        for key in ("snapshots", "statistics", "partition-statistics", "snapshot-log"):
            if key in metadata:
                metadata[key] = [each for each in metadata[key] if each["snapshot-id"] not in gone]
        self.publish(metadata)

    # Accidents.

    def crash(self) -> None:
        """A writer has written its files, and will never commit; some of them are young."""
        left = [self.files.data(), self.files.data()]
        self.files.manifest_list([self.files.manifest(left, 1, 1, 0)], 1)
        put(Path(local(self.files.path("metadata", "1-", ".stats"))))
        if self.random.random() < 0.3:
            set_time(Path(key_of(left[0])[0]), self.millis)

    def leave_strange_files(self) -> None:
        """Files that no writer has written, where files of tables are."""
        for path in ("data/part-00000.parquet", "metadata/notes.txt", "data/_SUCCESS"):
            put(self.folder / path, b"kept")
