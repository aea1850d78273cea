"""What observers tell of tables of Arctic 0.4.1, besides what the contract of all formats asks."""

from __future__ import annotations

from pathlib import Path

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from lithify.formats.mixed.stores import PRIMARY_KEY
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.formats.registry import open_observer
from support.runs import ShiftedClock


def test_a_service_that_optimizes_the_table_too_is_told(arctic: Arctic, tmp_path: Path) -> None:
    table = KeyedTable(tmp_path / "db" / "t", {"id": "long", "v": "string"}, ["id"])
    arctic.create(table, {PRIMARY_KEY: "id"})
    arctic.write_change(table, [["INSERT", 1, "x"]])
    address = TableAddress(str(tmp_path), "db.t", format="mixed-iceberg")
    told = []
    for enabled in ("false", "true"):
        arctic.set_properties(table, {"self-optimizing.enabled": enabled})
        watch = open_observer("mixed-iceberg", tmp_path / enabled, 1 << 20, ShiftedClock(), 8)
        seen = watch.observe(ObservationRequest(address, "table"))
        assert seen is not None
        assert seen.check_seconds == 600
        told.append([each.name for each in seen.other_compactors])
    assert told == [[], ["Amoro"]]


def test_partitions_with_changes_are_told_with_their_lines(arctic: Arctic, tmp_path: Path) -> None:
    columns = {"id": "long", "p": "string"}
    table = KeyedTable(tmp_path / "db" / "t", columns, ["id"], ["p"])
    arctic.create(table, {PRIMARY_KEY: "id"})
    arctic.write_change(table, [["INSERT", 1, "a"], ["INSERT", 2, "b"], ["INSERT", 3, "c"]])
    arctic.rewrite(table)
    arctic.write_change(table, [["INSERT", 4, "a"]])
    arctic.write_change(table, [["DELETE", 4, "a"], ["DELETE", 2, "b"]])
    line = arctic.line(table)

    watch = open_observer("mixed-iceberg", tmp_path / "cache", 1 << 20, ShiftedClock(), 8)
    address = TableAddress(str(tmp_path), "db.t", format="mixed-iceberg")
    seen = watch.observe(ObservationRequest(address, "table"))

    assert seen is not None
    told = seen.blocks["changeStore"]["furthestBehind"]
    assert isinstance(told, tuple)
    found = [(each["name"], each["line"], each["lag"], each["changeFiles"]) for each in told]
    assert sorted(found) == [("p=a", line["p=a"], 2, 2), ("p=b", line["p=b"], 2, 1)]
    assert all(int(each["deleteBytes"]) > 0 for each in told)
