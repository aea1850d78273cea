"""Why a table cannot be observed or compacted: the closed list of reasons, and the errors that map to them.

Used by `reconciling`, which catches the errors, and by `conditions`, which puts the reasons into status.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    in_fields,
)
from lithify.plain_text import repeatable
from lithify.resources.table import LakeTable
from lithify.settings import is_of_catalog


class TableReason(StrEnum):
    """The reason of a table's Ready condition."""

    READY = "Ready"
    NEVER_OBSERVED = "NeverObserved"

    CATALOG_NOT_FOUND = "CatalogNotFound"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105  # a reason, not a password
    SECRET_KEY_MISSING = "SecretKeyMissing"  # noqa: S105
    SECRET_NOT_READABLE = "SecretNotReadable"  # noqa: S105
    INVALID_OPTION = "InvalidOption"
    INVALID_TABLE_OPTION = "InvalidTableOption"
    ACCESS_DENIED = "AccessDenied"
    NOT_ALLOWED = "NotAllowed"
    WAREHOUSE_NOT_FOUND = "WarehouseNotFound"
    TABLE_NOT_FOUND = "TableNotFound"
    UNSUPPORTED_OPTION = "UnsupportedOption"
    UNSUPPORTED_TABLE = "UnsupportedTable"
    CORRUPT_TABLE = "CorruptTable"
    POLICY_MISSING = "PolicyMissing"
    POLICY_INVALID = "PolicyInvalid"

    COMPACTIONS_FAILING = "CompactionsFailing"
    CATALOG_SILENT = "CatalogSilent"
    CATALOG_UNREACHABLE = "CatalogUnreachable"
    STORAGE_UNAVAILABLE = "StorageUnavailable"
    OBSERVATION_TIMED_OUT = "ObservationTimedOut"
    CLUSTER_UNAVAILABLE = "ClusterUnavailable"
    OBSERVATION_FAILED = "ObservationFailed"

    @property
    def needs_person(self) -> bool:
        """Whether it stays so until a person fixes it; otherwise the next observation may find it gone."""
        return self in _NEED_A_PERSON

    @property
    def blames_catalog(self) -> bool:
        """Whether it means that the catalog cannot be used; otherwise the catalog has answered."""
        return self in _BLAME_THE_CATALOG


_NEED_A_PERSON = frozenset(
    {
        TableReason.CATALOG_NOT_FOUND,
        TableReason.SECRET_NOT_FOUND,
        TableReason.SECRET_KEY_MISSING,
        TableReason.SECRET_NOT_READABLE,
        TableReason.INVALID_OPTION,
        TableReason.INVALID_TABLE_OPTION,
        TableReason.ACCESS_DENIED,
        TableReason.NOT_ALLOWED,
        TableReason.WAREHOUSE_NOT_FOUND,
        TableReason.TABLE_NOT_FOUND,
        TableReason.UNSUPPORTED_OPTION,
        TableReason.UNSUPPORTED_TABLE,
        TableReason.CORRUPT_TABLE,
        TableReason.POLICY_MISSING,
        TableReason.POLICY_INVALID,
    }
)
_BLAME_THE_CATALOG = frozenset(
    {
        TableReason.SECRET_NOT_FOUND,
        TableReason.SECRET_KEY_MISSING,
        TableReason.SECRET_NOT_READABLE,
        TableReason.INVALID_OPTION,
        TableReason.ACCESS_DENIED,
        TableReason.NOT_ALLOWED,
        TableReason.WAREHOUSE_NOT_FOUND,
        TableReason.CATALOG_SILENT,
        TableReason.CATALOG_UNREACHABLE,
        TableReason.STORAGE_UNAVAILABLE,
        TableReason.OBSERVATION_TIMED_OUT,
        TableReason.CLUSTER_UNAVAILABLE,
        TableReason.OBSERVATION_FAILED,
    }
)

REASONS: dict[type[LithifyError], TableReason] = {
    LithifyError: TableReason.OBSERVATION_FAILED,
    UserError: TableReason.UNSUPPORTED_TABLE,
    InvalidOption: TableReason.INVALID_OPTION,
    InvalidResource: TableReason.INVALID_OPTION,
    NotFound: TableReason.TABLE_NOT_FOUND,
    NotAllowed: TableReason.ACCESS_DENIED,
    OutOfReach: TableReason.NOT_ALLOWED,
    UnsupportedTable: TableReason.UNSUPPORTED_TABLE,
    TooManyOrphans: TableReason.UNSUPPORTED_TABLE,
    CommitsWouldBeLost: TableReason.UNSUPPORTED_TABLE,
    CanaryFailed: TableReason.OBSERVATION_FAILED,
    CorruptTable: TableReason.CORRUPT_TABLE,
    MissingFile: TableReason.CORRUPT_TABLE,
    StorageError: TableReason.STORAGE_UNAVAILABLE,
    StorageUnavailable: TableReason.STORAGE_UNAVAILABLE,
    CatalogUnavailable: TableReason.CATALOG_UNREACHABLE,
    CatalogSilent: TableReason.CATALOG_SILENT,
    CommitUnknown: TableReason.STORAGE_UNAVAILABLE,
    CommitConflict: TableReason.OBSERVATION_FAILED,
    CommitOutrun: TableReason.OBSERVATION_FAILED,
    CatalogLocked: TableReason.OBSERVATION_FAILED,
    StalePlan: TableReason.OBSERVATION_FAILED,
    RollbackOutrun: TableReason.OBSERVATION_FAILED,
    AttemptFenced: TableReason.OBSERVATION_FAILED,
    TaskStopped: TableReason.OBSERVATION_FAILED,
    TaskFailed: TableReason.OBSERVATION_FAILED,
    OutOfMemory: TableReason.OBSERVATION_FAILED,
    ProcessLost: TableReason.OBSERVATION_FAILED,
    ProcessLimit: TableReason.OBSERVATION_FAILED,
    NoExecutors: TableReason.OBSERVATION_FAILED,
    TimedOut: TableReason.OBSERVATION_TIMED_OUT,
    ClusterError: TableReason.CLUSTER_UNAVAILABLE,
    ClusterUnavailable: TableReason.CLUSTER_UNAVAILABLE,
    ClusterConflict: TableReason.CLUSTER_UNAVAILABLE,
    ClusterExists: TableReason.CLUSTER_UNAVAILABLE,
    NameTaken: TableReason.CLUSTER_UNAVAILABLE,
    ClusterRefused: TableReason.SECRET_NOT_READABLE,
    AccountMissing: TableReason.CLUSTER_UNAVAILABLE,
}
"""The reason for each error of an observation. Secrets are all that is read from the API server for one, so
its refusal concerns them."""

_MISSING = {
    "Catalog": TableReason.CATALOG_NOT_FOUND,
    "Secret": TableReason.SECRET_NOT_FOUND,
    "key": TableReason.SECRET_KEY_MISSING,
    "warehouse": TableReason.WAREHOUSE_NOT_FOUND,
    "SQLite database": TableReason.WAREHOUSE_NOT_FOUND,
}


@dataclass(frozen=True, slots=True)
class TableProblem:
    """Why a table cannot be observed or compacted.

    Attributes:
        reason: one of the closed list.
        message: for people.
        is_lasting: whether a retry is unlikely to help, although the reason may pass by itself.
    """

    reason: TableReason
    message: str
    is_lasting: bool = False

    @property
    def is_stalled(self) -> bool:
        """Whether only a person can help: by its reason, or because it has lasted for too long."""
        return self.is_lasting or self.reason.needs_person

    @classmethod
    def catalog_missing(cls, table: LakeTable) -> TableProblem:
        """The problem that the table names a Catalog that does not exist."""
        name = table.spec.catalog_ref.name
        return cls(TableReason.CATALOG_NOT_FOUND, f"there is no Catalog {name} in {table.metadata.namespace}")

    @classmethod
    def unsupported(cls, refusals: tuple[str, ...]) -> TableProblem:
        """The problem that this release refuses the table."""
        return cls(TableReason.UNSUPPORTED_OPTION, "it cannot be compacted: " + "; ".join(refusals))


def is_unsupported(reason: str) -> bool:
    """Whether a reason of Ready means that this release refuses the table: no failure, nothing to retry."""
    return reason in {TableReason.UNSUPPORTED_OPTION, TableReason.UNSUPPORTED_TABLE}


def problem_of(error: LithifyError) -> TableProblem:
    """The problem that an error means for the table that was observed."""
    reason = next(REASONS[kind] for kind in type(error).__mro__ if kind in REASONS)
    if isinstance(error, NotFound):
        reason = _MISSING.get(error.what, reason)
    told = in_fields(error)
    if isinstance(told, InvalidOption) and not is_of_catalog(told.option):
        reason = TableReason.INVALID_TABLE_OPTION
    return TableProblem(reason, repeatable(str(told)))
