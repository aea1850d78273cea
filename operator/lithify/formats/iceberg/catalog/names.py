"""Names of Iceberg tables: namespaces of one level or more, the table, and perhaps a branch. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.io.file_names import is_file_name, shown
from lithify.settings import TABLE

MAIN = "main"
"""The branch that readers read if they name none."""

_BRANCH = "$branch_"
_LEVEL = re.compile(r"[^$/]+")


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table.

    Attributes:
        namespace: its levels, outermost first; at least one.
        table: the name in the namespace.
        branch: the branch that is read and written.
    """

    namespace: tuple[str, ...]
    table: str
    branch: str = MAIN

    @property
    def parts(self) -> tuple[str, ...]:
        """The levels of the namespace and the table, as pyiceberg's identifiers."""
        return (*self.namespace, self.table)

    def __str__(self) -> str:
        plain = ".".join(self.parts)
        return plain if self.branch == MAIN else f"{plain}{_BRANCH}{self.branch}"


def parse_name(text: str) -> TableName:
    """Parses `namespace.table` or `namespace.table$branch_name`.

    Raises:
        InvalidOption: it has another form.
    """
    plain, separator, branch = text.partition(_BRANCH)
    *namespace, table = plain.split(".")
    if not namespace or (separator and not branch):
        raise InvalidOption(
            TABLE, f"'{text}' is not of the form namespace.table or namespace.table$branch_name"
        )
    for part in (*namespace, table, branch or MAIN):
        if not is_file_name(part) or not _LEVEL.fullmatch(part):
            raise InvalidOption(TABLE, f"{shown(text)} has characters that names of tables do not have")
    if branch == MAIN:
        raise InvalidOption(TABLE, f"'{text}' is the table itself: leave out the name of the main branch")
    return TableName(tuple(namespace), table, branch or MAIN)
