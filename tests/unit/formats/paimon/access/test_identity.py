"""Which table it is: the same through schema changes, commits and moves, another one after a re-creation."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.errors import MissingFile
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from support.orders_table import copy_of, make_orders, run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    """A table of one commit, for reading only."""
    return make_orders(tmp_path_factory.mktemp("identity"), commits=1)


def schema_file(address: TableAddress, number: int) -> Path:
    return Path(address.warehouse) / "shop.db" / "orders" / "schema" / f"schema-{number}"


def test_stays_when_the_table_is_moved_written_to_and_changed(made: TableAddress, tmp_path: Path) -> None:
    uuid = open_table(made).uuid
    moved = copy_of(made, tmp_path / "elsewhere")
    run(moved)
    changed = schema_file(moved, 0).read_text().replace('"id": 0,', '"id": 1,', 1)
    schema_file(moved, 1).write_text(changed)
    table = open_table(moved)
    assert table.schema.id == 1
    assert table.uuid == uuid


def test_differs_after_drop_and_re_creation(made: TableAddress, tmp_path: Path) -> None:
    address = make_orders(tmp_path / "warehouse", commits=1)
    first = open_table(address).uuid
    shutil.rmtree(Path(address.warehouse) / "shop.db")
    make_orders(tmp_path / "warehouse", commits=1)
    assert len({open_table(made).uuid, first, open_table(address).uuid}) == 3


def test_without_its_first_schema_it_is_unknown(made: TableAddress, tmp_path: Path) -> None:
    moved = copy_of(made, tmp_path / "elsewhere")
    shutil.copy(schema_file(moved, 0), schema_file(moved, 1))
    schema_file(moved, 0).unlink()
    with pytest.raises(MissingFile) as caught:
        _ = open_table(moved).uuid
    assert caught.value.path.endswith("schema-0")


def test_a_branch_is_another_table_although_its_first_schema_is_a_copy(
    made: TableAddress, tmp_path: Path
) -> None:
    moved = copy_of(made, tmp_path / "elsewhere")
    folder = schema_file(moved, 0).parent
    shutil.copytree(folder, folder.parent / "branch" / "branch-b" / "schema")
    branch = open_table(replace(moved, name=f"{moved.name}$branch_b"))
    assert branch.uuid != open_table(moved).uuid
    assert len(branch.uuid) == len(open_table(moved).uuid)
