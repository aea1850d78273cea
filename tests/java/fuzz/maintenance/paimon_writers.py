"""What others do to a Paimon table: writers, people with tags and branches, readers, and those that crash."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from java.fuzz.maintenance.drawing import put, set_time
from java.fuzz.maintenance.paimon_files import (
    ADD,
    APPENDED,
    COMPACTED,
    DELETE,
    DataFile,
    Entry,
    Index,
    PaimonFiles,
)
from java.fuzz.maintenance.paimon_reach import PaimonReach, text_in

KINDS: dict[str, dict[str, str]] = {
    "no changelog": {},
    "changelog of inputs": {"changelog-producer": "input"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors beside data": {"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true"},
    "dynamic buckets": {"bucket": "-1"},
    "append": {"bucket": "-1"},
}
DAYS = ("2020-01-01", "2020-02-01", "2999-01-01")
MINUTE = 60_000
START = 2_000_000_000_000
"""When histories begin, in milliseconds: years after the times that their files have."""


class PaimonWriters:
    """Others, who know the table from its folder alone.

    Args:
        random: draws what they do.
        folder: an empty folder.

    Attributes:
        prepared: what a slow writer has written and not committed yet.
        taken: the paths of what it has committed since somebody cleared them.
    """

    def __init__(self, random: Random, folder: Path) -> None:
        self.random = random
        self.kind = random.choice(sorted(KINDS))
        options = KINDS[self.kind]
        self.warehouse = folder
        self.folder = folder / "db.db" / "t"
        put(self.folder / "schema" / "schema-0", _schema(self.kind).encode())
        in_buckets = "index-file-in-data-file-dir" in options
        self.has_changelog_files = "changelog-producer" in options
        self.files = PaimonFiles(self.folder, random, in_buckets)
        self.reach = PaimonReach(self.folder, in_buckets, self.has_changelog_files)
        self.millis = START
        self.prepared: list[DataFile] = []
        self.taken = set[str]()
        self._names = 0

    # What there is.

    def numbers(self, line: str = "") -> list[int]:
        """The snapshots of the table or of a branch, ascending."""
        folder = self.folder / line / "snapshot"
        return sorted(int(path.name[9:]) for path in folder.glob("snapshot-*"))

    def snapshot(self, number: int, line: str = "") -> dict[str, Any]:
        """A snapshot as its file has it."""
        found: dict[str, Any] = json.loads(
            (self.folder / line / "snapshot" / f"snapshot-{number}").read_text()
        )
        return found

    def tags(self, line: str = "") -> dict[str, int]:
        """The tags of the table or of a branch, with the number of the snapshot."""
        folder = self.folder / line / "tag"
        return {
            str(path.relative_to(folder)): int(json.loads(path.read_text())["id"])
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def lines(self) -> list[str]:
        """The folders of all branches, relative to the table's."""
        return [
            str(path.relative_to(self.folder)) for path in sorted((self.folder / "branch").glob("branch-*"))
        ]

    def consumers(self) -> list[tuple[int, int]]:
        """The readers: the next snapshot of each, and when it moved."""
        paths = (self.folder / "consumer").glob("consumer-*")
        return [
            (json.loads(path.read_text())["nextSnapshot"], int(path.stat().st_mtime * 1000)) for path in paths
        ]

    # Writers.

    def commit(self, line: str = "") -> None:
        """Adds, removes and moves files."""
        numbers = self.numbers(line)
        base = self.snapshot(numbers[-1], line) if numbers else None
        live = self._live(base)
        kind, entries = self._changes(live)
        number = numbers[-1] + 1 if numbers else 1
        self.millis += self.random.choice([1, 1, 1, 20]) * MINUTE
        snapshot = self._snapshot(base, number, kind, entries, live)
        self.files.holder(f"{line}/snapshot/snapshot-{number}".lstrip("/"), snapshot)
        if self.random.random() < 0.9:  # a hint may be late
            put(self.folder / line / "snapshot" / "LATEST", str(number).encode())

    def _live(self, base: dict[str, Any] | None) -> list[DataFile]:
        if base is None:
            return []
        return [
            DataFile(
                day=text_in(entry["_PARTITION"]),
                bucket=entry["_BUCKET"],
                name=entry["_FILE"]["_FILE_NAME"],
                level=entry["_FILE"]["_LEVEL"],
                source=entry["_FILE"]["_FILE_SOURCE"],
                extra=tuple(entry["_FILE"]["_EXTRA_FILES"]),
            )
            for entry in self.reach.live(base)
        ]

    def _changes(self, live: Sequence[DataFile]) -> tuple[str, list[Entry]]:
        """The kind of a commit, and its entries."""
        random = self.random
        how = random.choices(["append", "compact", "upgrade", "overwrite", "empty"], [10, 5, 2, 1, 0.5])[0]
        if how == "append" or not live:
            return "APPEND", [(ADD, each) for each in self._taken() or self._new(APPENDED)]
        if how == "empty":
            return "APPEND", []
        if how == "overwrite":
            day = random.choice(DAYS)
            gone = [each for each in live if each.day == day]
            return "OVERWRITE", [
                *((DELETE, each) for each in gone),
                *((ADD, each) for each in self._new(APPENDED, day)),
            ]
        gone = random.sample(list(live), random.randint(1, len(live)))
        if how == "upgrade":
            return "COMPACT", [pair for each in gone for pair in ((DELETE, each), (ADD, each.upgraded()))]
        new = self._new(COMPACTED, gone[0].day)
        return "COMPACT", [*((DELETE, each) for each in gone), *((ADD, each) for each in new)]

    def _new(self, source: int, day: str | None = None, stem: str = "data") -> list[DataFile]:
        random, found = self.random, []
        for _ in range(random.randint(1, 3)):
            name = self.files.name(stem, ".parquet")
            extra = (f"{name}.index",) if stem == "data" and random.random() < 0.2 else ()
            bucket = 0 if self.kind == "append" else random.randrange(2)
            found.append(DataFile(day or random.choice(DAYS), bucket, name, 0, source, extra, self.millis))
        self.files.data(found)
        return found

    def _taken(self) -> list[DataFile]:
        """What a slow writer wrote earlier, if anything, and nobody has taken for an orphan."""
        taken, self.prepared = self.prepared, []
        found = [each for each in taken if all((self.folder / path).exists() for path in each.paths)]
        self.taken.update(path for each in found for path in each.paths)
        return found

    def _snapshot(
        self, base: dict[str, Any] | None, number: int, kind: str, entries: list[Entry], live: list[DataFile]
    ) -> dict[str, Any]:
        random, files = self.random, self.files
        changelog = (
            self._new(APPENDED, stem="changelog")
            if self.has_changelog_files and random.random() < 0.6
            else []
        )
        found = {
            "version": 3,
            "id": number,
            "schemaId": 0,
            "baseManifestList": files.manifest_list(self._inherited(base, live)),
            "deltaManifestList": files.manifest_list([files.manifest(entries)] if entries else []),
            "changelogManifestList": (
                files.manifest_list([files.manifest([(ADD, each) for each in changelog])])
                if changelog
                else None
            ),
            "commitUser": "writer",
            "commitIdentifier": random.getrandbits(40),
            "commitKind": kind,
            "timeMillis": self.millis - (random.choice([0, 5 * MINUTE]) if random.random() < 0.1 else 0),
            "totalRecordCount": 10,
            "deltaRecordCount": 1,
            "indexManifest": self._indexes(base),
            "statistics": self._statistics(base),
        }
        return {key: value for key, value in found.items() if value is not None}

    def _inherited(self, base: dict[str, Any] | None, live: list[DataFile]) -> list[dict[str, Any]]:
        """The manifests of the snapshot before, now and then merged into one."""
        if base is None:
            return []
        if self.random.random() < 0.2:
            return [self.files.manifest([(ADD, each) for each in live])] if live else []
        return [*self.reach.records(base["baseManifestList"]), *self.reach.records(base["deltaManifestList"])]

    def _indexes(self, base: dict[str, Any] | None) -> str | None:
        name = base.get("indexManifest") if base else None
        if (
            self.kind not in ("vectors", "vectors beside data", "dynamic buckets")
            or self.random.random() < 0.6
        ):
            return name
        random, files = self.random, self.files
        kind = "HASH" if self.kind == "dynamic buckets" else "DELETION_VECTORS"
        known = [
            Index(text_in(each["_PARTITION"]), each["_BUCKET"], each["_FILE_NAME"], kind)
            for each in (self.reach.records(name) if name else ())
        ]
        kept = random.sample(known, random.randint(0, len(known)))
        new = Index(random.choice(DAYS), random.randrange(2), files.name("index"), kind)
        put(self.folder / files.index_path(new))
        return files.index_manifest([*kept, new])

    def _statistics(self, base: dict[str, Any] | None) -> str | None:
        if self.random.random() < 0.8:
            return base.get("statistics") if base else None
        name = self.files.name("stat")
        put(self.folder / "statistics" / name)
        return name

    # People.

    def tag(self, number: int | None = None) -> None:
        """Tags a snapshot, now and then for a limited time."""
        number = self.random.choice(self.numbers()) if number is None else number
        self._names += 1
        found = self.snapshot(number)
        if self.random.random() < 0.3:
            now = datetime.fromtimestamp(self.millis / 1000, UTC)
            found["tagCreateTime"] = [now.year, now.month, now.day, now.hour, now.minute, now.second]
            found["tagTimeRetained"] = float(self.random.choice([60, 600, 3600]))
        name = self.random.choice(["t", "v/"])
        self.files.holder(f"tag/tag-{name}{self._names}", found)

    def tag_newest(self) -> None:
        """Tags the newest snapshot."""
        self.tag(self.numbers()[-1])

    def untag(self) -> None:
        """Deletes a tag, and none of its files."""
        tags = [*self.tags()]
        if tags:
            (self.folder / "tag" / self.random.choice(tags)).unlink()

    def branch(self) -> None:
        """Makes a branch that begins with a snapshot, with a tag or without."""
        if len(self.lines()) > 1:
            return
        self._names += 1
        number, line = self.random.choice(self.numbers()), f"branch/branch-b{self._names}"
        snapshot = self.snapshot(number)
        schema = (self.folder / "schema" / "schema-0").read_bytes()
        put(self.folder / line / "schema" / "schema-0", schema)
        self.files.holder(f"{line}/snapshot/snapshot-{number}", snapshot)
        if self.random.random() < 0.5:
            self.files.holder(f"{line}/tag/tag-b{self._names}", snapshot)

    def commit_to_branch(self) -> None:
        """Commits to a branch."""
        lines = self.lines()
        if lines:
            self.commit(self.random.choice(lines))

    def drop_branch(self) -> None:
        """Deletes a branch, and none of its files."""
        lines = self.lines()
        if lines:
            shutil.rmtree(self.folder / self.random.choice(lines))

    def fast_forward(self) -> None:
        """Makes the snapshots of a branch those of the table, as Paimon does."""
        lines = self.lines()
        if not lines or (self.folder / "changelog").exists():
            return
        line = self.random.choice(lines)
        first = self.numbers(line)[0]
        if first < self.numbers()[0]:
            return
        self._delete_from(first)
        for kind in ("snapshot", "tag"):
            if (self.folder / line / kind).exists():
                shutil.copytree(self.folder / line / kind, self.folder / kind, dirs_exist_ok=True)
        (self.folder / "snapshot" / "LATEST").unlink(missing_ok=True)

    def roll_back(self, least: int = 0) -> None:
        """Goes back by a few snapshots, as Paimon does since 1.1: no file of them is deleted."""
        there = [number for number in self.numbers()[-3:] if number >= least]
        if there:
            self._delete_from(self.random.choice(there) + 1)

    def _delete_from(self, number: int) -> None:
        put(self.folder / "snapshot" / "LATEST", str(number - 1).encode())
        for name, of in self.tags().items():
            if of >= number:
                (self.folder / "tag" / name).unlink()
        for each in reversed(self.numbers()):
            if each >= number:
                (self.folder / "snapshot" / f"snapshot-{each}").unlink()

    def consume(self, number: int | None = None) -> None:
        """A reader moves on."""
        numbers = self.numbers()
        number = self.random.randint(numbers[0], numbers[-1] + 1) if number is None else number
        path = self.folder / "consumer" / f"consumer-{self.random.choice(['c', 'd'])}"
        put(path, json.dumps({"nextSnapshot": number}).encode())
        set_time(path, self.millis - self.random.choice([0, 0, 10]) * MINUTE)

    def consume_newest(self) -> None:
        """A reader moves to the newest snapshot."""
        self.consume(self.numbers()[-1])

    def stop_consuming(self) -> None:
        """A reader ends."""
        for path in (self.folder / "consumer").glob("consumer-*"):
            path.unlink()

    # Accidents.

    def crash(self) -> None:
        """A writer has written its files, and will never commit; some of them are young."""
        left = self._new(APPENDED)
        self.files.manifest_list([self.files.manifest([(ADD, each) for each in left])])
        put(self.folder / "index" / self.files.name("index"))
        put(self.folder / "statistics" / self.files.name("stat"))
        if self.random.random() < 0.3:
            for path in left[0].paths:
                set_time(self.folder / path, self.millis)

    def prepare(self) -> None:
        """A slow writer writes files that it commits later."""
        self.prepared += self._new(APPENDED)

    def commit_prepared(self) -> None:
        """A slow writer commits at last."""
        while self.prepared:
            self.commit()

    def lose(self) -> None:
        """A commit is lost whose files stay, as by a writer that renames over another one's snapshot."""
        numbers = self.numbers()
        if len(numbers) > 3:
            (self.folder / "snapshot" / f"snapshot-{numbers[-1]}").unlink()
            (self.folder / "snapshot" / "LATEST").unlink(missing_ok=True)

    def leave_strange_files(self) -> None:
        """Files that no writer has written, where files of tables are."""
        for path in (
            "manifest/notes.txt",
            "manifest/manifest-of-mine",
            "dt=2999-01-01/bucket-0/data-1.parquet",
            "a",
        ):
            put(self.folder / path, b"kept")


@cache
def _schema(kind: str) -> str:
    """The schema of a table of a kind."""
    fields = [("dt", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), ("v", "STRING")]
    options = {"bucket": "2", "write-only": "true", **KINDS[kind]}
    return json.dumps(
        {
            "version": 3,
            "id": 0,
            "fields": [{"id": at, "name": name, "type": type_} for at, (name, type_) in enumerate(fields)],
            "highestFieldId": 2,
            "partitionKeys": ["dt"],
            "primaryKeys": [] if kind == "append" else ["dt", "id"],
            "options": options,
            "timeMillis": START,
        }
    )
