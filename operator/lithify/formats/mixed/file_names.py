"""Names of the files of keyed tables: what they say of node, kind and transaction, and those of new files.

Called by planning with columns of paths, and by tasks. Names are the only place where these facts are stored:
manifests say of all change files that they have data. The rules are those of Amoro's `FileNameRules`. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, integers, whole
from lithify.errors import CorruptTable
from lithify.formats.mixed.nodes import ROOT


class FileKind(StrEnum):
    """The kinds of files, by their short names; `DataFileType` of Amoro.

    Readers of version 0.4 do not know `LOG`, which nobody commits to a store.
    """

    BASE = "B"
    INSERT = "I"
    DELETE = "ED"
    POSITION_DELETE = "PD"
    EQUALITY_DELETE = "IED"
    LOG = "L"


_NAME = (
    r"^(?:.*/)?\.?(?P<node>[0-9]+)-(?P<kind>" + "|".join(FileKind) + r")-(?P<transaction>[0-9]+)"
    r"-[0-9]+-[0-9]+-[^/]*$"
)
"""Names of keyed files at the end of a path; those of files that are hidden from Hive begin with a dot."""
_KINDS = pa.array([kind.value for kind in FileKind])


@dataclass(frozen=True, slots=True)
class FileNames:
    """What names of files say, an element for each file.

    Attributes:
        nodes: id of the node that has all of its rows.
        transactions: id of the transaction that wrote it.
        kinds: its kind, as index in `FileKind`.
    """

    nodes: Numbers
    transactions: Numbers
    kinds: Numbers

    def __len__(self) -> int:
        return len(self.nodes)

    def of_kind(self, kind: FileKind) -> Flags:
        """Which files are of a kind."""
        return np.asarray(self.kinds == _number(kind))


def names_in_base(paths: Any) -> FileNames:
    """What names in a base store say.

    Other names, such as those of Hive, are of base files of the root and transaction 0. Change files that
    version 0.4 has moved are base files.

    Args:
        paths: a column of paths or names.

    Raises:
        CorruptTable: a number does not fit into 63 bits, or a node is 0.
    """
    names, _ = _parsed(paths, FileKind.BASE)
    moved = names.of_kind(FileKind.INSERT)
    return FileNames(names.nodes, names.transactions, np.where(moved, _number(FileKind.BASE), names.kinds))


def are_moved(paths: Any) -> Flags:
    """Which files of a base store are change files that version 0.4 has moved; arguments as above."""
    names, _ = _parsed(paths, FileKind.BASE)
    return names.of_kind(FileKind.INSERT)


def names_in_change(paths: Any, sequences: Numbers) -> FileNames:
    """What names in a change store say.

    Other names are of inserts of the root. Transaction 0, which Flink writes, is the sequence number.

    Args:
        paths: a column of paths or names.
        sequences: the data sequence numbers of the files.

    Raises:
        CorruptTable: see `names_in_base`.
    """
    names, is_keyed = _parsed(paths, FileKind.INSERT)
    has_own = is_keyed & (names.transactions > 0)
    return FileNames(names.nodes, np.where(has_own, names.transactions, sequences), names.kinds)


def name_start(node: int, kind: FileKind, transaction: int, task: int = 0) -> str:
    """What names of new files begin with, before the id of their writer.

    Both generations of readers find node and transaction in it. Clean-up finds the files of an attempt by its
    prefix, which the id of each writer has. It stands where Amoro's names have a random number, which readers
    accept whatever it is.

    Args:
        node: id of the node that has all of its rows.
        kind: its kind.
        transaction: the highest transaction among the rows; later deletes have a higher one.
        task: number of the task.
    """
    return f"{node}-{kind.value}-{transaction}-{0:05}-{task}-"


def _parsed(paths: Any, usual: FileKind) -> tuple[FileNames, Flags]:
    """The parts of names, and which names have any; the others are of the root and of transaction 0."""
    column = whole(paths)
    parts = pc.extract_regex(column, _NAME)
    is_keyed = flags(parts.is_valid())
    keyed = parts.filter(parts.is_valid())
    nodes = np.full(len(column), ROOT, np.int64)
    transactions = np.zeros(len(column), np.int64)
    kinds = np.full(len(column), _number(usual), np.int64)
    nodes[is_keyed] = _numbers_in(keyed, "node", least=ROOT)
    transactions[is_keyed] = _numbers_in(keyed, "transaction")
    kinds[is_keyed] = integers(pc.index_in(keyed.field("kind"), value_set=_KINDS))
    return FileNames(nodes, transactions, kinds), is_keyed


def _numbers_in(parts: pa.StructArray, name: str, least: int = 0) -> Numbers:
    """A part of names as numbers."""
    try:
        numbers = integers(pc.cast(parts.field(name), pa.int64()))
    except pa.ArrowInvalid as error:
        raise CorruptTable("names of keyed files", f"a {name} has more than 63 bits") from error
    if (numbers < least).any():
        raise CorruptTable("names of keyed files", f"a {name} is below {least}")
    return numbers


def _number(kind: FileKind) -> int:
    return list(FileKind).index(kind)
