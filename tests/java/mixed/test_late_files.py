"""Files of older transactions that appear beside a run of a keyed table read the same after its commit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CommitConflict
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.races import step_at
from support.runs import ShiftedClock

COLUMNS = {"id": "long", "p": "string", "v": "int"}


@pytest.mark.parametrize("kind", ["plain base file", "older insert", "older delete", "newer delete"])
def test_late_files_read_the_same_after_the_commit(
    arctic: Arctic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    table = KeyedTable(tmp_path / "db" / "t", COLUMNS, ["id"])
    one_node = {f"{store}.file-index.hash-bucket": "1" for store in ("base", "change")}
    arctic.create(table, {**one_node, PRIMARY_KEY: "id"})
    older = arctic.begin_transaction(table)
    arctic.write_base(table, [[1, "a", 1], [2, "a", 2]], older)
    arctic.begin_transaction(table)
    arctic.write_change(table, [["DELETE", 1, "a", 1], ["INSERT", 3, "a", 3]])
    seen: list[list[object]] = []

    def beside() -> None:
        match kind:
            case "plain base file":
                arctic.write_base(table, [[1, "a", 9]], plain_names=True)
            case "older insert":
                arctic.write_change(table, [["INSERT", 1, "a", 9]], older)
            case "older delete":
                arctic.write_change(table, [["DELETE", 2, "a", 2]], older + 1)
            case "newer delete":
                arctic.write_change(table, [["DELETE", 2, "a", 2]])
        seen.extend(sorted(arctic.read(table)))

    step_at(monkeypatch, "tasks-done", beside)
    address = TableAddress(str(tmp_path), "db.t", format="mixed-iceberg")
    request = Request(address, Selection(strategy=Strategy.FULL))
    with suppress(CommitConflict):
        compact(request, InlineRunner(), ShiftedClock())
    assert sorted(arctic.read(table)) == seen

    compact(request, InlineRunner(), ShiftedClock())
    assert sorted(arctic.read(table)) == seen
    assert sorted(arctic.read_base(table)) == seen
