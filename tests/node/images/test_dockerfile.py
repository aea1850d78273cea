"""What is read out of Dockerfiles, and what ours say."""

from __future__ import annotations

import re

import pytest

from infrastructure.images.build import IMAGES, REPOSITORY
from infrastructure.images.dockerfile import NotUnderstood, configuration, read_file, read_stages

FILES = {name: REPOSITORY / "spark-images" / name / "Dockerfile" for name in IMAGES}
SHARED = ("base", "build", "code")

EXAMPLE = """
# syntax=docker/dockerfile:1
ARG BASE=debian:bookworm@sha256:0
FROM ${BASE} AS first
# a comment
RUN one \\
 && two \\
    three
COPY --chmod=755 a b /c/
FROM first AS second
RUN --mount=type=cache,target=/cache four
COPY --from=first /x/ /y/
ENV A=1 B="2 3"
LABEL name="a b"
USER 185:185
WORKDIR /tmp
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["x"]
"""


def test_stages_and_their_instructions_are_read() -> None:
    stages = read_stages(EXAMPLE)

    assert {name: stage.base for name, stage in stages.items()} == {
        "first": "debian:bookworm@sha256:0",
        "second": "first",
    }
    run, copy = stages["first"].instructions
    assert run.rest == "one && two three"
    assert (copy.options, copy.words) == ({"chmod": "755"}, ["a", "b", "/c/"])
    assert stages["second"].instructions[0].options == {"mount": "type=cache,target=/cache"}
    assert stages["second"].instructions[1].options == {"from": "first"}


def test_the_configuration_is_that_of_the_last_stage() -> None:
    assert configuration(read_stages(EXAMPLE), "second") == {
        "User": "185:185",
        "WorkingDir": "/tmp",
        "Entrypoint": ["/usr/bin/tini", "--"],
        "Cmd": ["x"],
        "Env": ["A=1", "B=2 3"],
        "Labels": {"name": "a b"},
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("FROM a AS b\nADD x /y", id="an instruction"),
        pytest.param("FROM a AS b\nCOPY --link x /y", id="an option without value"),
        pytest.param("FROM a AS b\nCOPY --chown=1:1 x /y", id="an option"),
        pytest.param("RUN x", id="before any stage"),
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstood):
        read_stages(text)


@pytest.mark.parametrize("name", IMAGES)
def test_the_base_is_pinned_by_its_digest(name: str) -> None:
    base = read_file(FILES[name])["base"].base
    assert re.fullmatch(r"debian:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}", base)


def test_both_images_begin_alike_so_that_builds_share_layers() -> None:
    operator, spark = (read_file(FILES[name]) for name in IMAGES)
    assert {name: operator[name] for name in SHARED} == {name: spark[name] for name in SHARED}


@pytest.mark.parametrize(
    ("name", "entrypoint", "command"),
    [
        ("operator", ["/usr/bin/tini", "--", "lithify"], ["operator"]),
        ("spark", ["/usr/bin/tini", "--", "/opt/entrypoint.sh"], ["--help"]),
    ],
)
def test_containers_start_as_pods_expect_it(name: str, entrypoint: list[str], command: list[str]) -> None:
    config = configuration(read_file(FILES[name]), name)
    assert (config["Entrypoint"], config["Cmd"]) == (entrypoint, command)
    assert config["User"] == "185:185"


def test_the_installer_is_the_one_of_the_makefile() -> None:
    wanted = re.search(r"^UV_VERSION := (\S+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert wanted is not None
    assert f"\nuv=={wanted[1]} " in (REPOSITORY / "spark-images" / "uv.txt").read_text()
