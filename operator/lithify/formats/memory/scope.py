"""The scope of an attempt at a reference table, as its journal records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.journal_text import number_in, text_in, value_of
from lithify.formats.protocol.model import is_snapshot_id
from lithify.io.file_names import is_file_name

_MOST_NUMBER = 10**15


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of an attempt.

    Attributes:
        base: number of the newest snapshot when it began.
        base_id: id of that snapshot.
        inputs: names of the files that it replaces, by path of the group.
    """

    base: int
    base_id: str
    inputs: Mapping[str, tuple[str, ...]]


MemoryAttempt = Attempt[Scope]
MemoryJournal = Journal[Scope]


class Scopes:
    """The JSON form of scopes; implements `ScopeFormat`."""

    fields = frozenset({"base", "base_id", "inputs"})

    def to_json(self, scope: Scope) -> Mapping[str, Any]:
        """The fields of a scope."""
        return {"base": scope.base, "base_id": scope.base_id, "inputs": dict(scope.inputs)}

    def parse(self, fields: Mapping[str, Any]) -> Scope:
        """Parses the fields of a scope.

        Raises:
            ValueError: a field is missing or invalid.
        """
        found = value_of(dict, fields.get("inputs"), "inputs")
        inputs = {group: tuple(value_of(list, names, "inputs")) for group, names in found.items()}
        if not all(map(is_file_name, (name for group, names in inputs.items() for name in (group, *names)))):
            raise ValueError("inputs has what is no name of a file")
        return Scope(
            base=number_in(fields, "base", 0, _MOST_NUMBER),
            base_id=text_in(fields, "base_id", is_snapshot_id),
            inputs=inputs,
        )
