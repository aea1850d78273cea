"""The lists of what images hold: they are refused where they are out of date."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from infrastructure.images.build import REPOSITORY

FOLDER = REPOSITORY / "spark-images"
INSTALLED = {
    "python": "Package: python\nDepends: libc (>= 2.3), awk | mawk\n",
    "libc": "Package: libc\nPre-Depends: gcc:any\n",
}


def load(path: str) -> ModuleType:
    """A program of the images' build as a module."""
    spec = importlib.util.spec_from_file_location("loaded", FOLDER / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def root() -> ModuleType:
    return load("operator/root.py")


def test_a_list_with_all_dependencies_is_taken(root: ModuleType) -> None:
    listed, absent = root.read_list("python # what for\nlibc\n\n!mawk\n!gcc  # not needed\n")
    assert (listed, absent) == (["python", "libc"], {"mawk", "gcc"})
    root.check(listed, absent, INSTALLED)


@pytest.mark.parametrize(
    ("listed", "absent", "problem"),
    [
        (["python", "libc"], {"gcc"}, "awk or mawk"),
        (["python", "libc"], {"awk"}, "libc depends on gcc"),
        (["perl"], set(), "perl is in debian.txt, but not installed"),
    ],
)
def test_a_list_that_is_out_of_date_is_refused(
    root: ModuleType, listed: list[str], absent: set[str], problem: str
) -> None:
    with pytest.raises(SystemExit, match=problem):
        root.check(listed, absent, INSTALLED)


def test_copyright_files_are_kept(root: ModuleType) -> None:
    assert root.is_kept("/usr/share/doc/libc6/copyright")
    assert not root.is_kept("/usr/share/doc/libc6/changelog.Debian.gz")


def test_packages_that_are_left_out_must_be_locked() -> None:
    assemble = load("assemble.py")
    entries = ["pandas==2.3.3 --hash=sha256:1", "numpy==2.4.6"]
    assert assemble.without(entries, ["pandas"]) == ["numpy==2.4.6"]
    with pytest.raises(SystemExit, match="dask is in"):
        assemble.without(entries, ["dask"])


def test_lists_of_the_repository_name_packages_of_the_lock() -> None:
    assemble = load("assemble.py")
    locked = assemble.locked(REPOSITORY)
    for name in ("without.txt", "operator/without.txt"):
        assert assemble.without(locked, assemble.lines_of(FOLDER / name))
