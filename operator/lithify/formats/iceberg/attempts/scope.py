"""What an attempt at an Iceberg table works on, as its journal records it.

Journals of all branches are in one folder below the table: snapshots, which tell what became of an attempt,
are those of the table, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.journal_text import number_in, text_in, value_of
from lithify.formats.iceberg.table.snapshots import NO_SNAPSHOT
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.io.file_names import is_file_name

_MOST_NUMBER = (1 << 63) - 1
_MOST_PATH = 1 << 13


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of an attempt.

    Attributes:
        base: id of the branch's newest snapshot when it began; `NO_SNAPSHOT` if it had none.
        sequence: its sequence number; only trusted of attempts of this process.
        branch: the branch.
        inputs: locations of the data files that it replaces, by path of the group.
    """

    base: int
    sequence: int
    branch: str
    inputs: Mapping[str, tuple[str, ...]]


IcebergAttempt = Attempt[Scope]
IcebergJournal = Journal[Scope]


class Scopes:
    """The JSON form of scopes; implements `ScopeFormat`."""

    fields = frozenset({"base", "sequence", "branch", "inputs"})

    def to_json(self, scope: Scope) -> Mapping[str, Any]:
        """The fields of a scope."""
        own = {"base": scope.base, "sequence": scope.sequence, "branch": scope.branch}
        return {**own, "inputs": dict(scope.inputs)}

    def parse(self, fields: Mapping[str, Any]) -> Scope:
        """Parses the fields of a scope. Locations in it are only compared, never opened.

        Raises:
            ValueError: a field is missing or invalid.
        """
        found = value_of(dict, fields.get("inputs"), "inputs")
        inputs = {str(group): tuple(value_of(list, paths, "inputs")) for group, paths in found.items()}
        if not all(
            isinstance(path, str) and len(path) < _MOST_PATH for each in inputs.values() for path in each
        ):
            raise ValueError("inputs has what is no location of a file")
        return Scope(
            base=number_in(fields, "base", NO_SNAPSHOT, _MOST_NUMBER),
            sequence=number_in(fields, "sequence", 0, _MOST_NUMBER),
            branch=text_in(fields, "branch", is_file_name),
            inputs=inputs,
        )


def journal_of(table: IcebergTable) -> IcebergJournal:
    """The journal of a table."""
    return Journal(table.metadata.location, table.storage, Scopes())
