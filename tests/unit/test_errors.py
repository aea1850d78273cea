"""Every error has its retry class and exit code, names what it is about, and survives the way home."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.main import INTERRUPTED
from lithify.cli.output import SOME_BLOCKED
from lithify.errors import (
    AccountMissing,
    AttemptFenced,
    CanaryFailed,
    CatalogLocked,
    CatalogSilent,
    CatalogUnavailable,
    ClusterConflict,
    ClusterError,
    ClusterExists,
    ClusterRefused,
    ClusterUnavailable,
    CommitConflict,
    CommitOutrun,
    CommitsWouldBeLost,
    CommitUnknown,
    CorruptTable,
    Failure,
    InvalidOption,
    InvalidResource,
    LithifyError,
    MissingFile,
    NameTaken,
    NoExecutors,
    NotAllowed,
    NotFound,
    OutOfMemory,
    OutOfReach,
    ProcessLimit,
    ProcessLost,
    RollbackOutrun,
    StalePlan,
    StorageError,
    StorageUnavailable,
    TaskFailed,
    TaskStopped,
    TimedOut,
    TooManyOrphans,
    UnsupportedTable,
    UserError,
)

COMMANDS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"

ERRORS: list[tuple[LithifyError, Failure, int, Mapping[str, Any]]] = [
    (LithifyError("who knows"), Failure.BUG, 1, {}),
    (UserError("not like this"), Failure.USER, 2, {}),
    (InvalidOption("--bucket", "no list"), Failure.USER, 2, {"option": "--bucket"}),
    (TooManyOrphans("db.t", 3, 4, 70), Failure.USER, 2, {"table": "db.t", "orphans": 3, "files": 4}),
    (NotFound("table", "db.t", "look there"), Failure.USER, 2, {"what": "table", "name": "db.t"}),
    (NotAllowed("http://c", "expired"), Failure.USER, 2, {"catalog": "http://c", "problem": "expired"}),
    (OutOfReach("10.1.2.3", "private"), Failure.USER, 2, {"where": "10.1.2.3", "problem": "private"}),
    (
        UnsupportedTable("db.t", ("merge-engine", "orc")),
        Failure.USER,
        2,
        {"table": "db.t", "reasons": ("merge-engine", "orc")},
    ),
    (CanaryFailed("db.t", "copy", "bucket-0"), Failure.USER, 1, {"table": "db.t", "copy": "copy"}),
    (CorruptTable("/t/m-0", "cut off"), Failure.USER, 1, {"path": "/t/m-0", "problem": "cut off"}),
    (MissingFile("/t/data-0"), Failure.USER, 1, {"path": "/t/data-0"}),
    (StorageError("/t/f", "no space"), Failure.INFRASTRUCTURE, 1, {"path": "/t/f", "problem": "no space"}),
    (StorageUnavailable("s3://b/f", "gone"), Failure.INFRASTRUCTURE, 1, {"path": "s3://b/f"}),
    (CatalogUnavailable("http://c", "gone"), Failure.INFRASTRUCTURE, 1, {"path": "http://c"}),
    (
        CatalogSilent("s3://c", "gone", 5.0),
        Failure.INFRASTRUCTURE,
        1,
        {"path": "s3://c"},
    ),
    (CommitUnknown("/t/s-7", "gone"), Failure.INFRASTRUCTURE, 1, {"path": "/t/s-7", "problem": "gone"}),
    (
        CommitConflict("db.t", ("dt=1/bucket-0", "bucket-1"), 3),
        Failure.CONFLICT,
        3,
        {"table": "db.t", "buckets": ("dt=1/bucket-0", "bucket-1"), "rounds": 3},
    ),
    (CommitOutrun("db.t", 11, 600), Failure.CONFLICT, 3, {"table": "db.t", "tries": 11, "seconds": 600}),
    (
        CatalogLocked("jdbc:sqlite:/c.db", "jdbc.db.t", 480.5),
        Failure.CONFLICT,
        3,
        {"path": "jdbc:sqlite:/c.db", "lock": "jdbc.db.t", "seconds": 480.5},
    ),
    (StalePlan("db.t", "a tag was written"), Failure.CONFLICT, 3, {"change": "a tag was written"}),
    (RollbackOutrun("db.t", "snapshot 7 was committed"), Failure.CONFLICT, 3, {"table": "db.t"}),
    (
        CommitsWouldBeLost("db.t", "5", "snapshot 7 (APPEND)"),
        Failure.USER,
        2,
        {"table": "db.t", "snapshot": "5"},
    ),
    (AttemptFenced("/t/run-1.json", "too old"), Failure.INFRASTRUCTURE, 1, {"journal": "/t/run-1.json"}),
    (TaskStopped("/t/stop-7"), Failure.INFRASTRUCTURE, 1, {"path": "/t/stop-7"}),
    (TaskFailed("four times"), Failure.INFRASTRUCTURE, 1, {}),
    (
        InvalidResource("Catalog", "lake", (("spec.uri", "needed"), ("spec", "odd"))),
        Failure.USER,
        2,
        {"kind": "Catalog", "name": "lake", "fields": ("spec.uri", "spec"), "option": "Catalog lake"},
    ),
    (TimedOut("a look at db.t", 30), Failure.INFRASTRUCTURE, 1, {"what": "a look at db.t", "seconds": 30}),
    (NoExecutors(120), Failure.SCHEDULING, 1, {"seconds": 120}),
    (ProcessLimit("a plan", "memory"), Failure.INFRASTRUCTURE, 1, {"what": "a plan", "problem": "memory"}),
    (ProcessLost("a look", "killed"), Failure.INFRASTRUCTURE, 1, {"what": "a look", "problem": "killed"}),
    (ClusterError("GET /api", "odd"), Failure.INFRASTRUCTURE, 1, {"request": "GET /api", "problem": "odd"}),
    (ClusterUnavailable("GET /api", "gone"), Failure.INFRASTRUCTURE, 1, {"request": "GET /api"}),
    (ClusterConflict("PATCH /api", "changed"), Failure.CONFLICT, 1, {"request": "PATCH /api"}),
    (ClusterExists("POST /api", "there"), Failure.CONFLICT, 1, {"request": "POST /api"}),
    (NameTaken("POST /api", "taken"), Failure.SCHEDULING, 1, {"request": "POST /api"}),
    (ClusterRefused("POST /api", "forbidden"), Failure.USER, 2, {"request": "POST /api"}),
    (
        AccountMissing("POST /api", "lake", "lithify-driver"),
        Failure.USER,
        2,
        {"request": "POST /api", "namespace": "lake", "account": "lithify-driver"},
    ),
    (OutOfMemory("/t/f", "9 GB"), Failure.OUT_OF_MEMORY, 1, {"path": "/t/f", "problem": "9 GB"}),
]
"""One of each class: what it is, its retry class, its exit code, and its fields."""

EACH = pytest.mark.parametrize("error", [error for error, *_ in ERRORS], ids=lambda e: type(e).__name__)


def classes(root: type[LithifyError] = LithifyError) -> Iterator[type[LithifyError]]:
    yield root
    for kind in root.__subclasses__():
        yield from classes(kind)


def test_every_class_is_looked_at() -> None:
    assert {type(error) for error, *_ in ERRORS} == set(classes())


@pytest.mark.parametrize(
    ("error", "failure", "code", "fields"), ERRORS, ids=[type(error).__name__ for error, *_ in ERRORS]
)
def test_class_decides_retries_and_the_exit_code(
    error: LithifyError, failure: Failure, code: int, fields: Mapping[str, Any]
) -> None:
    assert (error.failure, error.exit_code) == (failure, code)
    assert {name: getattr(error, name) for name in fields} == fields


def test_exit_codes_are_those_of_the_documentation() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", COMMANDS_PAGE.read_text(), re.MULTILINE)}
    assert documented == {0, INTERRUPTED, SOME_BLOCKED, *(kind.exit_code for kind in classes())}


def test_every_kind_of_failure_has_an_error() -> None:
    assert {kind.failure for kind in classes()} == set(Failure)


@pytest.mark.parametrize(
    ("error", "fields"),
    [(error, fields) for error, _, _, fields in ERRORS if fields],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_message_names_everything_that_the_fields_hold(
    error: LithifyError, fields: Mapping[str, Any]
) -> None:
    facts = [fact for value in fields.values() for fact in (value if isinstance(value, tuple) else (value,))]
    assert [fact for fact in facts if str(fact) not in str(error)] == []
    assert "\n" not in str(error)


@pytest.mark.parametrize("count", [1, 5, 6, 1000])
def test_message_of_a_conflict_stays_short(count: int) -> None:
    buckets = tuple(f"dt=2026-01-01/bucket-{number}" for number in range(count))
    error = CommitConflict("db.t", buckets, 3)
    assert error.buckets == buckets
    assert sum(bucket in str(error).replace(",", " ").split() for bucket in buckets) == min(count, 5)
    assert len(str(error)) < 350


@EACH
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_errors_survive_pickling(error: LithifyError, protocol: int) -> None:
    assert_same(pickle.loads(pickle.dumps(error, protocol)), error)


@EACH
def test_errors_survive_two_trips_and_a_copy(error: LithifyError) -> None:
    assert_same(copy.copy(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))), error)


def test_notes_are_carried_along() -> None:
    error = StorageError("/t/f", "no space")
    error.add_note("while spilling")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while spilling"]


def assert_same(found: LithifyError, error: LithifyError) -> None:
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.__dict__ == error.__dict__
    assert (found.failure, found.exit_code) == (error.failure, error.exit_code)
