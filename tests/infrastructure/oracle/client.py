"""The oracle as Python sees it: one method per operation of README.md."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from infrastructure.jvm import process
from infrastructure.jvm.process import JavaProcess
from infrastructure.oracle.arguments import CompactWhat, Filter, ReadWhat, WriteHow
from infrastructure.oracle.model import (
    BucketChange,
    BucketRound,
    CompactBench,
    Compaction,
    ConfigOption,
    DataFile,
    Digest,
    FileEntry,
    IndexFile,
    KeyValue,
    ManagerRound,
    Options,
    Orphans,
    Partition,
    PlanBench,
    Prepared,
    Row,
    Scan,
    Table,
    Totals,
    data_files,
)
from infrastructure.oracle.process import OracleError, build, started

__all__ = ["Oracle", "OracleError", "Table", "build"]

Case = Mapping[str, Any]
FOR_TESTS = (*process.FOR_TESTS, "-Dlithify.buffered=true")
FOR_LARGE_TABLES = ("-XX:+UseSerialGC",)
"""What is done millions of times is worth compiling well."""


class Oracle:
    """A running oracle. Calls from several threads wait for each other."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process

    @classmethod
    def start(
        cls,
        timezone: str = "UTC",
        heap: str = "2g",
        jvm_args: Sequence[str] = FOR_TESTS,
    ) -> Self:
        """Starts the JVM, after a build if this machine has none; benchmarks want other args."""
        return cls(started(timezone, heap, jvm_args))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kills the JVM."""
        self._process.close()

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

    def call(self, op: str, **args: Any) -> Any:
        """Any operation by its name; arguments that are None are left out."""
        return self._process.call(op, {name: value for name, value in args.items() if value is not None})

    # Schemas

    def create_table(
        self,
        table: Table,
        columns: Mapping[str, Any],
        primary_key: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """Creates the table, and its database when that is missing; columns map names to types."""
        self.call(
            "create_table",
            **table.args(),
            columns=[{"name": name, "type": kind} for name, kind in columns.items()],
            primary_key=list(primary_key),
            partition_keys=list(partition_keys),
            options=options,
            comment=comment,
        )

    def alter_table(self, table: Table, *changes: Case) -> int:
        """Applies the changes at once and returns the id of the new schema."""
        return int(self.call("alter_table", **table.args(), changes=changes)["schema_id"])

    def schema(self, table: Table) -> dict[str, Any]:
        """The table's newest schema as Paimon stores it."""
        return dict(self.call("schema", **table.args()))

    # Writing

    def write(self, table: Table, rows: Iterable[Row], **how: Unpack[WriteHow]) -> int:
        """Commits the rows and returns the newest snapshot that came of it, 0 when there was none.

        Nothing is compacted unless the options say `{"write-only": "false"}`.
        """
        return _newest(self.call("write", **table.args(), rows=list(rows), **how))

    def delete(
        self,
        table: Table,
        where: Filter,
        partitions: Sequence[Partition] | None = None,
        counted: bool = True,
    ) -> int:
        """Deletes rows of a table without a primary key as Spark's DELETE does; returns the newest snapshot.

        Writers of old releases did not count the rows that a vector deletes.
        """
        args = {"filter": where, "partitions": partitions, "counted": counted}
        return _newest(self.call("delete", **table.args(), **args))

    def prepare_delete(self, table: Table, where: Filter) -> str:
        """Does what `delete` does and keeps the commit for later; returns its token."""
        return str(self.call("prepare_delete", **table.args(), filter=where)["token"])

    def prepare(self, table: Table, rows: Iterable[Row], **how: Unpack[WriteHow]) -> Prepared:
        """Writes the rows as `write` does and keeps the commit for later."""
        reply = self.call("prepare", **table.args(), rows=list(rows), **how)
        return Prepared(token=reply["token"], files=data_files(reply["files"]))

    def commit_prepared(self, token: str) -> int:
        """Commits what `prepare`, `compact` or `manager_round` left open; a refused commit stays prepared."""
        return _newest(self.call("commit_prepared", token=token))

    def abort_prepared(self, token: str) -> None:
        """Deletes the new files of a prepared commit and forgets it."""
        self.call("abort_prepared", token=token)

    def generate(
        self,
        table: Table,
        rows: int,
        commits: int = 1,
        seed: int = 0,
        key: Case | None = None,
        columns: Mapping[str, Case] | None = None,
        delete_ratio: float = 0.0,
        options: Mapping[str, str] | None = None,
    ) -> list[int]:
        """Writes random rows, the same for the same arguments, and returns the snapshots."""
        reply = self.call(
            "generate",
            **table.args(),
            rows=rows,
            commits=commits,
            seed=seed,
            key=key,
            columns=columns,
            delete_ratio=delete_ratio,
            options=options,
        )
        return list(reply["snapshots"])

    # Reading

    def read(self, table: Table, **what: Unpack[ReadWhat]) -> list[Row]:
        """All rows as a Java reader merges them, each with its kind, ordered by their canonical texts."""
        return list(self.call("read", **table.args(), **what))

    def digest(self, table: Table, **what: Unpack[ReadWhat]) -> Digest:
        """A hash of what `read` returns that does not depend on the order, for tables of any size."""
        return Digest(**self.call("digest", **table.args(), **what))

    def filtered_digests(
        self, table: Table, filters: Iterable[Filter], *, skipping: bool = True, **what: Unpack[ReadWhat]
    ) -> list[Digest]:
        """The digest of what each filter leaves, all in one request.

        Each filter is a read of its own that skips files, row groups and pages by their statistics. Without
        `skipping` everything is read once and the filters are applied to the rows: the answer that must be.
        """
        reply = self.call(
            "filtered_digests", **table.args(), filters=list(filters), skipping=skipping, **what
        )
        return [Digest(**digest) for digest in reply]

    def scan(self, table: Table, repeat: int = 1, **what: Unpack[ReadWhat]) -> Scan:
        """Reads everything in one thread and throws it away, for benchmarks."""
        return Scan(**self.call("scan", **table.args(), repeat=repeat, **what))

    def changelog(
        self,
        table: Table,
        from_snapshot: int,
        to_snapshot: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> dict[int, list[Row]]:
        """What a streaming reader gets of each snapshot that has rows for it, in its order."""
        reply = self.call(
            "changelog",
            **table.args(),
            from_snapshot=from_snapshot,
            to_snapshot=to_snapshot,
            options=options,
        )
        return {part["snapshot"]: part["rows"] for part in reply}

    def consume(
        self,
        table: Table,
        consumer: str,
        plans: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> dict[int, list[Row]]:
        """What a streaming reader with a consumer id gets of each snapshot since it stopped.

        A consumer that has read nothing yet begins with all rows of the newest snapshot. It stops after
        `plans` snapshots that have rows for it, else at the end, and its progress is written down.
        """
        reply = self.call("consume", **table.args(), consumer=consumer, plans=plans, options=options)
        return {part["snapshot"]: part["rows"] for part in reply}

    def kv_rows(
        self, table: Table, file: str, partition: Partition | None = None, bucket: int = 0
    ) -> list[KeyValue]:
        """The key-values of a data file as they stand in it; the file need not be committed."""
        asked = {"partition": partition or {}, "bucket": bucket, "file": file}
        (rows,) = self.call("kv_rows", **table.args(), files=[asked])
        return [KeyValue(*row) for row in rows]

    def kv_rows_of(self, table: Table, files: Iterable[DataFile]) -> list[list[KeyValue]]:
        """The same of several files in one request."""
        asked = [{"partition": f.partition, "bucket": f.bucket, "file": f.name} for f in files]
        if not asked:
            return []
        reply = self.call("kv_rows", **table.args(), files=asked)
        return [[KeyValue(*row) for row in rows] for rows in reply]

    # Metadata

    def files(self, table: Table, snapshot_id: int | None = None) -> list[DataFile]:
        """All live data files of the snapshot, else of the newest."""
        return data_files(self.call("files", **table.args(), snapshot_id=snapshot_id))

    def files_of_delta(self, table: Table, snapshot_id: int) -> list[FileEntry]:
        """The entries of the manifests that the snapshot added."""
        return _entries(self.call("files_of_delta", **table.args(), snapshot_id=snapshot_id))

    def files_of_changelog(self, table: Table, snapshot_id: int) -> list[FileEntry]:
        """The changelog files that the snapshot added."""
        return _entries(self.call("files_of_changelog", **table.args(), snapshot_id=snapshot_id))

    def manifests(self, table: Table, snapshot_id: int | None = None) -> dict[str, list[dict[str, Any]]]:
        """What the lists of the snapshot, else of the newest, say of their manifests: `base` and `delta`."""
        return dict(self.call("manifests", **table.args(), snapshot_id=snapshot_id))

    def merge_manifests(self, table: Table, cases: Iterable[Case]) -> list[list[dict[str, Any]]]:
        """What a commit would make of manifest lists in the table's folder."""
        return list(self.call("merge_manifests", **table.args(), cases=list(cases)))

    def bench_plan(
        self, table: Table, repeat: int = 1, partition: Mapping[str, str] | None = None
    ) -> PlanBench:
        """Times the scan of all live files, or of a partition's, one manifest at a time: so plans begin."""
        reply = self.call("bench_plan", **table.args(), repeat=repeat, partition=partition)
        return PlanBench(**reply)

    def index_files(self, table: Table, snapshot_id: int | None = None) -> list[IndexFile]:
        """Deletion vectors and hash indexes of the snapshot, else of the newest."""
        reply = self.call("index_files", **table.args(), snapshot_id=snapshot_id)
        return [IndexFile.parse(file) for file in reply]

    def file_index_rows(self, table: Table, filters: Iterable[Filter]) -> list[dict[str, int]]:
        """For each filter the number of rows of each file that its file index leaves, 0 if it is skipped.

        Files of older schemas are left out.
        A filter's column may be `m[key]`: the values of one key of a map.
        """
        reply = self.call("file_index_rows", **table.args(), filters=list(filters))
        return [dict(rows) for rows in reply]

    def snapshots(self, table: Table) -> list[dict[str, Any]]:
        """The snapshot files as they are, oldest first."""
        return list(self.call("snapshots", **table.args()))

    def tags(self, table: Table) -> dict[str, dict[str, Any]]:
        """The tag files as they are, by name."""
        return dict(self.call("tags", **table.args()))

    def branches(self, table: Table) -> list[str]:
        """The names of the branches."""
        return list(self.call("branches", **table.args()))

    # Compaction

    def compact(self, table: Table, full: bool = True, **what: Unpack[CompactWhat]) -> Compaction:
        """Compacts as Java's dedicated compaction does."""
        reply = self.call("compact", **table.args(), full=full, **what)
        changes = [BucketChange.parse(bucket) for bucket in reply["buckets"]]
        return Compaction(buckets=changes, snapshots=reply["snapshots"], token=reply["token"])

    def manager_round(self, table: Table, full: bool = False, **what: Unpack[CompactWhat]) -> ManagerRound:
        """Exactly one round of the real compaction manager per bucket."""
        reply = self.call("manager_round", **table.args(), full=full, **what)
        return ManagerRound(
            buckets=[
                BucketRound(
                    change=BucketChange.parse(bucket),
                    picked=bucket["picked"],
                    output_level=bucket["output_level"],
                    drop_delete=bucket["drop_delete"],
                    upgraded=bucket["upgraded"],
                )
                for bucket in reply["buckets"]
            ],
            snapshots=reply["snapshots"],
            token=reply["token"],
        )

    def bench_compact(self, table: Table, full: bool = True, **what: Unpack[CompactWhat]) -> CompactBench:
        """Compacts as `compact` does and reports the time and the bytes of it."""
        reply = self.call("bench_compact", **table.args(), full=full, **what)
        return CompactBench(
            total_nanos=reply["total_nanos"],
            rewrite_nanos=reply["rewrite_nanos"],
            rewrite_cpu_nanos=reply["rewrite_cpu_nanos"],
            rounds=reply["rounds"],
            input=Totals(**reply["input"]),
            output=Totals(**reply["output"]),
            snapshots=reply["snapshots"],
            token=reply["token"],
        )

    # Postponed buckets

    def buckets_of(self, table: Table, rows: Iterable[Row], buckets: int) -> list[int]:
        """The bucket of each row if a partition has that many."""
        return list(self.call("buckets_of", **table.args(), rows=list(rows), buckets=buckets))

    def move_postponed(self, table: Table, options: Mapping[str, str] | None = None) -> None:
        """Moves the rows of postponed buckets as Flink's compaction job does; see the README."""
        self.call("move_postponed", **table.args(), options=options)

    # Planner, all in batches

    def levels(self, cases: Iterable[Case]) -> list[dict[str, Any]]:
        """How Java orders the files of a bucket into sorted runs."""
        return list(self.call("levels", cases=list(cases)))

    def sections(self, cases: Iterable[Case]) -> list[list[list[list[str]]]]:
        """How Java splits files into sections, and sections into runs."""
        return list(self.call("sections", cases=list(cases)))

    def pick(self, cases: Iterable[Case]) -> list[dict[str, Any] | None]:
        """What a compaction strategy picks."""
        return list(self.call("pick", cases=list(cases)))

    def manager(self, cases: Iterable[Case]) -> list[dict[str, Any] | None]:
        """What a real compaction manager and its task would rewrite and upgrade."""
        return list(self.call("manager", cases=list(cases)))

    def append_coordinator(self, table: Table, cases: Iterable[Case]) -> list[list[list[list[str]]]]:
        """The tasks of each of some plans in a row of an append table's coordinator."""
        return list(self.call("append_coordinator", **table.args(), cases=list(cases)))

    def append_picks(self, cases: Iterable[Case]) -> list[list[list[str]]]:
        """What the manager of an append table's bucket picks, one pick after the other."""
        return list(self.call("append_picks", cases=list(cases)))

    def append_full(self, cases: Iterable[Case]) -> list[list[str]]:
        """What a full compaction of an append table's bucket rewrites."""
        return list(self.call("append_full", cases=list(cases)))

    def cluster_pick(self, table: Table, cases: Iterable[Case]) -> list[dict[str, Any] | None]:
        """What a clustered table's strategy picks; the table says by which columns files were sorted."""
        return list(self.call("cluster_pick", **table.args(), cases=list(cases)))

    def curve_positions(
        self, table: Table, rows: Iterable[Row], columns: Sequence[str], strategy: str
    ) -> list[bytes]:
        """The positions of rows on a curve over some columns of a table."""
        reply = self.call(
            "curve_positions", **table.args(), rows=list(rows), columns=list(columns), strategy=strategy
        )
        return [bytes.fromhex(position) for position in reply]

    # Maintenance

    def expire_snapshots(
        self,
        table: Table,
        retain_max: int,
        retain_min: int = 1,
        older_than: int | None = None,
        changelog_retain_max: int | None = None,
        limit: int | None = None,
    ) -> int:
        """Expires what exceeds `retain_max` or is of before `older_than` (epoch millis); returns how many.

        No more than `limit` go. If more changelogs are retained, those of expired snapshots live on.
        """
        reply = self.call(
            "expire_snapshots",
            **table.args(),
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            changelog_retain_max=changelog_retain_max,
            limit=limit,
        )
        return int(reply["expired"])

    def expire_changelogs(
        self, table: Table, retain_max: int, retain_min: int = 1, older_than: int | None = None
    ) -> int:
        """Does the same to changelogs that have outlived their snapshots."""
        reply = self.call(
            "expire_changelogs",
            **table.args(),
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
        )
        return int(reply["expired"])

    def expire_by_options(self, table: Table, options: Mapping[str, str]) -> None:
        """Expires consumers, snapshots and changelogs as a commit does, by the table's options and others."""
        self.call("expire_by_options", **table.args(), options={"write-only": "false", **options})

    def expire_partitions(self, table: Table, options: Mapping[str, str]) -> list[dict[str, str]]:
        """Drops the partitions that expire now, by the table's options and others; returns which."""
        reply = self.call("expire_partitions", **table.args(), options={"write-only": "false", **options})
        return list(reply["partitions"])

    def manage_tags(self, table: Table, options: Mapping[str, str]) -> None:
        """Creates the tags that are due and deletes those that are too old, as a commit does."""
        self.call("manage_tags", **table.args(), options={"write-only": "false", **options})

    def create_tag(self, table: Table, tag: str, snapshot_id: int | None = None) -> None:
        """Tags the snapshot, else the newest."""
        self.call("create_tag", **table.args(), tag=tag, snapshot_id=snapshot_id)

    def delete_tag(self, table: Table, tag: str) -> None:
        """Deletes the tag."""
        self.call("delete_tag", **table.args(), tag=tag)

    def create_branch(self, table: Table, branch: str, tag: str | None = None) -> None:
        """Creates a branch, from a tag when one is given."""
        self.call("create_branch", **table.args(), branch=branch, tag=tag)

    def fast_forward(self, table: Table, branch: str) -> None:
        """Lets the main branch have the snapshots of another one, from that one's first snapshot on."""
        self.call("fast_forward", **table.args(), branch=branch)

    def drop_branch(self, table: Table, branch: str) -> None:
        """Drops the branch."""
        self.call("drop_branch", **table.args(), branch=branch)

    def rollback_to(self, table: Table, snapshot_id: int | None = None, tag: str | None = None) -> None:
        """Rolls the table back to a snapshot or to a tag."""
        self.call("rollback_to", **table.args(), snapshot_id=snapshot_id, tag=tag)

    def drop_partition(self, table: Table, partition: Mapping[str, str]) -> None:
        """Drops all partitions that have these values."""
        self.call("drop_partition", **table.args(), partition=partition)

    def compact_manifests(self, table: Table) -> None:
        """Rewrites the manifests into few."""
        self.call("compact_manifests", **table.args())

    def remove_orphan_files(self, table: Table, older_than: int, dry_run: bool = False) -> Orphans:
        """Deletes files older than `older_than` (epoch millis) that nothing refers to, or only lists them."""
        return Orphans(
            **self.call("remove_orphan_files", **table.args(), older_than=older_than, dry_run=dry_run)
        )

    # The lock of a JDBC catalog

    def lock(self, table: Table) -> str:
        """Takes the lock as a commit of a writer does, and returns the token that `unlock` needs."""
        return str(self.call("lock", **table.args()))

    def unlock(self, token: str) -> None:
        """Ends what `lock` began."""
        self.call("unlock", token=token)

    # The bundle itself

    def options(self) -> Options:
        """Every option that a class of the bundle declares."""
        reply = self.call("options")
        return Options(
            options=[ConfigOption(**option) for option in reply["options"]],
            constants=reply["constants"],
            unreadable=reply["unreadable"],
        )

    def types(self) -> list[str]:
        """The names of Paimon's type roots."""
        return list(self.call("types"))


def _newest(reply: Mapping[str, Any]) -> int:
    return max(reply["snapshots"], default=0)


def _entries(reply: Sequence[Mapping[str, Any]]) -> list[FileEntry]:
    return [FileEntry(kind=entry["kind"], file=DataFile.parse(entry["file"])) for entry in reply]
