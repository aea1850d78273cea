"""Selects the tables of a catalog that discovery includes, and bounds the names that leave the worker. Pure.

Called in a worker: a catalog may list millions of tables, and matching patterns takes time for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lithify.controller.deciding.patterns import is_wanted
from lithify.controller.observing.request import TableFilter, TableList
from lithify.plain_text import plain_line
from lithify.resources.table import IDENTIFIER

_IDENTIFIER = re.compile(IDENTIFIER)
_MOST_LENGTH = 512
_BRANCH = "$branch_"


def wanted_tables(found: Iterable[str], wanted: TableFilter, *, may_be_nested: bool) -> TableList:
    """Returns the included tables that a LakeTable can name, each once.

    Args:
        found: the names of all tables of a catalog.
        wanted: what discovery includes.
        may_be_nested: whether the format has namespaces of several levels.
    """
    names = set(found)
    usable = {name for name in names if is_usable(name, may_be_nested=may_be_nested)}
    matching = sorted(name for name in usable if is_wanted(name, wanted.include, wanted.exclude))
    return TableList(tuple(matching[: wanted.most]), len(matching), len(names) - len(usable))


def is_usable(name: str, *, may_be_nested: bool) -> bool:
    """Whether a LakeTable can have the name: plain parts, without characters that hide text."""
    is_named = len(name) <= _MOST_LENGTH and _IDENTIFIER.match(name) is not None
    is_deep = name.partition(_BRANCH)[0].count(".") > 1
    return is_named and plain_line(name, _MOST_LENGTH) == name and (may_be_nested or not is_deep)
