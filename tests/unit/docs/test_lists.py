"""Reasons, conditions and words of closed lists: the pages have each of them, and no other."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from types import ModuleType

from lithify.cli.output import SOME_BLOCKED
from lithify.controller.deciding import blocked, condition_builder, conditions, found_tables
from lithify.controller.deciding import references as surroundings
from lithify.controller.deciding.decision_input import Hold
from lithify.controller.deciding.problems import TableReason
from lithify.controller.deciding.pruning import PruneReason
from lithify.errors import LithifyError
from lithify.resources.compaction import Reason
from lithify.resources.objects import READY, ConditionStatus
from lithify.resources.table import TableHealth
from support.pages import COMMANDS, DISCOVERY, OPERATOR, README

_WORD = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b")
STATUSES = OPERATOR.table("STATUS", "means")
CONDITIONS = OPERATOR.table("condition", "True", "False")
REASONS = OPERATOR.table("Ready is False because")
SUCCESSES = {reason.value for reason in Reason if reason.status is ConditionStatus.TRUE}


def words(cells: Iterable[str]) -> list[str]:
    """The words in CamelCase of table cells."""
    return [word for cell in cells for word in _WORD.findall(cell)]


def types_set_by(*modules: ModuleType) -> set[str]:
    """The types of the conditions that modules set."""
    return {_value(module, argument) for module in modules for argument in _first_arguments(module)}


def _first_arguments(module: ModuleType) -> Iterator[ast.expr]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"true", "false", "unknown", "say"}:
                yield node.args[0]


def _value(module: ModuleType, argument: ast.expr) -> str:
    if isinstance(argument, ast.Name):
        return str(getattr(module, argument.id))
    assert isinstance(argument, ast.Constant), ast.dump(argument)
    return str(argument.value)


def test_every_status_is_there_once() -> None:
    assert sorted(words(row[0] for row in STATUSES)) == sorted(Reason)


def test_successes_are_bold() -> None:
    bold = {word for row in STATUSES for word in re.findall(r"\*\*(\w+)\*\*", row[0])}
    assert bold == SUCCESSES


def test_every_condition_of_a_table_is_there_once() -> None:
    named = [word for row in CONDITIONS for word in words([row[0]])]
    assert sorted(named) == sorted(types_set_by(conditions, blocked, condition_builder))


def test_every_condition_of_a_catalog_is_named() -> None:
    (paragraph,) = [part for part in OPERATOR.prose.split("\n\n") if part.startswith("A Catalog has Ready")]
    set_there = types_set_by(surroundings, found_tables)
    assert {READY, "Pruned"} < set_there <= set(words([paragraph]))


def test_every_reason_of_not_being_ready_is_there_once() -> None:
    named = words(row[0] for row in REASONS)
    assert sorted(named) == sorted(set(TableReason) - {TableReason.READY, TableReason.NEVER_OBSERVED})


def test_reasons_of_a_policy_are_those_that_hold_tables_back() -> None:
    (row,) = [row for row in CONDITIONS if row[0] == "PolicyReady"]
    assert set(words([row[2]])) == {hold.value for hold in Hold if hold.value.startswith("Policy")}


def test_every_word_of_health_is_there_once() -> None:
    named = words(row[0] for row in OPERATOR.table("HEALTH", "means"))
    assert sorted(named) == sorted(TableHealth)


def test_every_reason_of_pruned_is_there_once() -> None:
    table = DISCOVERY.table("Pruned", "means")
    named = [word for word in words(row[0] for row in table) if word not in {"True", "False"}]
    assert sorted(named) == sorted(PruneReason)
    done = {word for row in table if row[0].startswith("True") for word in words([row[0]])}
    assert done - {"True"} == {reason.value for reason in PruneReason if reason.is_done}


def test_exit_codes_are_those_of_errors() -> None:
    errors = {LithifyError.exit_code}
    classes = [LithifyError]
    while classes:
        known = classes.pop()
        errors.add(known.exit_code)
        classes += known.__subclasses__()
    (sentence,) = re.findall(r"and the exit codes: (.*?)\.", README.sentences)
    assert {int(code) for code in re.findall(r"\d", sentence)} == errors | {0, SOME_BLOCKED}
    rows = {int(row[0]) for row in COMMANDS.table("exit code", "meaning")}
    assert rows == errors | {0, SOME_BLOCKED, 130}
