"""The operator's image on real tables: what was left out of it is not needed to look at any of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pypaimon import CatalogFactory

from infrastructure.images.build import REPOSITORY, Image
from infrastructure.objectstore.fixtures import Bucket
from lithify.formats.protocol.address import TableAddress
from node.images.conftest import Run, running
from support.iceberg_tables import NAME, Lakehouse, rows
from support.rest_server import WAREHOUSE, RestServer
from support.small_tables import SmallTable

pytestmark = pytest.mark.timeout(1200)

LOOKING = REPOSITORY / "tests" / "infrastructure" / "images" / "looking.py"
CODECS = ("zstd", "snappy", "deflate", "bzip2", "xz", "null")
"""Compressions of manifests."""
CATALOG = json.dumps(
    {
        "apiVersion": "lithify.dev/v1alpha1",
        "kind": "Catalog",
        "metadata": {"name": "lake"},
        "spec": {"metastore": "Filesystem", "warehouse": "/tmp/lake"},
    }
)
UNUSED = {
    "hdfs-native",  # loaded for the first path on HDFS
    "psycopg2-binary",  # databases of PostgreSQL; SQLAlchemy imports it once it is given one's address
    "tzdata",  # read, not imported; zones of schedules where the image's own are too old
}
"""Packages in the image that nothing imports for a look."""


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "lake").create()
    table.append()
    table.append()
    return table


@pytest.fixture
def server(table: SmallTable) -> Iterator[RestServer]:
    with RestServer(table.warehouse) as started:
        yield started


@pytest.fixture
def inside(operator_image: Image, tmp_path: Path) -> Run:
    """Runs words in the image, which sees the test's folder where it is."""
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    root = operator_image.root
    return running(operator_image, replace(root, shared={**root.shared, str(tmp_path): tmp_path}))


def reach_by_jdbc(table: SmallTable, database: Path) -> dict[str, str]:
    """Registers the table in a database, as a JDBC catalog does; returns the catalog's options."""
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}"}
    with CatalogFactory.create({"warehouse": str(table.warehouse), **options}) as catalog:
        catalog.create_database("db", ignore_if_exists=False)
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("INSERT INTO paimon_tables VALUES ('jdbc', 'db', 't')")
    connection.close()
    return options


def look(inside: Run, targets: dict[str, tuple[str, str, dict[str, str]]], **iceberg: TableAddress) -> Any:
    told = {name: ("paimon", *target) for name, target in targets.items()}
    others = {
        name: ("iceberg", each.warehouse, each.name, dict(each.catalog_options))
        for name, each in iceberg.items()
    }
    return json.loads(inside("python3.11", "/tmp/look.py", json.dumps({**told, **others}), look=LOOKING))


def test_tables_of_all_catalogs_are_looked_at(
    table: SmallTable, server: RestServer, s3: Bucket, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    on_s3 = SmallTable(s3.folder / "lake").create()
    on_s3.append()
    by_codec = {
        codec: SmallTable(tmp_path / codec, options={"manifest.compression": codec}) for codec in CODECS
    }
    for compressed in by_codec.values():
        compressed.create().append()
    targets = {
        "local": (str(table.warehouse), "db.t", {}),
        "rest": (WAREHOUSE, "db.t", server.options),
        "jdbc": (str(table.warehouse), "db.t", reach_by_jdbc(table, tmp_path / "catalog.db")),
        "s3": (f"{s3.url}/lake", "db.t", s3.options()),
        **{codec: (str(tmp_path / codec), "db.t", {}) for codec in CODECS},
    }
    lakehouse = Lakehouse(tmp_path / "iceberg")
    lakehouse.table().append(rows(1, 2))
    inside: Run = request.getfixturevalue("inside")  # after the files that it opens to the image's user

    found = look(inside, targets, iceberg=lakehouse.address())

    twice, once = {"snapshot": "2", "files": 8}, {"snapshot": "1", "files": 4}
    expected = {"local": twice, "rest": twice, "jdbc": twice, "s3": once} | dict.fromkeys(CODECS, once)
    of_iceberg = found["answers"].pop("iceberg")
    assert (of_iceberg["files"], of_iceberg["listed"]) == (1, [NAME])
    listed = {"listed": ["db.t"], "run": None}
    assert found["answers"] == {name: {**answer, **listed} for name, answer in expected.items()}
    assert set(found["unused"]) == UNUSED
    assert {"pyarrow", "obstore", "pypaimon", "kopf", "rich"} <= set(found["used"])


def test_people_inspect_and_plan_with_it(table: SmallTable, inside: Run) -> None:
    where = ("--warehouse", str(table.warehouse), "--table", "db.t")
    assert len(json.loads(inside("lithify", "inspect", *where, "--json"))["buckets"]) == 4
    assert json.loads(inside("lithify", "plan", *where, "--strategy", "full", "--json"))
    assert "db.t" in inside("lithify", "inspect", *where)
    assert inside("lithify", "plan", *where)


def test_other_commands_name_the_image_that_they_are_for(in_operator: Run) -> None:
    for command in ("demo --folder /tmp/lake", "watch --once /tmp"):
        script = f"printf '%s' '{CATALOG}' >/tmp/catalog.yaml; lithify {command} 2>&1"
        assert "the Spark image has it" in in_operator("sh", "-c", script, expected=1)
