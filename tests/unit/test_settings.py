"""Messages call a setting what their readers know it by: a flag in a command, a field in a status."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lithify
from lithify import settings
from lithify.clock import SystemClock
from lithify.controller.deciding.problems import problem_of
from lithify.controller.observing.answering import Answers
from lithify.controller.observing.wire import WorkerSettings
from lithify.errors import InvalidOption, LithifyError, NotAllowed, OutOfMemory, in_fields
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.access_policy import UNBOUNDED
from lithify.resources.crd import DEFINITIONS, schema_of
from lithify.settings import TASK_MEMORY, WAREHOUSE, Setting, catalog_option

PACKAGE = Path(lithify.__file__).parent
FLAG = re.compile(r"(?<![\w-])--(?!table-s3)[a-z]")
"""Names of buckets of S3 Tables end in `--table-s3`."""
AT_THE_COMMAND_LINE = {
    "settings.py",
    "controller/telemetry/server.py",
    "controller/cluster/client.py",
    "contract/undoing.py",
}
"""Where flags are known: the operator's own, wrong before there is any object, and a command to copy."""
SETTINGS = [found for found in vars(settings).values() if isinstance(found, Setting)]


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """All texts in a module's code, those in parts joined, without its docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in node.values)
            yield node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.lineno, node.value


@pytest.mark.thorough
def test_no_message_that_can_reach_an_object_names_a_flag() -> None:
    found = {}
    for module in PACKAGE.rglob("*.py"):
        name = module.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/") or name in AT_THE_COMMAND_LINE or name.endswith("/page.py"):
            continue
        text = [
            (line, text)
            for line, text in texts_of(module)
            if FLAG.search(text) and not re.search(r"kubectl|\{\} (serviceaccount|rolebinding)", text)
        ]
        if text:
            found[name] = text
    assert found == {}


def paths(schema: dict[str, object], path: str) -> Iterator[str]:
    yield path
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield from paths(child, f"{path}.{name}")


@pytest.fixture(scope="module")
def specs() -> dict[str, set[str]]:
    """The fields of each kind's spec."""
    return {one.kind.name: set(paths(schema_of(one)["properties"]["spec"], "spec")) for one in DEFINITIONS}


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_fields_of_settings_exist_in_the_kind_that_they_name(
    setting: Setting, specs: dict[str, set[str]]
) -> None:
    match = re.search(r"(spec(?:\.\w+)+) of the (.+)|(metadata\.uid)|(log of)|(in the values)", setting.field)
    assert match, setting.field
    if match[1] is None:
        return
    named = re.findall(r"Catalog|LakeTable|CompactionPolicy|Compaction(?!Policy)", match[2])
    for kind in named:
        assert match[1] in specs[kind]


@pytest.mark.parametrize(
    ("error", "flag", "field"),
    [
        pytest.param(
            OutOfMemory("/t/f", "9 GB"),
            "--task-memory",
            "spec.spark.taskMemory",
            id="what a task runs out of",
        ),
        pytest.param(
            OutOfMemory("/t/f", "9 GB"),
            "--spark-conf",
            "spec.spark.executor.memory",
            id="what an executor runs out of",
        ),
        pytest.param(NotAllowed("s3://b", "403"), "--catalog-option", "spec.secretRef", id="credentials"),
        pytest.param(InvalidOption(WAREHOUSE, "odd"), "--warehouse", "spec.warehouse", id="an option"),
        pytest.param(
            InvalidOption(catalog_option("s3.region"), "odd"),
            "s3.region",
            'spec.options["s3.region"]',
            id="a catalog option",
        ),
        pytest.param(InvalidOption(catalog_option("uri"), "odd"), "uri", "spec.uri", id="a field of its own"),
    ],
)
def test_an_error_says_flags_until_it_is_told_to_say_fields(
    error: LithifyError, flag: str, field: str
) -> None:
    assert flag in str(error)
    assert field not in str(error)
    found = in_fields(pickle.loads(pickle.dumps(error)))
    assert type(found) is type(error)
    assert field in str(found)
    assert "--" not in str(found)
    assert str(in_fields(found)) == str(found)
    assert field in problem_of(error).message


def test_the_field_replaces_the_option_of_the_error_too() -> None:
    assert in_fields(InvalidOption(TASK_MEMORY, "odd")).option == TASK_MEMORY.field


@pytest.mark.parametrize(
    ("warehouse", "identifier", "options", "field"),
    [
        pytest.param("ftp://x/y", "db.t", {}, settings.WAREHOUSE.field, id="no file system"),
        pytest.param("/", "db", {}, settings.TABLE.field, id="no database"),
        pytest.param(
            "s3://b/w",
            "db.t",
            {"s3.endpoint": "://"},
            'spec.options["s3.endpoint"] of the Catalog',
            id="no endpoint",
        ),
    ],
)
def test_what_an_observing_worker_says_names_fields(
    tmp_path: Path, warehouse: str, identifier: str, options: dict[str, str], field: str
) -> None:
    target = TableAddress(warehouse, identifier, options, reach=UNBOUNDED)
    error = (
        Answers(WorkerSettings(str(tmp_path)), SystemClock()).reply(ObservationRequest(target, "key")).error
    )
    assert isinstance(error, InvalidOption), error
    assert error.option == field
    assert "--" not in str(error)
