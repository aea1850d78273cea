"""Commits by a REST catalog's server: whatever it answers, no row is lost and no file in use deleted."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.cli.main import main
from lithify.clock import Clock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import (
    CatalogUnavailable,
    CommitUnknown,
    InvalidOption,
    LithifyError,
    NotAllowed,
    NotFound,
    StorageError,
    UnsupportedTable,
)
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.crashes import SETTLED
from support.rest_server import FAILURE, WAREHOUSE, Reply, RestServer, Step
from support.runs import Held, ShiftedClock, ShippingRunner
from support.tables import data_files, journals, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

Commit = Callable[[], Reply]


@pytest.fixture(scope="module")
def pattern(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make_plain(oracle, tmp_path_factory.mktemp("rest"), buckets=2)


@pytest.fixture
def table(pattern: Table, tmp_path: Path) -> Table:
    return copied(pattern, tmp_path / "warehouse")


@pytest.fixture
def twin(pattern: Table, tmp_path: Path) -> Table:
    """The same table once more, to have Java alone do the same to it."""
    return copied(pattern, tmp_path / "twin")


@pytest.fixture
def server(table: Table) -> Iterator[RestServer]:
    with RestServer(Path(str(table.warehouse))) as started:
        yield started


def copied(table: Table, warehouse: Path) -> Table:
    shutil.copytree(Path(str(table.warehouse)), warehouse)
    return Table(warehouse, table.name)


def run(
    server: RestServer,
    clock: Clock | None = None,
    run: str | None = None,
    name: str = "db.t",
    **overrides: str,
) -> Report:
    address = TableAddress(WAREHOUSE, name, server.options, overrides=overrides)
    return compact(
        Request(address, Selection(strategy=Strategy.FULL), run=run),
        ShippingRunner(),
        clock or ShiftedClock(),
    )


def kinds(oracle: Oracle, table: Table) -> list[str]:
    return [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]


@pytest.mark.parametrize(
    ("kind", "commits"),
    [
        case({}, 1, id="a server of today"),
        case({"is_old": True}, 1, id="one that drops the UUIDs of snapshots"),
        case({"gives_tokens": True}, 1, id="one that gives tokens for files"),
        case(
            {"table_fields": {"owner": "me", "createdBy": "you", "createdAt": 1}}, 1, id="one that tells all"
        ),
        case({"table_fields": {"isExternal": True}}, 0, id="external table, whose files tell all"),
    ],
)
def test_one_snapshot_is_committed_and_java_reads_the_same_rows(
    oracle: Oracle, table: Table, kind: Mapping[str, Any], commits: int
) -> None:
    rows, before = oracle.read(table), kinds(oracle, table)

    with RestServer(Path(str(table.warehouse)), **kind) as server:
        report = run(server)

    assert report.status == "Compacted"
    assert kinds(oracle, table) == [*before, "COMPACT"]
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
    assert len(server.received) == commits


def test_server_is_told_table_base_and_what_changes(oracle: Oracle, table: Table, server: RestServer) -> None:
    base = mark_newest(table, "uuid-of-the-base")
    before = oracle.files(table)

    run(server)

    after = oracle.files(table)
    [sent] = server.received
    [counts] = sent["statistics"]
    assert (sent["tableId"], sent["baseSnapshotUuid"]) == ("id-of-t", "uuid-of-the-base")
    assert sent["snapshot"]["id"] == base + 1
    assert (counts["spec"], counts["totalBuckets"]) == ({}, 2)
    assert counts["fileCount"] == len(after) - len(before)
    assert counts["recordCount"] == sum(file.rows for file in after) - sum(file.rows for file in before)
    assert counts["fileSizeInBytes"] == sum(file.size for file in after) - sum(file.size for file in before)


def mark_newest(table: Table, uuid: str) -> int:
    """Gives the newest snapshot a UUID, which Paimon 1.4 does not; returns its id."""
    newest = max(table.folder.glob("snapshot/snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
    snapshot = json.loads(newest.read_text())
    newest.write_text(json.dumps({**snapshot, "uuid": uuid}))
    return int(snapshot["id"])


def append(oracle: Oracle, table: Table) -> None:
    oracle.write(table, [*upserts(range(30, 45), "late"), ["-D", 50, None, None]])


def compact_one_bucket(oracle: Oracle, table: Table) -> None:
    oracle.compact(table, full=True, buckets=[1])


def compact_all(oracle: Oracle, table: Table) -> None:
    oracle.compact(table, full=True)


@pytest.mark.parametrize(
    ("change", "tries", "rounds"),
    [
        case(append, 2, 1, id="an append: built again on top"),
        case(compact_one_bucket, 2, 2, id="another compaction of a bucket: that one is planned again"),
        case(compact_all, 2, 2, id="another compaction of everything"),
    ],
)
def test_a_commit_that_the_server_refuses_is_done_again(
    oracle: Oracle,
    table: Table,
    twin: Table,
    server: RestServer,
    change: Callable[[Oracle, Table], None],
    tries: int,
    rounds: int,
) -> None:
    def somebody_is_faster(commit: Commit) -> Reply:
        change(oracle, table)
        return commit()

    mark_newest(table, "uuid-of-the-base")
    server.steps.append(somebody_is_faster)
    change(oracle, twin)

    report = run(server)

    assert (report.commit_tries, report.rounds, report.skipped) == (tries, rounds, {})
    assert oracle.read(table) == oracle.read(twin)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_the_base_is_the_one_that_was_built_on(
    oracle: Oracle, table: Table, server: RestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollback and a new commit give another snapshot the number of the base."""
    base = mark_newest(table, "uuid-of-the-base")
    held = Held(tmp_path)
    monkeypatch.setenv("LITHIFY_FAULTS", f"manifests-written={held.action}")

    with ThreadPoolExecutor(1) as other:
        running = other.submit(run, server)
        held.reached()
        oracle.rollback_to(table, snapshot_id=base - 1)
        append(oracle, table)
        assert mark_newest(table, "uuid-of-another") == base
        rows = oracle.read(table)
        held.release()
        running.result()

    assert oracle.read(table) == rows
    assert [sent["baseSnapshotUuid"] for sent in server.received] == ["uuid-of-the-base", "uuid-of-another"]


class Late:
    """Keeps a commit back, as a slow network does, to have it arrive later."""

    def __init__(self) -> None:
        self._commits: list[Commit] = []

    def keep(self, commit: Commit) -> Reply:
        self._commits.append(commit)
        return FAILURE

    def arrive_before(self, commit: Commit) -> Reply:
        self.arrive()
        return commit()

    def arrive(self) -> list[Reply]:
        kept, self._commits = self._commits, []
        return [commit() for commit in kept]


def fail_after(commit: Commit) -> Reply:
    commit()
    return FAILURE


def fail_before(commit: Commit) -> Reply:
    return FAILURE


def hang_up_after(commit: Commit) -> Reply:
    commit()
    raise ConnectionAbortedError


def say_no_after(commit: Commit) -> Reply:
    commit()
    return 200, {"success": False}


LATE = Late()
UNANSWERED = [
    case([fail_after], 1, id="500 after it has committed"),
    case([hang_up_after], 1, id="hangs up after it has committed"),
    case([say_no_after], 1, id="a proxy sent it twice and tells the second answer"),
    case([fail_before], 2, id="500 before it commits"),
    case([fail_before, fail_before, fail_after], 3, id="500 again and again"),
    case([LATE.keep, LATE.arrive_before], 2, id="the first request arrives late"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("steps", "requests"), UNANSWERED)
@pytest.mark.parametrize("is_old", [False, True], ids=["server of today", "server that drops UUIDs"])
def test_what_became_of_an_unanswered_commit_is_found_out(
    oracle: Oracle, table: Table, steps: list[Step], requests: int, is_old: bool
) -> None:
    rows, before = oracle.read(table), kinds(oracle, table)

    with RestServer(Path(str(table.warehouse)), is_old=is_old) as server:
        server.steps = list(steps)
        report = run(server)

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert len(server.received) == requests
    assert len({json.dumps(sent["snapshot"]) for sent in server.received}) == 1
    assert kinds(oracle, table) == [*before, "COMPACT"]
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_an_unanswered_commit_that_somebody_overtook_is_built_again(
    oracle: Oracle, table: Table, twin: Table, server: RestServer
) -> None:
    def overtaken(commit: Commit) -> Reply:
        append(oracle, table)
        return FAILURE

    server.steps.append(overtaken)
    append(oracle, twin)

    report = run(server)

    assert report.commit_tries == 2
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("committed", [True, False], ids=["it had committed", "it had not"])
def test_server_that_goes_down_leaves_it_open_and_no_file_is_deleted(
    oracle: Oracle, table: Table, committed: bool
) -> None:
    def go_down(commit: Commit) -> Reply:
        if committed:
            commit()
        server.stop()
        raise ConnectionAbortedError

    rows, before = oracle.read(table), data_files(table)
    with RestServer(Path(str(table.warehouse))) as server:
        server.steps.append(go_down)
        with pytest.raises(CommitUnknown) as caught:
            run(server, run="run-a")

    assert caught.value.exit_code == 1
    assert data_files(table) > before
    assert journals(table) == {"run-a-1.json"}
    assert bool(stray_files(oracle, table) & (data_files(table) - before)) is not committed
    assert oracle.read(table) == rows
    with RestServer(Path(str(table.warehouse))) as server:
        assert run(server, run="run-a").status == ("AlreadyCommitted" if committed else "Compacted")
        for later in (SETTLED, 2 * SETTLED, 3 * SETTLED):
            run(server, ShiftedClock(later))
    assert kinds(oracle, table).count("COMPACT") == 1
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_commit_that_arrives_after_we_gave_up_on_it(oracle: Oracle, table: Table, server: RestServer) -> None:
    late = Late()
    rows = oracle.read(table)
    server.steps = [late.keep] * 3

    with pytest.raises(CommitUnknown):
        run(server, **{"commit.max-retries": "2"})
    replies = late.arrive()

    assert [reply["success"] for _, reply in replies if isinstance(reply, Mapping)] == [True, False, False]
    assert oracle.read(table) == rows
    for later in (SETTLED, 2 * SETTLED):
        run(server, ShiftedClock(later))
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


class CtrlC:
    """Interrupts the main thread once, for sure: a signal just before a system call does not wake that up."""

    def __init__(self) -> None:
        self._noticed = threading.Event()

    def press(self) -> None:
        while not self._noticed.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def notice(self, *_: object) -> None:
        if not self._noticed.is_set():
            self._noticed.set()
            raise KeyboardInterrupt


@pytest.fixture
def ctrl_c() -> Iterator[CtrlC]:
    pressed = CtrlC()
    before = signal.signal(signal.SIGINT, pressed.notice)
    yield pressed
    signal.signal(signal.SIGINT, before)


def test_interrupted_while_the_server_commits(
    oracle: Oracle, table: Table, server: RestServer, ctrl_c: CtrlC
) -> None:
    """Ctrl-C does not reach the server: nothing may be deleted until it is known what it did."""
    late, interrupted = Late(), threading.Event()

    def interrupt(commit: Commit) -> Reply:
        reply = late.keep(commit)
        ctrl_c.press()
        interrupted.wait()
        return reply

    rows = oracle.read(table)
    server.steps.append(interrupt)
    with pytest.raises(CommitUnknown):
        run(server)
    interrupted.set()
    late.arrive()

    assert kinds(oracle, table)[-1] == "COMPACT"
    assert oracle.read(table) == rows


def test_a_server_that_is_slow_to_write_the_snapshot_file(
    oracle: Oracle, table: Table, server: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has committed, so its files are in use, whatever can be seen of it in the table's folder."""
    base = mark_newest(table, "uuid-of-the-base")
    file = table.folder / "snapshot" / f"snapshot-{base + 1}"
    aside = table.folder / "aside"

    def commit_without_a_file(commit: Commit) -> Reply:
        reply = commit()
        file.rename(aside)
        return reply

    rows = oracle.read(table)
    server.steps.append(commit_without_a_file)
    monkeypatch.setenv("LITHIFY_FAULTS", "hint-written=raise:5")
    with pytest.raises(OSError, match="LITHIFY_FAULTS"):
        run(server, run="run-a")
    monkeypatch.delenv("LITHIFY_FAULTS")
    assert run(server, run="run-a").status == "AlreadyCommitted"
    aside.rename(file)

    assert kinds(oracle, table)[-1] == "COMPACT"
    assert oracle.read(table) == rows


@pytest.mark.parametrize(
    ("status", "error"),
    [
        case(400, StorageError, id="400 bad request"),
        case(401, NotAllowed, id="401 the token has expired"),
        case(403, NotAllowed, id="403 reading only"),
        case(404, NotFound, id="404 table was dropped"),
        case(501, StorageError, id="501 commits are not implemented"),
    ],
)
def test_commit_that_is_not_even_tried_leaves_nothing_behind(
    oracle: Oracle, table: Table, server: RestServer, status: int, error: type[LithifyError]
) -> None:
    rows, before = oracle.read(table), oracle.snapshots(table)
    server.canned["commit"] = (status, {"message": "no", "code": status})

    with pytest.raises(error):
        run(server)

    assert oracle.snapshots(table) == before
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


FORBIDDEN: Reply = (403, {"message": "not for you", "code": 403})


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("settings", "canned", "error"),
    [
        case({"token": "wrong"}, {}, NotAllowed, id="wrong token"),
        case({}, {"t": FORBIDDEN}, NotAllowed, id="table that the token may not see"),
        case({}, {"snapshot": FORBIDDEN}, NotAllowed, id="snapshots that the token may not see"),
        case({"token.provider": "magic"}, {}, InvalidOption, id="no such kind of token"),
        case({"uri": ""}, {}, InvalidOption, id="no address"),
        case({"metastore": "rset"}, {}, InvalidOption, id="kind of catalog misspelt"),
        case({"warehouse": "elsewhere"}, {}, NotFound, id="warehouse that it does not have"),
        case({"uri": "http://127.0.0.1:9/"}, {}, CatalogUnavailable, id="nobody listens"),
        case({}, {"config": (200, "<html>")}, CatalogUnavailable, id="not a catalog"),
        case({}, {"config": FAILURE}, CatalogUnavailable, id="500 for the config"),
        case({}, {"t": FAILURE}, CatalogUnavailable, id="500 for the table"),
        case({}, {"snapshot": FAILURE}, CatalogUnavailable, id="500 for the snapshot"),
    ],
)
def test_catalog_that_cannot_be_used_is_one_error(
    table: Table,
    server: RestServer,
    settings: Mapping[str, str],
    canned: Mapping[str, Reply],
    error: type[LithifyError],
) -> None:
    server.canned.update(canned)
    options = {**server.options, **settings}
    address = TableAddress(options.pop("warehouse", WAREHOUSE), "db.t", options)

    with pytest.raises(error) as caught:
        compact(Request(address), InlineRunner(), ShiftedClock())

    assert type(caught.value) is error
    assert caught.value.exit_code == (1 if error is CatalogUnavailable else 2)
    assert journals(table) == set()


def test_table_of_another_kind_is_refused(table: Table) -> None:
    schema = json.loads((table.folder / "schema" / "schema-0").read_text())
    other = {**schema, "options": {"type": "format-table"}}

    with (
        RestServer(Path(str(table.warehouse)), table_fields={"schema": other}) as server,
        pytest.raises(UnsupportedTable),
    ):
        open_table(TableAddress(WAREHOUSE, "db.t", server.options))


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        case({}, 0, id="a catalog that answers"),
        case({"token": "wrong"}, 2, id="wrong token"),
        case({"uri": "http://127.0.0.1:9"}, 1, id="nobody listens"),
    ],
)
def test_command_line_passes_catalog_options_on(
    server: RestServer,
    settings: Mapping[str, str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = [f"--catalog-option={key}={value}" for key, value in {**server.options, **settings}.items()]
    words = ["lithify", "plan", "--json", "--warehouse", WAREHOUSE, "--table", "db.t", *options]
    monkeypatch.setattr(sys, "argv", words)

    with pytest.raises(SystemExit) as ended:
        main()

    output, errors = capsys.readouterr()
    assert ended.value.code == code
    assert len(errors.splitlines()) == (code != 0)
    assert bool(output) is (code == 0)


@pytest.fixture
def branch(oracle: Oracle, table: Table) -> Table:
    """A branch of the table, with rows and a column of its own."""
    oracle.create_branch(table, "b")
    branch = table.branch("b")
    oracle.alter_table(branch, {"add_column": {"name": "own", "type": "STRING"}})
    for batch in ("one", "two"):
        oracle.write(branch, [[*row, "kept"] for row in upserts(range(9), batch)])
    return branch


@pytest.mark.parametrize("is_old", [False, True], ids=["server of today", "server that drops UUIDs"])
def test_a_branch_is_committed_to_itself(oracle: Oracle, table: Table, branch: Table, is_old: bool) -> None:
    rows = oracle.read(table), oracle.read(branch)
    before, of_table = kinds(oracle, branch), kinds(oracle, table)

    with RestServer(Path(str(table.warehouse)), is_old=is_old) as server:
        report = run(server, name=branch.name)
        assert run(server, name=branch.name).status == "NothingToDo"

    assert report.status == "Compacted"
    assert (oracle.read(table), oracle.read(branch)) == rows
    assert (kinds(oracle, branch), kinds(oracle, table)) == ([*before, "COMPACT"], of_table)
    assert {file.level for file in oracle.files(branch)} == {5}
    assert len(server.received) == 1
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_a_branch_and_its_table_are_compacted_one_after_the_other(
    oracle: Oracle, table: Table, branch: Table, server: RestServer
) -> None:
    rows = oracle.read(table), oracle.read(branch)
    for name in (branch.name, table.name):
        assert run(server, name=name).status == "Compacted"
    for later in (SETTLED, 2 * SETTLED):
        run(server, ShiftedClock(later))
        run(server, ShiftedClock(later), name=branch.name)
    assert (oracle.read(table), oracle.read(branch)) == rows
    assert [{file.level for file in oracle.files(each)} for each in (table, branch)] == [{5}, {5}]
    assert stray_files(oracle, table) == set()


def test_a_commit_to_a_branch_meanwhile_is_built_upon(
    oracle: Oracle, table: Table, branch: Table, server: RestServer
) -> None:
    def somebody_is_faster(commit: Commit) -> Reply:
        oracle.write(branch, [[*row, "late"] for row in upserts(range(3), "late")])
        return commit()

    server.steps.append(somebody_is_faster)

    report = run(server, name=branch.name)

    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert kinds(oracle, branch)[-2:] == ["APPEND", "COMPACT"]
    assert sorted(row[-1] for row in oracle.read(branch) if row[-1]) == ["kept"] * 6 + ["late"] * 3


def test_a_server_that_knows_no_branches_is_not_trusted_with_one(
    oracle: Oracle, table: Table, branch: Table
) -> None:
    before = kinds(oracle, table), kinds(oracle, branch)
    with RestServer(Path(str(table.warehouse)), knows_branches=False) as server:
        with pytest.raises(UnsupportedTable) as caught:
            run(server, name=branch.name)
        assert server.received == []
    (refusal,) = caught.value.reasons
    assert "branch b" in refusal
    assert (kinds(oracle, table), kinds(oracle, branch)) == before


def test_a_branch_that_a_server_does_not_have_is_named(table: Table, server: RestServer) -> None:
    with pytest.raises(NotFound) as caught:
        run(server, name="db.t$branch_nobody")
    assert caught.value.what == "branch"
