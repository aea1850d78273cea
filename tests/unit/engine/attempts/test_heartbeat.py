"""Attempts live as long as they are heard of, and one that fell silent for too long never comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.engine.attempts.ages import COMMIT_AGE, RENEWED_EVERY, SAFE_AGE
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.journal import Journal
from lithify.errors import AttemptFenced, CorruptTable, StorageError
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.snapshots.attempt_scope import (
    AttemptScope,
    AttemptScopes,
    PaimonAttempt,
    PaimonJournal,
)
from lithify.io.storage import Storage

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


class SetClock:
    """Shows what it was set to."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def journal(tmp_path: Path) -> PaimonJournal:
    return Journal(str(tmp_path), storage_of(LocalFileIO(), (str(tmp_path),)), AttemptScopes())


@pytest.fixture
def attempt(journal: PaimonJournal) -> PaimonAttempt:
    return journal.begin("run", AttemptScope(7, 1000, ()), NOW)


def signs(journal: PaimonJournal, attempt: PaimonAttempt) -> list[str]:
    folder = Path(journal.path(attempt)).parent
    return [path.read_text() for path in folder.iterdir() if "alive" in path.name]


def test_an_attempt_that_is_heard_of_may_commit_after_days(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock
) -> None:
    heartbeat = Heartbeat(journal, attempt, clock)
    for _ in range(100):
        clock.moment += timedelta(hours=1)
        heartbeat.beat()
    clock.moment += COMMIT_AGE

    journal.check(attempt, clock.now())
    assert journal.silence(attempt, clock.now()) == COMMIT_AGE
    with pytest.raises(AttemptFenced):
        journal.check(attempt, clock.now() + MOMENT)


def test_signs_are_given_now_and_then_however_often_it_beats(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[datetime] = []
    monkeypatch.setattr(Journal, "renew", lambda *given: renewed.append(given[-1]))
    heartbeat = Heartbeat(journal, attempt, clock)
    for _ in range(400):
        heartbeat.beat()
        clock.moment += timedelta(minutes=1)

    assert renewed == [NOW + RENEWED_EVERY * number for number in range(1, 14)]


def test_a_young_attempt_gives_none(journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock) -> None:
    clock.moment += RENEWED_EVERY - MOMENT
    Heartbeat(journal, attempt, clock).beat()
    assert signs(journal, attempt) == []


def test_one_that_was_silent_for_too_long_cannot_come_back(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock
) -> None:
    """A cleaner may already have decided by the last sign."""
    clock.moment += COMMIT_AGE + MOMENT
    with pytest.raises(AttemptFenced):
        Heartbeat(journal, attempt, clock).beat()
    assert signs(journal, attempt) == []


def test_a_sign_does_not_undo_a_condemnation(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock
) -> None:
    """Whichever is written last."""
    recorded: list[PaimonAttempt | None] = []
    write = Storage.write_text

    def condemned_first(self: Storage, path: str, text: str) -> None:
        if "alive" in path:
            recorded.append(journal.condemn(attempt, clock.now()))
        write(self, path, text)

    clock.moment += RENEWED_EVERY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "write_text", condemned_first)
        Heartbeat(journal, attempt, clock).beat()

    assert len(signs(journal, attempt)) == len(recorded) == 1
    with pytest.raises(AttemptFenced):
        journal.check(attempt, clock.now())


def test_a_condemned_attempt_learns_it_from_its_own_heart(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock
) -> None:
    journal.condemn(attempt, clock.now())
    clock.moment += RENEWED_EVERY
    with pytest.raises(AttemptFenced):
        Heartbeat(journal, attempt, clock).beat()


def test_a_sign_that_cannot_be_given_ends_nothing(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("path", "Input/output error")

    heartbeat = Heartbeat(journal, attempt, clock)
    clock.moment += RENEWED_EVERY
    with monkeypatch.context() as patch:
        patch.setattr(Storage, "write_text", fail)
        heartbeat.beat()
    clock.moment += RENEWED_EVERY
    heartbeat.beat()

    assert journal.silence(attempt, clock.now()) == timedelta()


def test_the_sign_of_another_attempt_of_that_number_is_not_its_own(
    journal: PaimonJournal, attempt: PaimonAttempt, clock: SetClock
) -> None:
    clock.moment += RENEWED_EVERY
    journal.renew(attempt, clock.now())
    journal.close(attempt)
    other = journal.begin("run", AttemptScope(7, 1000, ()), NOW)
    assert journal.path(other) == journal.path(attempt)

    assert journal.silence(other, NOW + SAFE_AGE) == SAFE_AGE


def test_a_sign_that_is_none_is_named(journal: PaimonJournal, attempt: PaimonAttempt) -> None:
    journal.renew(attempt, NOW)
    sign = next(path for path in Path(journal.path(attempt)).parent.iterdir() if "alive" in path.name)
    sign.write_text(f"{attempt.prefix} yesterday")
    with pytest.raises(CorruptTable) as caught:
        journal.silence(attempt, NOW + SAFE_AGE)
    assert caught.value.path == str(sign)


@given(pauses=st.lists(st.timedeltas(timedelta(), timedelta(hours=40)), max_size=12))
def test_nobody_commits_whose_files_others_may_delete(
    tmp_path_factory: pytest.TempPathFactory, pauses: list[timedelta]
) -> None:
    """A cleaner goes by the last sign; however the attempt sleeps, it commits before that is too old."""
    clock = SetClock()
    folder = str(tmp_path_factory.mktemp("journal"))
    journal = Journal(folder, storage_of(LocalFileIO(), (folder,)), AttemptScopes())
    attempt = journal.begin("run", AttemptScope(7, 1000, ()), NOW)
    heartbeat = Heartbeat(journal, attempt, clock)
    last = NOW
    for pause in pauses:
        clock.moment += pause
        may_be_deleted = clock.moment - last > SAFE_AGE
        try:
            heartbeat.beat()
            journal.check(attempt, clock.now())
        except AttemptFenced:
            return
        assert not may_be_deleted
        last = clock.moment - journal.silence(attempt, clock.now())
