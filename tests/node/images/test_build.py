"""Layers: made once, made anew when something changed, and nothing else with them."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from infrastructure.images import cache
from infrastructure.images.build import BuildFailed, build_stage
from infrastructure.images.dockerfile import read_file, read_stages
from node.images.test_dockerfile import FILES

pytestmark = pytest.mark.timeout(1200)

BASE = read_file(FILES["operator"])["base"].base


def build(folder: Path, *lines: str) -> tuple[Path, ...]:
    """The layers above the base."""
    text = "\n".join((f"FROM {BASE} AS it", *lines))
    return build_stage(read_stages(text), "it", folder)[1:]


@pytest.fixture
def context(can_build: None, tmp_path: Path) -> Path:
    """A folder to build from; its content is like no other's, so nothing of it is there yet."""
    (tmp_path / "a").write_text(str(tmp_path))
    (tmp_path / "b").write_text("b")
    return tmp_path


def test_what_did_not_change_is_not_made_again(context: Path) -> None:
    lines = ("COPY a /x/", "RUN date +%N >/time", "COPY b /x/")
    first = build(context, *lines)
    time = (first[1] / "time").read_text()

    (context / "b").write_text("changed")
    second = build(context, *lines)

    assert second[:2] == first[:2]
    assert second[2] != first[2]
    assert (second[1] / "time").read_text() == time
    (context / "a").write_text("changed, too")
    assert not set(build(context, *lines)) & {*first, *second}


def test_an_instruction_that_changes_nothing_makes_no_layer(context: Path) -> None:
    assert len(build(context, "COPY a /x/", "RUN cat /x/a")) == 1


def test_a_failure_says_what_failed(context: Path) -> None:
    with pytest.raises(BuildFailed, match="it went wrong"):
        build(context, "COPY a /x/", "RUN echo it went wrong >&2; exit 3")


def test_settings_hold_for_what_comes_after_them(context: Path) -> None:
    (layer,) = build(context, "ENV A=given", 'RUN echo "$A" >/it')
    assert (layer / "it").read_text() == "given\n"


def test_a_tar_has_modes_links_and_what_was_removed(context: Path) -> None:
    lines = ("COPY --chmod=700 a /x/", "RUN rm -r /etc/issue /opt; mkdir /opt; ln /x/a /x/b; ln -s a /x/c")
    *_, layer = build(context, *lines)
    assert cache.content_of(layer) == cache.content_of(layer)

    with tarfile.open(cache.tar_of(layer)) as tar:
        members = {member.name: member for member in tar}

    assert {"etc/.wh.issue", "opt/.wh..wh..opq"} <= members.keys()
    assert (members["x/c"].issym(), members["x/c"].linkname) == (True, "a")
    assert members["x/a"].mode == 0o700
    assert members["x/b"].islnk()
    assert max(member.mtime for member in members.values()) <= cache.MOMENT


def test_the_same_content_from_a_stage_is_the_same_layer(context: Path) -> None:
    def stages(note: str) -> str:
        made = f"FROM {BASE} AS made\nCOPY a /in/\nRUN mkdir /out; cp /in/a /out/ # {note}"
        return f"{made}\nFROM {BASE} AS it\nCOPY --from=made /out/ /here/"

    one, other = (build_stage(read_stages(stages(note)), "it", context) for note in ("one", "other"))
    assert one == other
    assert (one[-1] / "here" / "a").read_text() == (context / "a").read_text()
