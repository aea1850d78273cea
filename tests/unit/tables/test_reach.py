"""Where the rights of a process itself may be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.errors import OutOfReach
from lithify.tables.io.reach import DRIVER, NOWHERE, UNBOUNDED, Reach, read_own_identity
from support.cases import case

GRANTED = Reach(("s3://lake/team-a/", "/data/lake", "file:/other"))


@pytest.mark.parametrize(
    "path",
    [
        *("s3://lake/team-a", "s3a://lake/team-a/db.db/t", "s3://lake//team-a/t"),
        *(
            "/data/lake",
            "/data/lake/",
            "/data//lake/x",
            "file:/data/lake/x",
            "file:///data/lake/x",
            "/other/x",
        ),
    ],
)
def test_below_a_prefix(path: str) -> None:
    GRANTED.check(path)


@pytest.mark.parametrize(
    "path",
    [
        *("s3://lake", "s3://lake/team-ab", "s3://lake-evil/team-a", "s3://lake/team-b", "s3://LAKE/team-a"),
        *(
            "s3://lake/team-a/../team-b",
            "s3://lake/team-a/./x/../../y",
            "s3://x@lake/team-a",
            "s3:///lake/team-a",
        ),
        *(
            "/data",
            "/data/lake2",
            "/data/lake/../secrets",
            "data/lake",
            "",
            "file:data/lake",
            "file://data/lake",
        ),
        *("file:/data/lake/%2e%2e/x", "oss://lake/team-a", "hdfs://lake/team-a", "s3://lake/team-a\n"),
    ],
)
def test_elsewhere(path: str) -> None:
    with pytest.raises(OutOfReach) as caught:
        GRANTED.check(path)
    assert caught.value.where == path


def test_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "granted").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "granted" / "link").symlink_to(tmp_path / "secret")
    reach = Reach((str(tmp_path / "granted"),))
    assert reach.covers(str(tmp_path / "granted" / "new"))
    assert not reach.covers(str(tmp_path / "granted" / "link"))


def test_grants_are_of_namespaces() -> None:
    own = read_own_identity(["team-a=s3://lake/a", "*=/shared", "team-b=s3://lake/b"])
    assert own.reach("team-a").prefixes == ("s3://lake/a", "/shared")
    assert own.reach("others").prefixes == ("/shared",)
    assert not own.reach("team-a").with_endpoint
    assert read_own_identity([]).reach("team-a") == NOWHERE


@pytest.mark.parametrize(
    "entry",
    ["s3://lake", "team=", "=s3://lake", "team=lake", "Team=/x", "team=s3://", "team=/a/../b", "te am=/x"],
)
def test_entries_that_are_none(entry: str) -> None:
    with pytest.raises(ValueError, match=r"namespace|neither"):
        read_own_identity([entry])


@pytest.mark.parametrize(
    ("reach", "everywhere", "with_endpoint"),
    [
        case(UNBOUNDED, True, True, id="people"),
        case(DRIVER, True, False, id="pods"),
        case(NOWHERE, False, False, id="none"),
    ],
)
def test_kinds(reach: Reach, everywhere: bool, with_endpoint: bool) -> None:
    assert (reach.covers("/anything"), reach.with_endpoint) == (everywhere, with_endpoint)
