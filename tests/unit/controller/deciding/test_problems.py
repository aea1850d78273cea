"""Every error has a reason in the closed list, and every reason says whether a person is needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lithify.controller.deciding.problems import REASONS, TableProblem, TableReason, problem_of
from lithify.errors import (
    CatalogSilent,
    CatalogUnavailable,
    ClusterRefused,
    ClusterUnavailable,
    CommitConflict,
    CommitUnknown,
    CorruptTable,
    InvalidOption,
    LithifyError,
    MissingFile,
    NotAllowed,
    NotFound,
    OutOfMemory,
    OutOfReach,
    StorageError,
    TimedOut,
    UnsupportedTable,
)
from lithify.settings import PARTITIONS, URI, catalog_option, table_option
from support.cases import case
from support.deciding.situations import table


def classes(root: type[LithifyError] = LithifyError) -> Iterator[type[LithifyError]]:
    yield root
    for kind in root.__subclasses__():
        yield from classes(kind)


def test_every_class_of_errors_is_mapped() -> None:
    own = {kind for kind in classes() if kind.__module__ == LithifyError.__module__}
    assert own == REASONS.keys()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        case(NotFound("table", "db.t"), TableReason.TABLE_NOT_FOUND, id="table"),
        case(NotFound("database", "db"), TableReason.TABLE_NOT_FOUND, id="database"),
        case(NotFound("warehouse", "/w"), TableReason.WAREHOUSE_NOT_FOUND, id="warehouse"),
        case(NotFound("Secret", "lake/s"), TableReason.SECRET_NOT_FOUND, id="Secret"),
        case(NotFound("key", "k in Secret lake/s"), TableReason.SECRET_KEY_MISSING, id="key of a Secret"),
        case(NotFound("Catalog", "lake/c"), TableReason.CATALOG_NOT_FOUND, id="Catalog"),
        case(NotAllowed("http://c", "expired"), TableReason.ACCESS_DENIED, id="credentials"),
        case(OutOfReach("10.1.2.3", "private"), TableReason.NOT_ALLOWED, id="address"),
        case(InvalidOption(catalog_option("s3.x"), "no"), TableReason.INVALID_OPTION, id="of a Catalog"),
        case(InvalidOption(URI, "no"), TableReason.INVALID_OPTION, id="field of a Catalog"),
        case(
            InvalidOption(table_option("num-levls"), "no"),
            TableReason.INVALID_TABLE_OPTION,
            id="option of a LakeTable",
        ),
        case(InvalidOption(PARTITIONS, "no"), TableReason.INVALID_TABLE_OPTION, id="field of a policy"),
        case(InvalidOption("num-levels", "no"), TableReason.INVALID_TABLE_OPTION, id="option of the table"),
        case(UnsupportedTable("db.t", ("orc",)), TableReason.UNSUPPORTED_TABLE, id="unsupported"),
        case(CorruptTable("/m", "cut off"), TableReason.CORRUPT_TABLE, id="corrupt"),
        case(MissingFile("/d"), TableReason.CORRUPT_TABLE, id="missing file"),
        case(StorageError("/t", "reset"), TableReason.STORAGE_UNAVAILABLE, id="storage"),
        case(CatalogSilent("s3://c", "no answer", 5.0), TableReason.CATALOG_SILENT, id="catalog silent"),
        case(CatalogUnavailable("http://c", "503"), TableReason.CATALOG_UNREACHABLE, id="catalog down"),
        case(CommitUnknown("/s", "gone"), TableReason.STORAGE_UNAVAILABLE, id="unknown write"),
        case(TimedOut("a look", 30), TableReason.OBSERVATION_TIMED_OUT, id="time-out"),
        case(ClusterUnavailable("get", "503"), TableReason.CLUSTER_UNAVAILABLE, id="API server down"),
        case(ClusterRefused("get", "403"), TableReason.SECRET_NOT_READABLE, id="API server refuses"),
        case(OutOfMemory("/t", "9 GB"), TableReason.OBSERVATION_FAILED, id="memory"),
        case(CommitConflict("db.t", ("b",), 1), TableReason.OBSERVATION_FAILED, id="not met by a look"),
        case(LithifyError("who knows"), TableReason.OBSERVATION_FAILED, id="unexpected"),
    ],
)
def test_reason_of_an_error(error: LithifyError, reason: TableReason) -> None:
    assert problem_of(error).reason is reason
    assert problem_of(error).message


def test_a_class_that_came_later_has_the_reason_of_its_parent() -> None:
    later = type("Later", (CatalogUnavailable,), {})
    assert problem_of(later("http://c", "503")).reason is TableReason.CATALOG_UNREACHABLE


def test_the_message_of_a_try_is_that_of_the_next() -> None:
    first = problem_of(StorageError("/t", "<HTTPConnection object at 0x7f5aa6b01110>:\n  refused"))
    second = problem_of(StorageError("/t", "<HTTPConnection object at 0x7f0123456789>:\n  refused"))
    assert first == second
    assert "\n" not in first.message


def test_credentials_are_looked_for_in_the_secret() -> None:
    assert "secretRef" in problem_of(NotAllowed("http://c", "expired")).message


def test_a_missing_catalog_is_named() -> None:
    problem = TableProblem.catalog_missing(table())
    assert problem.reason is TableReason.CATALOG_NOT_FOUND
    assert "warehouse" in problem.message


def test_only_what_may_pass_needs_no_person() -> None:
    assert {reason for reason in TableReason if not reason.needs_person} == {
        TableReason.READY,
        TableReason.NEVER_OBSERVED,
        TableReason.COMPACTIONS_FAILING,
        TableReason.CATALOG_SILENT,
        TableReason.CATALOG_UNREACHABLE,
        TableReason.STORAGE_UNAVAILABLE,
        TableReason.OBSERVATION_TIMED_OUT,
        TableReason.CLUSTER_UNAVAILABLE,
        TableReason.OBSERVATION_FAILED,
    }
