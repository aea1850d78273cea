"""Every error Lithify raises on purpose, and what kind of failure each one is.

LithifyError
├── UserError                 the request or the table cannot be served as it is
│   ├── InvalidOption           an option or argument has an invalid value
│   │   └── InvalidResource       an object does not match the definition of its kind
│   ├── NotFound                a warehouse, table, partition, bucket or snapshot does not exist
│   ├── NotAllowed              a catalog refuses the credentials, or the request made with them
│   ├── OutOfReach              the operator may not connect there, or not use its own rights there
│   ├── UnsupportedTable        an option, type or layout that this release refuses
│   ├── TooManyOrphans          so much of a table would be deleted that its location is probably wrong
│   └── CommitsWouldBeLost      a rollback would undo commits that are no compactions
├── CorruptTable              the table's own files contradict its metadata
│   └── MissingFile             a file that a snapshot names does not exist
├── StorageError              the file system refused, is full, or did not answer
│   ├── StorageUnavailable      an object store did not answer, or failed
│   ├── CatalogUnavailable      a catalog's server or database did not answer, or failed
│   │   └── CatalogSilent         several tables in a row got no answer from it, so it was not asked again
│   └── CommitUnknown           a snapshot write whose outcome could not be read back
├── CommitConflict            other writers changed the inputs of every group of the run
├── CommitOutrun              other commits were faster at every try until the deadline
├── CatalogLocked             other writers held the catalog's lock all the time
├── StalePlan                 the table changed after maintenance was planned, so nothing was deleted
│   └── RollbackOutrun          another commit became the newest snapshot while the table was rolled back
├── AttemptFenced             this attempt may no longer commit: it is too old or was cleaned up
├── TaskStopped               a rewriting task was ended because its group can no longer be committed
├── TaskFailed                a rewriting task failed for a reason not listed above
│   └── OutOfMemory             it needed more memory than the limit of its process
├── TimedOut                  an operation exceeded its timeout and was ended
│   └── NoExecutors             no executor started, mostly for lack of resources in the cluster
├── ProcessLost               a process of ours ended before it had finished its work
└── ClusterError              the API server did not do what was requested
    ├── ClusterUnavailable      it did not answer, was overloaded, or failed
    ├── ClusterConflict         another client changed the object concurrently
    ├── ClusterExists           an object of that name exists already
    ├── NameTaken               another owner's object has the name of ours
    └── ClusterRefused          the request is invalid or not allowed
        └── AccountMissing        the service account of a pod does not exist

Any module may raise these; only the edges (`cli`, `controller`) turn them into exit codes, conditions and
back-off, by the class and its `failure`, never by the message. Messages say what was wrong, where, and what
to do about it. Errors can be pickled: executors and worker processes return them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar, cast

from lithify.settings import CREDENTIALS, EXECUTOR_MEMORY, TASK_MEMORY, Setting

Raised = TypeVar("Raised", bound="LithifyError")
Said = str | Setting


class Failure(StrEnum):
    """Who can remove the cause of a failure, and hence whether and how fast to retry."""

    USER = "user"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULING = "scheduling"
    CONFLICT = "conflict"
    OUT_OF_MEMORY = "out-of-memory"
    BUG = "bug"


class LithifyError(Exception):
    """The base class: `failure` is the retry class, `exit_code` the exit code of the command line.

    Made from the parts of its message. `Setting`s among them are shown as flags; `in_fields` shows fields
    instead.
    """

    failure: Failure = Failure.BUG
    exit_code: int = 1

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def __reduce__(self) -> tuple[Callable[..., LithifyError], tuple[Any, ...]]:
        # By default Python would call the class with the message; most classes take other arguments.
        return restored, (type(self), self.args, self.__dict__)


class UserError(LithifyError):
    """The request cannot be served as it is; repeating it changes nothing."""

    failure = Failure.USER
    exit_code = 2


class InvalidOption(UserError):
    """An option, argument or table option has a value that cannot be used."""

    def __init__(self, option: Said, problem: str, *more: Said) -> None:
        super().__init__(option, f": {problem}", *more)
        self.option = str(option)


class InvalidResource(InvalidOption):
    """An object does not match the definition of its kind; `problems`: pairs of field and message."""

    def __init__(self, kind: str, name: str, problems: tuple[tuple[str, str], ...]) -> None:
        said = "; ".join(f"{field}: {message}" if field else message for field, message in problems)
        super().__init__(f"{kind} {name}", said)
        self.kind = kind
        self.name = name
        self.problems = problems

    @property
    def fields(self) -> tuple[str, ...]:
        """The invalid fields, for example `spec.full.schedule`."""
        return tuple(field for field, _ in self.problems)


class NotFound(UserError):
    """A named thing does not exist."""

    def __init__(self, what: str, name: str, hint: str = "") -> None:
        super().__init__(f"there is no {what} {name}" + (f": {hint}" if hint else ""))
        self.what = what
        self.name = name


class NotAllowed(UserError):
    """A catalog refuses the credentials, or the request made with them."""

    def __init__(self, catalog: str, problem: str) -> None:
        super().__init__(f"{catalog}: {problem}; check the credentials among ", CREDENTIALS)
        self.catalog = catalog
        self.problem = problem


class OutOfReach(UserError):
    """The process may not connect to `where`, or not use rights of its own there."""

    def __init__(self, where: str, problem: str, *more: Said) -> None:
        super().__init__(f"{where}: {problem}", *more)
        self.where = where
        self.problem = problem


class UnsupportedTable(UserError):
    """The table uses something that this release refuses; `reasons` names each option or column."""

    def __init__(self, table: str, reasons: tuple[str, ...], work: str = "compacted") -> None:
        super().__init__(f"{table} cannot be {work} yet: " + "; ".join(reasons))
        self.table = table
        self.reasons = reasons


class TooManyOrphans(UserError):
    """So many of a table's files would be deleted as orphans that they are probably needed after all."""

    def __init__(self, table: str, orphans: int, files: int, percent_of_bytes: int) -> None:
        super().__init__(
            f"{table}: {orphans:,} of {files:,} files in its folder, with {percent_of_bytes} % of the bytes, "
            "are named by no snapshot, tag or branch. Nothing was deleted: perhaps the table's location is "
            "wrong, or its snapshots were lost. Look at what a dry run lists; if it may go, delete it with "
            "lithify remove-orphans and a larger most share"
        )
        self.table = table
        self.orphans = orphans
        self.files = files


class CommitsWouldBeLost(UserError):
    """A rollback to `snapshot` would undo commits that are no compactions; the message names some of them."""

    def __init__(self, table: str, snapshot: str, commits: str) -> None:
        super().__init__(
            f"{table}: a rollback to snapshot {snapshot} would lose other commits than compactions: {commits}"
        )
        self.table = table
        self.snapshot = snapshot


class CanaryFailed(LithifyError):
    """The compaction of a copy changed rows; `copy` is kept. Nobody can say yet which code is to blame."""

    failure = Failure.USER

    def __init__(self, table: str, copy: str, differences: str) -> None:
        super().__init__(
            f"{table}: the canary, which compacts the copy {copy} first, did not find the same rows in it "
            f"afterwards: {differences}. The table itself was not touched. The copy is kept: look into it, "
            "then drop this branch; until then every canary of this table fails"
        )
        self.table = table
        self.copy = copy


class CorruptTable(LithifyError):
    """A file of the table is missing, cut off, unsorted or unreadable; `path` is that file."""

    failure = Failure.USER

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class MissingFile(CorruptTable):
    """A file that a snapshot names does not exist: lost, or expired since that snapshot was read."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the file does not exist although a snapshot of the table lists it")


class StorageError(LithifyError):
    """The file system refused an operation that should have worked."""

    failure = Failure.INFRASTRUCTURE

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class StorageUnavailable(StorageError):
    """An object store did not answer, or failed: whether the request took effect is unknown."""


class CatalogUnavailable(StorageError):
    """The server or database of a catalog did not answer, or failed; `path` is its address."""


class CatalogSilent(CatalogUnavailable):
    """The catalog gave no answer about several tables in a row, so this question was not sent.

    Attributes:
        again_seconds: seconds until it may be asked again.
    """

    def __init__(self, path: str, problem: str, again_seconds: float = 0.0) -> None:
        super().__init__(path, problem)
        self.again_seconds = again_seconds


class CommitUnknown(StorageError):
    """Whether a snapshot write took place is unknown, so nothing that it names may be deleted."""


class CommitConflict(LithifyError):
    """Nothing of the run could be committed because other commits changed every group of files of it."""

    failure = Failure.CONFLICT
    exit_code = 3

    def __init__(self, table: str, buckets: tuple[str, ...], rounds: int) -> None:
        named = ", ".join(buckets[:5]) + (f" and {len(buckets) - 5} more" if len(buckets) > 5 else "")
        super().__init__(
            f"{table}: other commits changed {named} in each of {rounds} rounds; nothing was committed. "
            "Run again when fewer writers compact the same files, or set write-only=true on them"
        )
        self.table = table
        self.buckets = buckets
        self.rounds = rounds


class CommitOutrun(LithifyError):
    """Other commits were faster at each of `tries` tries in `seconds`, although no input was lost."""

    failure = Failure.CONFLICT
    exit_code = 3

    def __init__(self, table: str, tries: int, seconds: float) -> None:
        super().__init__(
            f"{table}: other commits were faster {tries} times in {seconds:g} s, so the run gave up although "
            "its files were not changed; run it again when fewer writers commit, or raise commit.timeout"
        )
        self.table = table
        self.tries = tries
        self.seconds = seconds


class CatalogLocked(LithifyError):
    """Other writers held a lock of the catalog at `path` for `seconds`; nothing was written."""

    failure = Failure.CONFLICT
    exit_code = 3

    def __init__(self, path: str, lock: str, seconds: float) -> None:
        super().__init__(
            f"{path}: other writers held the lock {lock} for {seconds:.1f} s, so nothing was committed; run "
            "again when fewer writers commit, or raise lock-acquire-timeout. What a killed writer held is "
            "free after the lock-acquire-timeout of its own catalog"
        )
        self.path = path
        self.lock = lock
        self.seconds = seconds


class StalePlan(LithifyError):
    """The table changed after maintenance was planned: the plan may name files that are needed now."""

    failure = Failure.CONFLICT
    exit_code = 3

    def __init__(self, table: str, change: str) -> None:
        super().__init__(f"{table}: {change} after the plan was made; nothing was deleted, plan again")
        self.table = table
        self.change = change


class RollbackOutrun(StalePlan):
    """A writer committed while a table was rolled back, so that its commit is the newest one now.

    Nothing of its commit is lost. Mostly it is built on a snapshot that was being undone, and has its rows.
    """

    def __init__(self, table: str, change: str) -> None:
        LithifyError.__init__(
            self,
            f"{table}: {change} while the table was rolled back, and is the newest snapshot now; roll back "
            "again when no writer commits",
        )
        self.table = table
        self.change = change


class AttemptFenced(LithifyError):
    """The attempt's journal is gone, condemned or too old, so its files may already be deleted."""

    failure = Failure.INFRASTRUCTURE

    def __init__(self, journal: str, problem: str) -> None:
        super().__init__(f"{journal}: {problem}; nothing was committed, run the compaction again")
        self.journal = journal


class TaskStopped(LithifyError):
    """A rewriting task was ended by its driver: others have changed its group, so nobody can commit it.

    `path` is the file that says so. A run reports such groups as conflicts; it only ends with this error if
    somebody else has written the file.
    """

    failure = Failure.INFRASTRUCTURE

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: the file stops a task of this run, but the run did not write it; delete it"
        )
        self.path = path


class TaskFailed(LithifyError):
    """A rewriting task failed after its retries."""

    failure = Failure.INFRASTRUCTURE


_MORE_MEMORY: tuple[Said, ...] = (
    *("give executors more memory (", EXECUTOR_MEMORY),
    *("), or tasks less (", TASK_MEMORY, ")"),
)


class OutOfMemory(TaskFailed):
    """A rewriting task, or the driver, needed more memory than the limit of its process."""

    failure = Failure.OUT_OF_MEMORY

    def __init__(
        self,
        path: str,
        problem: str,
        remedy: tuple[Said, ...] = _MORE_MEMORY,
    ) -> None:
        super().__init__(f"{path}: {problem}; ", *remedy)
        self.path = path
        self.problem = problem


class TimedOut(LithifyError):
    """An operation exceeded its timeout and was ended: `what` after `seconds`."""

    failure = Failure.INFRASTRUCTURE

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} took longer than {seconds:g} s and was ended")
        self.what = what
        self.seconds = seconds


class NoExecutors(TimedOut):
    """No executor has started within `seconds`."""

    failure = Failure.SCHEDULING

    def __init__(self, seconds: float) -> None:
        super().__init__("waiting for a first executor (its pod's events say why it did not start)", seconds)


class ProcessLost(LithifyError):
    """A process of ours ended before it had finished its work; `problem` says how, as far as known."""

    failure = Failure.INFRASTRUCTURE

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what}: {problem}")
        self.what = what
        self.problem = problem


class ProcessLimit(ProcessLost):
    """A process of ours ended because it exceeded its limit of memory or processor time."""


class ClusterError(LithifyError):
    """The API server did not do what was requested; `request` names that, `problem` is its response."""

    failure = Failure.INFRASTRUCTURE

    def __init__(self, request: str, problem: str) -> None:
        super().__init__(f"{request}: {problem}")
        self.request = request
        self.problem = problem


class ClusterUnavailable(ClusterError):
    """The API server did not answer, was overloaded, or failed: it is unknown if the request took effect."""


class ClusterConflict(ClusterError):
    """Another client has changed the object since it was read."""

    failure = Failure.CONFLICT


class ClusterExists(ClusterError):
    """An object of that name exists already."""

    failure = Failure.CONFLICT


class NameTaken(ClusterError):
    """Another owner's object has the name that ours would have; it is left alone."""

    failure = Failure.SCHEDULING


class ClusterRefused(ClusterError):
    """The request is invalid, or this account is not allowed to make it."""

    failure = Failure.USER
    exit_code = 2


class AccountMissing(ClusterRefused):
    """The service account of a pod does not exist; the message says how to create it."""

    def __init__(self, request: str, namespace: str, account: str) -> None:
        of = f"kubectl --namespace {namespace} create"
        super().__init__(
            request,
            f"namespace {namespace} has no service account {account}, which spec.spark.serviceAccountName of "
            f"the policy names. Create it: {of} serviceaccount {account} && {of} rolebinding {account} "
            f"--clusterrole=lithify-driver --serviceaccount={namespace}:{account}",
        )
        self.namespace = namespace
        self.account = account


def with_message(error: Raised, message: str) -> Raised:
    """The same error, its class and fields included, with another message."""
    return cast("Raised", restored(type(error), (message,), error.__dict__))


def in_fields(error: Raised) -> Raised:
    """The same error for readers of objects: its message names fields instead of flags."""
    message = "".join(part.field if isinstance(part, Setting) else str(part) for part in error.args)
    found = with_message(error, message)
    if isinstance(found, InvalidOption) and isinstance(error.args[0], Setting):
        found.option = error.args[0].field
    return found


def restored(kind: type[LithifyError], args: tuple[Any, ...], fields: dict[str, Any]) -> LithifyError:
    """Restores an error from another process, its message included."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error
