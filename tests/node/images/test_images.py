"""The images themselves, run as pods run them: as user 185 on a read-only root. Built once per machine."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from infrastructure.images.build import REPOSITORY, Image
from lithify import __version__
from node.images.conftest import Run

pytestmark = pytest.mark.timeout(1200)

PROBE = REPOSITORY / "tests" / "infrastructure" / "images" / "probe.py"
UNWANTED = ("pip", "pip3", "uv", "gcc", "cc", "make", "strip", "curl", "wget")
TASKS = 8
APT_USER = 42
"""Debian has a user for downloads of packages."""


@pytest.fixture(params=["operator", "spark"])
def run(request: pytest.FixtureRequest) -> Run:
    found: Run = request.getfixturevalue(f"in_{request.param}")
    return found


def test_commands_run_as_a_user_without_rights(run: Run) -> None:
    assert run("python3.11", "-c", "import os; print(os.getuid(), os.getgid())") == "185 185\n"
    assert __version__ in run("lithify", "--version")
    assert "--max-runs" in run("lithify", "operator", "--help")


def test_nothing_can_be_written_but_in_tmp(run: Run) -> None:
    script = "import pathlib; pathlib.Path('/tmp/x').touch(); pathlib.Path('/x').touch()"
    assert "Read-only file system" in run("sh", "-c", f'python3.11 -c "{script}" 2>&1', expected=1)


@pytest.mark.parametrize("name", ["operator_image", "spark_image"])
def test_files_are_roots_and_only_root_may_change_them(name: str, request: pytest.FixtureRequest) -> None:
    image: Image = request.getfixturevalue(name)
    for layer in image.layers:
        for path in layer.rglob("*"):
            status = path.lstat()
            assert status.st_uid in {0, APT_USER}, path
            if not stat.S_ISLNK(status.st_mode) and not status.st_mode & stat.S_ISVTX:
                assert not status.st_mode & stat.S_IWOTH, path


def test_nothing_is_there_that_installs_or_compiles(run: Run) -> None:
    assert run("sh", "-c", f"for name in {' '.join(UNWANTED)}; do command -v $name; done; true") == ""


def test_the_operator_has_no_package_manager_and_little_else_to_run(operator_image: Image) -> None:
    found = {path.name for layer in operator_image.layers for path in layer.glob("usr/*bin/*")}
    assert {"sh", "tini", "python3.11"} <= found
    assert not found & {"apt-get", "dpkg", "perl", "bash", "su", "mount", "passwd", "cp", "env"}


def test_public_authorities_are_trusted(run: Run) -> None:
    script = "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)"
    assert run("python3.11", "-c", script) == "True\n"


def test_names_zones_and_letters_are_those_of_debian(run: Run) -> None:
    script = (
        "import locale, pathlib, pwd, time\n"
        "print(locale.setlocale(locale.LC_ALL, ''), pwd.getpwuid(185).pw_name, time.tzname[0])\n"
        "print('hosts:          files dns' in pathlib.Path('/etc/nsswitch.conf').read_text().splitlines())"
    )
    assert run("python3.11", "-c", script) == "C.UTF-8 lithify UTC\nTrue\n"


def test_bytecode_is_taken_as_it_is(run: Run) -> None:
    script = (
        "import sys, pathlib, pyarrow, asyncio, lithify.cli.main\n"
        "modules = [m for m in sys.modules.values() if getattr(m, '__cached__', None)]\n"
        "flags = {pathlib.Path(m.__cached__).read_bytes()[4] for m in modules}\n"
        "print(len(modules) > 100, flags)"
    )
    assert (
        run("python3.11", "-c", script).strip() == "True {1}"
    )  # by hash of the source, which is not checked


def test_the_operator_has_neither_spark_nor_java(in_operator: Run) -> None:
    in_operator("sh", "-c", "command -v java", expected=127)
    in_operator("python3.11", "-c", "import pyspark", expected=1)


def test_a_compaction_runs_on_the_jars_that_are_left(in_spark: Run) -> None:
    assert "After" in in_spark("/opt/entrypoint.sh", "demo", "--master", "local[2]")


def test_the_jars_are_those_that_are_listed(spark_image: Image, in_spark: Run) -> None:
    listed = (REPOSITORY / "spark-images" / "spark" / "jars.txt").read_text().splitlines()
    names = [line for line in listed if line and not line.startswith("#")]
    jars = in_spark("sh", "-c", "ls $SPARK_HOME/jars").split()
    assert len(jars) == len(names) == len(set(names))
    assert not [jar for jar in jars if jar.startswith(("spark-sql", "spark-catalyst", "hive", "hadoop-aws"))]


def test_a_driver_takes_its_classes_from_the_archive(in_spark: Run) -> None:
    found = json.loads(in_spark("python3.11", "/tmp/probe.py", "local", probe=PROBE))
    assert found["found"] == list(range(1 - TASKS, 1))
    assert found["archived"] > 0.9
    assert found["ui"]
    own = (REPOSITORY / "spark-images" / "spark" / "java.options").read_text().split()
    assert set(found["options"]) - set(own) == {"--add-modules=jdk.incubator.vector"}


def test_an_executor_runs_tasks_and_leaves_when_asked_to(in_spark: Run, train: Path) -> None:
    found = json.loads(in_spark("python3.11", "/tmp/probe.py", "cluster", probe=PROBE, train=train))
    assert found["found"] == list(range(1 - TASKS, 1))
    assert {who: part > 0.9 for who, part in found["archived"].items()} == {"driver": True, "executor": True}
    assert "--add-modules=jdk.incubator.vector" not in found["executor"]
    assert found["executor"][found["executor"].index("--podName") + 1] == "training-exec-1"
    assert found["code"] == 0
