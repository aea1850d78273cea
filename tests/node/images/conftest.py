"""The images, built unless they are, and a way to run commands in them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.cluster.requirements import node_problem
from infrastructure.images.build import REPOSITORY, Image, build
from infrastructure.images.root import Root

Run = Callable[..., str]
"""Runs words in an image and returns what they print. Files given by name are seen there as /tmp/NAME.py."""


@pytest.fixture(scope="session")
def can_build() -> None:
    """Skips tests where no image can be built."""
    if (problem := node_problem()) is not None:
        pytest.skip(problem)


@pytest.fixture(scope="session")
def operator_image(can_build: None) -> Image:
    return build("operator")


@pytest.fixture(scope="session")
def spark_image(can_build: None) -> Image:
    return build("spark")


def running(image: Image, within: Root | None = None) -> Run:
    """A way to run words in an image as in a pod: its user, its environment, a read-only root.

    `within` is that root if it shows more of this machine.
    """
    given = within or image.root

    def run(*words: str, expected: int = 0, **seen: Path) -> str:
        shared = {**given.shared, **{f"/tmp/{name}.py": path for name, path in seen.items()}}
        root = replace(given, shared=shared)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        done = root.run(words, image.environment | {"HOME": "/tmp"}, timeout=240, **pipes)
        assert done.returncode == expected, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def in_operator(operator_image: Image) -> Run:
    return running(operator_image)


@pytest.fixture
def in_spark(spark_image: Image) -> Run:
    return running(spark_image)


@pytest.fixture
def train() -> Path:
    """The stand-in of a cluster that the build uses."""
    return REPOSITORY / "spark-images" / "spark" / "train.py"
