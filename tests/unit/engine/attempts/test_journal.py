"""Attempts are recorded once each, in numbers that rise, and stop committing when their files may go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.engine.attempts.ages import COMMIT_AGE, SAFE_AGE
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.names import writer_id
from lithify.errors import AttemptFenced, CorruptTable, InvalidOption
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.snapshots.attempt_scope import (
    AttemptScope,
    AttemptScopes,
    ExternalRoots,
    JournalUnit,
    PaimonAttempt,
    PaimonJournal,
)
from lithify.io.storage import ListedFile, Storage
from lithify.io.storage_paths import FileAccess

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SCOPE = AttemptScope(
    base_snapshot=7,
    base_millis=1_000,
    units=(
        JournalUnit(partition="00000001", bucket=3, folder="dt=1/bucket-3", inputs=("a", "b")),
        JournalUnit(partition="", bucket=0, folder="bucket-0", inputs=()),
    ),
)


def storage(folder: Path) -> Storage:
    return storage_of(LocalFileIO(), (str(folder),))


def attempts(journal: PaimonJournal) -> list[PaimonAttempt]:
    """All recorded attempts."""
    return [attempt for path in journal.recorded().open if (attempt := journal.read(path)) is not None]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[PaimonJournal]:
    yield Journal(str(tmp_path), storage(tmp_path), AttemptScopes())
    folder = tmp_path / "lithify" / "attempts"
    assert not folder.exists() or all(file.suffix == ".json" for file in folder.iterdir())


class TestRecording:
    def test_what_is_begun_is_read_back(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        assert attempts(journal) == [attempt]
        assert (attempt.run, attempt.number, attempt.condemned) == ("run", 1, None)
        assert attempt.scope == SCOPE
        assert datetime.fromisoformat(attempt.started) == NOW

    def test_it_lies_in_the_tables_folder(self, journal: PaimonJournal, tmp_path: Path) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        assert journal.path(attempt) == f"{tmp_path}/lithify/attempts/run-1.json"
        assert Path(journal.path(attempt)).exists()

    def test_a_slash_behind_the_tables_folder_does_not_matter(
        self, journal: PaimonJournal, tmp_path: Path
    ) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        assert attempts(Journal(f"{tmp_path}/", storage(tmp_path), AttemptScopes())) == [attempt]

    def test_attempts_of_a_run_are_counted(self, journal: PaimonJournal) -> None:
        begun = [journal.begin(run, SCOPE, NOW) for run in ("x", "x", "y", "x")]
        assert [(attempt.run, attempt.number) for attempt in begun] == [
            ("x", 1),
            ("x", 2),
            ("y", 1),
            ("x", 3),
        ]
        assert sorted(attempt.number for attempt in attempts(journal)) == [1, 1, 2, 3]

    def test_a_number_is_not_used_again_while_a_later_one_lives(self, journal: PaimonJournal) -> None:
        first, _ = journal.begin("x", SCOPE, NOW), journal.begin("x", SCOPE, NOW)
        journal.close(first)
        assert journal.begin("x", SCOPE, NOW).number == 3

    def test_prefixes_are_unique(self, journal: PaimonJournal) -> None:
        assert len({journal.begin("x", SCOPE, NOW).prefix for _ in range(20)}) == 20

    def test_two_that_begin_at_once_get_different_numbers(self, tmp_path: Path) -> None:
        def begin(_: int) -> PaimonAttempt:
            return Journal(str(tmp_path), storage(tmp_path), AttemptScopes()).begin("x", SCOPE, NOW)

        with ThreadPoolExecutor(8) as together:
            begun = list(together.map(begin, range(16)))
        assert sorted(attempt.number for attempt in begun) == list(range(1, 17))
        recorded = attempts(Journal(str(tmp_path), storage(tmp_path), AttemptScopes()))
        assert {attempt.prefix for attempt in recorded} == {attempt.prefix for attempt in begun}

    def test_a_listing_that_lags_behind_does_not_overwrite(
        self, journal: PaimonJournal, tmp_path: Path
    ) -> None:
        class Lagging(Storage):
            def list(self, folder: str) -> list[ListedFile]:
                return super().list(f"{folder}/of-some-time-ago")

        first = journal.begin("x", SCOPE, NOW)
        lagging = Lagging(FileAccess(LocalFileIO(), is_local=True), (str(tmp_path),))
        second = Journal(str(tmp_path), lagging, AttemptScopes()).begin("x", SCOPE, NOW)
        assert second.number == 2
        assert attempts(journal) == [first, second]

    def test_a_new_journal_has_no_attempts(self, journal: PaimonJournal) -> None:
        assert attempts(journal) == []

    def test_closing_forgets_and_may_be_repeated(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.close(attempt)
        journal.close(attempt)
        assert attempts(journal) == []

    def test_other_files_in_the_folder_are_passed_over(self, journal: PaimonJournal, tmp_path: Path) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        stray = tmp_path / "lithify" / "attempts" / ".lithify-run-1.json.1234"
        stray.write_text("half a jour")
        assert attempts(journal) == [attempt]
        stray.unlink()


class TestFence:
    def test_a_young_attempt_may_commit(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.check(attempt, NOW)
        journal.check(attempt, NOW + COMMIT_AGE)

    def test_an_old_one_may_not(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        with pytest.raises(AttemptFenced) as caught:
            journal.check(attempt, NOW + COMMIT_AGE + timedelta(microseconds=1))
        assert caught.value.journal == journal.path(attempt)

    def test_clocks_may_disagree_for_a_while(self) -> None:
        assert COMMIT_AGE < SAFE_AGE

    def test_ages_are_counted_across_time_zones(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        elsewhere = (NOW + timedelta(hours=1)).astimezone(timezone(timedelta(hours=-9)))
        assert attempt.age(elsewhere) == timedelta(hours=1)

    def test_a_condemned_one_may_not(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.condemn(attempt, NOW)
        assert [recorded.condemned for recorded in attempts(journal)] == [NOW.isoformat()]
        with pytest.raises(AttemptFenced) as caught:
            journal.check(attempt, NOW)
        assert caught.value.journal == journal.path(attempt)

    def test_one_whose_journal_is_gone_may_not(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.close(attempt)
        with pytest.raises(AttemptFenced):
            journal.check(attempt, NOW)

    def test_one_whose_place_another_took_may_not(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.close(attempt)
        journal.begin("run", SCOPE, NOW)
        with pytest.raises(AttemptFenced):
            journal.check(attempt, NOW)

    def test_the_time_of_the_first_condemnation_stays(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        first = journal.condemn(attempt, NOW)
        again = journal.condemn(attempt, NOW + timedelta(hours=2))
        assert first == again
        assert first is not None
        assert first.condemned_for(NOW + timedelta(hours=3)) == timedelta(hours=3)

    def test_one_whose_place_another_took_is_not_meant(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.close(attempt)
        other = journal.begin("run", SCOPE, NOW)
        assert journal.condemn(attempt, NOW) is None
        journal.close(attempt)
        assert attempts(journal) == [other]

    def test_numbers_are_not_used_again(self, journal: PaimonJournal) -> None:
        attempt = journal.begin("run", SCOPE, NOW)
        journal.close(attempt)
        assert journal.begin("run", SCOPE, NOW, after=attempt.number).number == 2

    @pytest.mark.parametrize("run", ["", "a/b", "../x", "a b", "a_b", "x" * 64])
    def test_the_id_of_a_run_makes_a_file_name(self, journal: PaimonJournal, run: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            journal.begin(run, SCOPE, NOW)
        assert caught.value.option == "--run-id"

    def test_the_condemned_stay_in_the_way_of_their_number(self, journal: PaimonJournal) -> None:
        journal.condemn(journal.begin("run", SCOPE, NOW), NOW)
        assert journal.begin("run", SCOPE, NOW).number == 2


PREFIX = "1538160e-e428-452a-8174-"

SOUND: dict[str, Any] = {
    "run": "run",
    "number": 1,
    "prefix": PREFIX,
    "base_snapshot": 1,
    "base_millis": 1,
    "started": NOW.isoformat(),
    "units": [{"partition": "", "bucket": 0, "folder": "f", "inputs": ["a"]}],
}

CORRUPT: dict[str, bytes] = {
    "nothing": b"",
    "cut off": json.dumps(SOUND).encode()[:40],
    "not text": b"\xff\xfe\x00",
    "a number": b"5",
    "null": b"null",
    "a text": b'"attempt"',
    "a list": b"[]",
    "a field is missing": json.dumps({k: v for k, v in SOUND.items() if k != "prefix"}).encode(),
    "no units": json.dumps({k: v for k, v in SOUND.items() if k != "units"}).encode(),
    "an unknown field": json.dumps({**SOUND, "colour": "red"}).encode(),
    "units of another shape": json.dumps({**SOUND, "units": [5]}).encode(),
    "a unit without its inputs": json.dumps({**SOUND, "units": [{"partition": ""}]}).encode(),
    "a time that is none": json.dumps({**SOUND, "started": "yesterday"}).encode(),
    "a time without a zone": json.dumps({**SOUND, "started": "2026-11-21T12:00:00"}).encode(),
    "a time that is a number": json.dumps({**SOUND, "started": 5}).encode(),
}


class TestCorruptJournals:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "lithify" / "attempts" / "run-1.json"
        path.parent.mkdir(parents=True)
        return path

    def test_the_sound_one_is_read(self, journal: PaimonJournal, path: Path) -> None:
        path.write_text(json.dumps(SOUND))
        assert [attempt.prefix for attempt in attempts(journal)] == [PREFIX]

    @pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT)
    def test_the_file_is_named(self, journal: PaimonJournal, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(CorruptTable) as caught:
            attempts(journal)
        assert caught.value.path == str(path)

    @pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT)
    def test_it_stays_and_is_in_nobodys_way(self, journal: PaimonJournal, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        assert journal.begin("another", SCOPE, NOW).number == 1
        assert journal.begin("run", SCOPE, NOW).number == 2
        assert path.read_bytes() == content


class TestWriterIds:
    def test_they_look_like_uuids_and_begin_with_the_prefix(self, journal: PaimonJournal) -> None:
        prefix = journal.begin("run", SCOPE, NOW).prefix
        written = writer_id(prefix, 5, 3)
        assert written.startswith(prefix)
        assert [len(group) for group in written.split("-")] == [8, 4, 4, 4, 12]

    def test_every_writer_and_try_has_its_own(self) -> None:
        assert len({writer_id("p-", writer, attempt) for writer in range(30) for attempt in range(30)}) == 900


def test_where_an_attempt_writes_outside_is_recorded(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), storage(tmp_path), AttemptScopes())
    outside = ExternalRoots("/lake/t", ("file:/elsewhere", "file:/anywhere"))
    attempt = journal.begin("run", replace(SCOPE, outside=outside), NOW)
    assert attempts(journal) == [attempt]
    assert attempt.scope.outside == outside


def test_a_journal_without_such_places_has_none(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), storage(tmp_path), AttemptScopes())
    attempt = journal.begin("run", SCOPE, NOW)
    path = Path(journal.path(attempt))
    fields = json.loads(path.read_text())
    del fields["outside"]
    path.write_text(json.dumps(fields))
    assert attempts(journal) == [attempt]
