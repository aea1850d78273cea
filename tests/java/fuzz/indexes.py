"""File indexes of random histories: which columns have which, and what schema changes do to the options.

Called by `drawing`, `steps` and `append`. Java neither renames columns in these options nor drops them there,
and cannot write a table whose options name a column that does not exist. So the options change with the
columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from java.fuzz.changes import Columns
from java.fuzz.history import Change
from java.fuzz.types import Atom, Map, Required, Type

PREFIX = "file-index."
THRESHOLD = f"{PREFIX}in-manifest-threshold"
BLOOM, BITMAP, BSI, RANGE = "bloom-filter", "bitmap", "bsi", "range-bitmap"
INDEXED = 0.4
"""Share of the histories that have indexes."""

_THRESHOLDS = [None, "1 b", "3 kb", "64 mb"]
"""Java embeds indexes of up to 500 bytes by itself."""
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TIMES = ("DATE", "TIME", "TIMESTAMP")
_FLOATS = ("FLOAT", "DOUBLE")
TEXTS = ("STRING", "CHAR", "VARCHAR")
_BYTES = ("BYTES", "BINARY", "VARBINARY")
ROOTS: Mapping[str, Sequence[str]] = {
    BLOOM: (*_INTEGERS, *_TIMES, *_FLOATS, *TEXTS, *_BYTES),
    BITMAP: (*_INTEGERS, *_TIMES, *_FLOATS, *TEXTS, "BOOLEAN"),
    BSI: (*_INTEGERS, *_TIMES, "DECIMAL"),
    RANGE: (*_INTEGERS, *_TIMES, *_FLOATS, *TEXTS, "BOOLEAN", "DECIMAL"),
}
"""The types for which Java has each kind of index."""
NANOS = ("TIMESTAMP(7)", "TIMESTAMP(8)", "TIMESTAMP(9)")
_WIDE = ("DECIMAL(19", "DECIMAL(38")
"""Lithify refuses indexes of these."""
_MAP_KEYS = ("a1", "ä0", "never")
_Index = tuple[str, str]
"""A kind, and a column or `column[key]`."""


class Indexes:
    """The file indexes that a table asks for by now; at first it asks for none.

    Args:
        random: draws them.
        columns: the columns of the table, which change.
        fixed: the types of columns that keep them: of keys and partitions.
        but: types of columns that get no index.
    """

    def __init__(
        self, random: Random, columns: Columns, fixed: Mapping[str, str], but: Sequence[str] = ()
    ) -> None:
        self._random = random
        self._columns = columns
        self._fixed = {name: Atom(kind) for name, kind in fixed.items()}
        self._but = but
        self._details: dict[_Index, dict[str, str]] = {}
        self._threshold: str | None = None
        self._is_used = False

    def draw(self) -> dict[str, str]:
        """The options of a new table that has indexes, if any column can have one."""
        self._is_used = True
        for _ in range(self._random.choice([1, 2, 3, 5])):
            self._add()
        self._threshold = self._random.choice(_THRESHOLDS)
        return self._options()

    def follow(self, changes: Sequence[Change]) -> list[Change]:
        """Further changes, so that the options name columns that exist and can have the index."""
        before = self._options()
        for change in changes:
            if "rename_column" in change:
                self._rename(*change["rename_column"])
        possible = dict(self._possible())
        self._details = {index: own for index, own in self._details.items() if index in possible}
        if self._is_used:
            self._vary()
        after = self._options()
        return [
            *({"remove_option": name} for name in before if name not in after),
            *({"set_option": [*pair]} for pair in after.items() if before.get(pair[0]) != pair[1]),
        ]

    def _vary(self) -> None:
        """Now and then another column gets an index, one loses it, or indexes go somewhere else."""
        draw = self._random.random()
        if draw < 0.3:
            self._add()
        elif draw < 0.4 and self._details:
            del self._details[self._random.choice([*self._details])]
        elif draw < 0.55:
            self._threshold = self._random.choice(_THRESHOLDS)

    def _rename(self, name: str, renamed: str) -> None:
        if name in self._fixed:
            self._fixed = {renamed if n == name else n: kind for n, kind in self._fixed.items()}
        self._details = {
            (kind, renamed + column.removeprefix(name) if column.partition("[")[0] == name else column): own
            for (kind, column), own in self._details.items()
        }

    def _add(self) -> None:
        possible = [(index, kind) for index, kind in self._possible() if index not in self._details]
        if possible:
            index, kind = self._random.choice(possible)
            self._details[index] = self._drawn_details(index[0], kind)

    def _possible(self) -> Iterator[tuple[_Index, Atom]]:
        """Every index that the table can have by now, with the type of its values."""
        for name, kind in {**self._fixed, **self._columns.now}.items():
            of_map = isinstance(kind, Map) and kind.key == "STRING"
            names = [f"{name}[{key}]" for key in _MAP_KEYS] if of_map else [name]
            value = _bare(kind.value) if isinstance(kind, Map) and of_map else kind
            if isinstance(value, Atom) and not value.name.startswith(tuple(self._but) or "-"):
                kinds = [each for each in ROOTS if self._holds(each, value)]
                yield from (((each, of), value) for of in names for each in kinds)

    def _holds(self, index: str, kind: Atom) -> bool:
        if kind.name.startswith(_WIDE) or (index == RANGE and kind.name.startswith(NANOS)):
            return False
        if index == BSI and kind.name == "BIGINT" and (self._columns.merged or {*kind.earlier} & {*_FLOATS}):
            return False  # -2^63, at which Java fails, comes of products and of -Infinity
        return root_of(kind.name) in ROOTS[index]

    def _drawn_details(self, index: str, kind: Atom) -> dict[str, str]:
        random = self._random
        if index == BLOOM:
            share = {"fpp": random.choice(["0.3", "0.01"])} if random.random() < 0.3 else {}
            return {"items": random.choice(["5", "100", "1000"]), **share}
        if index == BITMAP and random.random() < 0.3:
            return {"version": "1"}
        if index == BITMAP and random.random() < 0.3 and root_of(kind.name) not in TEXTS:
            return {"index-block-size": "100 b"}  # Java fails if a text is longer than a block
        return {"chunk-size": "40 b"} if index == RANGE and random.random() < 0.3 else {}

    def _options(self) -> dict[str, str]:
        columns: dict[str, list[str]] = {}
        for kind, name in self._details:
            columns.setdefault(kind, []).append(name)
        if not columns:
            return {}
        own = {
            f"{PREFIX}{kind}.{name}.{option}": value
            for (kind, name), details in self._details.items()
            for option, value in details.items()
        }
        listed = {f"{PREFIX}{kind}.columns": ",".join(names) for kind, names in columns.items()}
        return {**listed, **own, **({THRESHOLD: self._threshold} if self._threshold else {})}


def root_of(kind: str) -> str:
    """The name of a type without its parameters."""
    return kind.partition("(")[0].partition(" ")[0]


def _bare(kind: Type) -> Type:
    return kind.part if isinstance(kind, Required) else kind


def asked_for(options: Mapping[str, str]) -> set[tuple[str, str]]:
    """Columns and kinds of the indexes that options ask for."""
    return {
        (name, option.removeprefix(PREFIX).removesuffix(".columns"))
        for option, names in options.items()
        if option.startswith(PREFIX) and option.endswith(".columns")
        for name in names.split(",")
    }
